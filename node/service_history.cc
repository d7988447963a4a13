// The past: which revisions there were, and what differs between two of them.
#include "node/changes_internal.h"
#include "node/net_changes_internal.h"
#include "node/parts_internal.h"
#include "rpc/utf8.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

constexpr size_t kReadBytes = 1u << 20;

class HistoryStream : public std::enable_shared_from_this<HistoryStream> {
 public:
  HistoryStream(Parts& parts, SharedCall call) : parts_(parts), call_(std::move(call)) {
    const rpc::History& asked = call_->request().history();
    cursor_ = std::max(Revision(asked.after()), parts.store.oldest_history());
    left_ = asked.limit() == 0 ? UINT64_MAX : asked.limit();
  }

  // On a reader, one batch at a time.
  void run() {
    if (call_->closed() || parts_.stopping) return;
    if (!call_->writable()) return call_->when_writable([self = shared_from_this()] { self->later(); });
    const Result<std::vector<ChangeSet>> sets = parts_.store.changes_after(cursor_, kReadBytes);
    if (!sets.ok()) return call_->fail(sets.error());
    for (const ChangeSet& set : *sets) {
      if (left_ == 0) break;
      --left_;
      send(set);
    }
    if (sets->empty() || left_ == 0) return call_->finish({});
    cursor_ = sets->back().revision;
    later();
  }

 private:
  void later() {
    parts_.readers.post([self = shared_from_this()] { self->run(); });
  }

  void send(const ChangeSet& set) {
    rpc::Part part;
    rpc::HistoryItem& item = *part.mutable_history();
    item.set_revision(set.revision.value());
    item.set_position(set.position.value());
    item.set_time_us(set.time_us);
    item.set_author(rpc::valid_utf8(set.author));
    uint32_t nexthops = 0;
    for (const Change& change : set.changes) nexthops += change.table == DataTable::kNexthop ? 1 : 0;
    item.set_nexthops(nexthops);
    item.set_routes(static_cast<uint32_t>(set.changes.size()) - nexthops);
    if (const auto digest = parts_.store.digest_at(set.revision)) item.set_data_digest(hash_bytes(*digest));
    call_->send(std::move(part));
  }

  Parts& parts_;
  const SharedCall call_;
  Revision cursor_;
  uint64_t left_ = 0;
};

class DiffStream : public std::enable_shared_from_this<DiffStream> {
 public:
  DiffStream(Parts& parts, SharedCall call, store::ReadView view, NetChanges net)
      : parts_(parts), call_(std::move(call)), view_(std::move(view)), net_(std::move(net)) {}

  void run() {
    while (true) {
      if (call_->closed() || parts_.stopping) return;
      if (!call_->writable()) return call_->when_writable([self = shared_from_this()] { self->later(); });
      if (next_ < changes_.size()) {
        send(changes_[next_++]);
        continue;
      }
      if (part_ == net_.parts()) return call_->finish({});
      Result<std::vector<Change>> changes = net_.part(part_++);
      if (!changes.ok()) return call_->fail(changes.error());
      changes_ = std::move(*changes);
      next_ = 0;
    }
  }

 private:
  void later() {
    parts_.readers.post([self = shared_from_this()] { self->run(); });
  }

  void send(const Change& change) {
    rpc::Part part;
    fill(*part.mutable_difference()->mutable_change(), change);
    ChangeNexthops nexthops(view_, call_->request().diff().with_nexthops(),
                            [this](NexthopId id) { return net_.interned(id); });
    nexthops.add(change);
    part.mutable_difference()->set_nexthops(std::move(nexthops).rows());
    call_->send(std::move(part));
  }

  Parts& parts_;
  const SharedCall call_;
  const store::ReadView view_;
  const NetChanges net_;
  std::vector<Change> changes_;
  size_t next_ = 0;
  size_t part_ = 0;
};

}  // namespace

void serve_history(Parts& parts, SharedCall call) {
  on_reader(parts, call, [&parts, call] { std::make_shared<HistoryStream>(parts, call)->run(); });
}

// A stale one is answered also by a node whose state differs from the others': it is how they learn where.
void serve_diff(Parts& parts, SharedCall call) {
  const auto work = [&parts, call](store::ReadView view) {
    const rpc::Diff& diff = call->request().diff();
    const Revision to = diff.to() == 0 ? view.stamp().revision : Revision(diff.to());
    Result<NetChanges> net = NetChanges::between(parts.store, Revision(diff.from()), to);
    if (!net.ok()) return call->fail(net.error());
    std::make_shared<DiffStream>(parts, call, std::move(view), std::move(*net))->run();
  };
  if (call->request().diff().stale())
    return on_reader(parts, call, [&parts, work] { work(parts.store.view()); });
  read(parts, call, false, work);
}

}  // namespace waypost::node
