#include "node/watchers.h"

#include <algorithm>
#include <unordered_map>

#include "model/row_codec.h"
#include "node/changes_internal.h"
#include "node/parts_internal.h"
#include "rpc/utf8.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

bool wants(const rpc::Watch& watch, DataTable table) {
  if (watch.tables_size() == 0) return true;
  return std::any_of(watch.tables().begin(), watch.tables().end(),
                     [table](int wanted) { return wanted == static_cast<int>(table); });
}

}  // namespace

class Watchers::Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(Parts& parts, SharedCall call, Revision after)
      : parts_(parts), call_(std::move(call)), cursor_(after) {}

  // On the order thread: there may be something new.
  void wake() {
    woken_ = true;
    if (!std::exchange(working_, true)) work();
  }
  bool ended() const { return ended_ || call_->closed(); }

 private:
  void work() {
    woken_ = false;
    parts_.readers.post([self = shared_from_this()] { self->run(); });
  }

  // On a reader: one batch.
  void run() {
    if (call_->closed()) return;
    if (!call_->writable()) {
      return call_->when_writable([self = shared_from_this()] { self->work(); });
    }
    const Result<std::vector<ChangeSet>> sets =
        parts_.store.changes_after(cursor_, limits::kStreamChunkBytes);
    if (!sets.ok()) {
      ended_ = true;
      return call_->fail({sets.error().code, sets.error().message,
                          "list again, and watch from the revision of the listing"});
    }
    if (!sets->empty()) {
      const store::ReadView view = parts_.store.view();
      for (const ChangeSet& set : *sets) send(set, view);
      cursor_ = sets->back().revision;
    }
    const bool idle = sets->empty();
    parts_.order.post([self = shared_from_this(), idle] { self->after_run(idle); });
  }

  void after_run(bool idle) {
    if (idle && !woken_) {
      working_ = false;
    } else {
      work();
    }
  }

  // A large transaction goes out in several parts of one revision.
  void send(const ChangeSet& set, const store::ReadView& view) {
    const rpc::Watch& watch = call_->request().watch();
    std::unordered_map<uint32_t, const std::string*> gone;
    for (const Change& change : set.changes) {
      if (change.table != DataTable::kNexthop || change.old_value.empty()) continue;
      if (const auto id = decode_nexthop_key(change.key)) gone.emplace(id->value(), &change.old_value);
    }
    const FormerNexthop former = [&gone](NexthopId id) {
      const auto found = gone.find(id.value());
      return found == gone.end() ? nullptr : found->second;
    };
    size_t next = 0;
    while (next < set.changes.size()) {
      rpc::Part part;
      rpc::ChangeSet& out = *part.mutable_changes();
      ChangeNexthops nexthops(view, watch.with_nexthops(), former);
      size_t bytes = 0;
      for (; next < set.changes.size() && bytes < 4 * limits::kStreamChunkBytes; ++next) {
        const Change& change = set.changes[next];
        if (!wants(watch, change.table)) continue;
        fill(*out.add_changes(), change);
        nexthops.add(change);
        bytes += change.key.size() + change.old_value.size() + change.new_value.size() + 32;
      }
      if (out.changes_size() == 0) continue;
      out.set_revision(set.revision.value());
      out.set_position(set.position.value());
      out.set_time_us(set.time_us);
      out.set_author(rpc::valid_utf8(set.author));
      out.set_nexthops(std::move(nexthops).rows());
      call_->send(std::move(part));
    }
  }

  Parts& parts_;
  const SharedCall call_;
  Revision cursor_;       // the thread that works
  bool working_ = false;  // order thread
  std::atomic<bool> woken_ = false;
  std::atomic<bool> ended_ = false;
};

void Watchers::add(Parts& parts, SharedCall call) {
  const rpc::Watch& watch = call->request().watch();
  const store::StateStamp stamp = parts.store.stamp();
  if (!watch.history().empty() && watch.history() != hash_bytes(stamp.history)) {
    return call->fail({ErrorCode::kFailedPrecondition,
                       "the store has another history than the one watched (it was restored)",
                       "list again, and watch from the revision of the listing"});
  }
  const Revision after = watch.from_now() ? stamp.revision : Revision(watch.after());
  if (after > stamp.revision) {
    return call->fail({ErrorCode::kInvalidArgument,
                       "revision " + std::to_string(after.value()) + " is not reached yet; the newest is " +
                           std::to_string(stamp.revision.value()),
                       "watch from a revision that a listing named"});
  }
  forget_ended();
  watchers_.push_back(std::make_shared<Watcher>(parts, std::move(call), after));
  watchers_.back()->wake();
}

void Watchers::forget_ended() {
  watchers_.remove_if([](const std::shared_ptr<Watcher>& watcher) { return watcher->ended(); });
}

void Watchers::on_revision() {
  forget_ended();
  for (const std::shared_ptr<Watcher>& watcher : watchers_) watcher->wake();
}

void Watchers::stop() {
  watchers_.clear();
}

}  // namespace waypost::node
