// Listings: one stream over one revision, chunk by chunk as the client takes them.
#include "model/check.h"
#include "node/carried_internal.h"
#include "node/parts_internal.h"
#include "node/walk_internal.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

class Listing : public std::enable_shared_from_this<Listing> {
 public:
  Listing(Parts& parts, SharedCall call, store::ReadView view)
      : parts_(parts),
        call_(std::move(call)),
        list_(call_->request().list()),
        view_(std::move(view)),
        carried_(list_.with_nexthops()) {}

  // On a reader.
  void start() {
    if (list_.table() == rpc::NEXTHOP) {
      nexthops_.emplace(view_, NexthopMatcher(list_.nexthop(), list_.with_interned()), list_.after());
    } else if (list_.table() == rpc::ROUTE) {
      Result<RouteMatcher> matcher = RouteMatcher::make(list_.route());
      if (!matcher.ok()) return call_->fail(matcher.error());
      routes_.emplace(view_, std::move(*matcher), list_.after());
    } else {
      return call_->fail({ErrorCode::kInvalidArgument, "a listing names its table: nexthops or routes", ""});
    }
    run();
  }

 private:
  void run() {
    for (size_t rows = 0; rows < limits::kRowsPerTurn;) {
      if (call_->closed() || parts_.stopping) return;
      if (!call_->writable()) {
        return call_->when_writable([self = shared_from_this()] { self->later(); });
      }
      rpc::Part part;
      const size_t before = rows_;
      const bool finished = fill(*part.mutable_rows());
      if (rows_ > before) call_->send(std::move(part));
      rows += rows_ - before + 1;
      if (finished) return finish();
    }
    later();  // the others' turn
  }

  void later() {
    parts_.readers.post([self = shared_from_this()] { self->run(); });
  }

  // One block. True at the end of the listing.
  bool fill(rpc::RowBlock& block) {
    std::string& rows = *block.mutable_rows();
    std::string& nexthops = *block.mutable_nexthops();
    rows.reserve(limits::kStreamChunkBytes + 1024);
    if (forget_) {
      carried_.forget();
      block.set_forget(true);
      forget_ = false;
    }
    const auto visit = [&](std::string_view key, std::string_view value) {
      if (routes_ && !carried_.carry(view_, key, value, nexthops)) {
        forget_ = true;
        return Visit::kLeaveAndStop;
      }
      append_row(rows, key, value);
      ++rows_;
      last_key_ = key;
      if (list_.limit() > 0 && rows_ >= list_.limit()) {
        limited_ = true;
        return Visit::kTakeAndStop;
      }
      return rows.size() + nexthops.size() < limits::kStreamChunkBytes ? Visit::kTake : Visit::kTakeAndStop;
    };
    const bool walked = nexthops_ ? nexthops_->step(visit) : routes_->step(visit);
    return walked || limited_;
  }

  void finish() {
    bool more = false;
    if (limited_) {
      const auto seen = [&more](std::string_view, std::string_view) {
        more = true;
        return Visit::kLeaveAndStop;
      };
      // One turn at most: a page whose rest matches nothing may say "more" and be followed by an empty one.
      more = !(nexthops_ ? nexthops_->step(seen) : routes_->step(seen)) || more;
    }
    rpc::End end;
    rpc::ListAnswer& answer = *end.mutable_list();
    answer.set_revision(view_.stamp().revision.value());
    answer.set_history(hash_bytes(view_.stamp().history));
    answer.set_last_key(last_key_);
    answer.set_rows(rows_);
    answer.set_more(more);
    call_->finish(std::move(end));
  }

  Parts& parts_;
  const SharedCall call_;
  const rpc::List& list_;
  const store::ReadView view_;
  std::optional<NexthopWalk> nexthops_;
  std::optional<RouteWalk> routes_;
  CarriedNexthops carried_;
  bool forget_ = false;
  bool limited_ = false;
  uint64_t rows_ = 0;
  std::string last_key_;
};

}  // namespace

void serve_list(Parts& parts, SharedCall call) {
  read(parts, call, call->request().list().stale(), [&parts, call](store::ReadView view) {
    std::make_shared<Listing>(parts, call, std::move(view))->start();
  });
}

}  // namespace waypost::node
