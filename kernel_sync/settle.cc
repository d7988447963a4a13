#include "kernel_sync/settle.h"

#include <cerrno>

namespace waypost::kernel_sync {
namespace {

enum class Kind { kGone, kTaken, kLink, kPassing, kForbidden, kRefused };

Kind kind_of(int error) {
  switch (error) {
    case ENOENT:
    case ESRCH:
      return Kind::kGone;
    case EEXIST:
      return Kind::kTaken;
    case ENODEV:
    case ENETDOWN:
      return Kind::kLink;
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ETIMEDOUT:
      return Kind::kPassing;
    case EPERM:
    case EACCES:
      return Kind::kForbidden;
    default:
      return Kind::kRefused;
  }
}

class Settler {
 public:
  Settler(Fib& fib, Work& work, Plan& plan, Questions& questions, uint64_t now_ms)
      : fib_(fib), work_(work), plan_(plan), questions_(questions), now_ms_(now_ms) {}

  Settled run(const BatchOutcome& outcome) {
    if (!outcome.transport.ok()) {
      settled_.problem = outcome.transport.error().message;
      settled_.resync = true;
      for (size_t index = plan_.steps.size(); index-- > outcome.executed;) take_back(index);
    }
    // Backwards: of several steps on one object the first's memory is the oldest.
    for (auto failure = outcome.failures.rbegin(); failure != outcome.failures.rend(); ++failure)
      fail(failure->index, *failure);
    for (const StepFailure* failure : refused_groups_) group_refused(failure->index, *failure);
    for (const StepFailure* failure : refused_routes_) route_refused(failure->index, *failure);
    clear_failures(outcome);
    settled_.done = outcome.executed - outcome.failures.size();
    return settled_;
  }

 private:
  void take_back(size_t index) {
    const KernelStep& step = plan_.steps[index];
    if (const PutKernelRoute* put = std::get_if<PutKernelRoute>(&step)) {
      take_back_route(put->route.route.key, plan_.origins[index]);
    } else if (const DeleteKernelRoute* erase = std::get_if<DeleteKernelRoute>(&step)) {
      take_back_route(erase->key, plan_.origins[index]);
    } else {
      take_back_nexthop(plan_.origins[index]);
    }
  }

  void take_back_route(const RouteKey& key, const StepOrigin& origin) {
    if (origin.before == kNoSpec && origin.after == kNoSpec) return;
    if (origin.before == kNoSpec) {
      fib_.routes.erase(Side::kOurs, key);
    } else {
      fib_.routes.put(Side::kOurs, key, origin.before);
    }
    work_.touch(key);
  }

  void take_back_nexthop(const StepOrigin& origin) {
    const SavedNexthop& saved = plan_.saved[origin.saved];
    if (saved.before) {
      fib_.installed.put(saved.before->object, saved.before->ifindex).ours = saved.ours;
    } else {
      fib_.installed.erase(saved.id);
    }
    work_.stay(saved.id);
    auto stand_in = fib_.scratch.find(origin.nexthop);
    if (stand_in != fib_.scratch.end() && stand_in->second == saved.id) fib_.scratch.erase(stand_in);
    if (NexthopTable::Row* row = fib_.desired.find(origin.nexthop)) fib_.set_realized(*row, false);
    ++fib_.epoch;
    work_.unresolved.insert(origin.nexthop);
    work_.unresolved.insert(saved.id);
  }

  void fail(size_t index, const StepFailure& failure) {
    const KernelStep& step = plan_.steps[index];
    const StepOrigin& origin = plan_.origins[index];
    const Kind kind = kind_of(failure.error);
    if (kind == Kind::kPassing) settled_.passing = true;
    if (kind == Kind::kForbidden) settled_.problem = "the kernel refuses changes: " + failure.words;
    if (const PutKernelRoute* put = std::get_if<PutKernelRoute>(&step))
      return put_failed(*put, origin, kind, failure);
    if (const DeleteKernelRoute* erase = std::get_if<DeleteKernelRoute>(&step)) {
      if (kind == Kind::kGone) return;  // somebody was quicker
      if (erase->nexthop.value() != 0 && kind == Kind::kRefused) {
        // Its nexthop is gone, so it is too; unless it is over another one by now.
        questions_.nexthops.insert(erase->nexthop);
        questions_.routes.emplace(erase->key, std::nullopt);
        return;
      }
      take_back_route(erase->key, origin);
      if (kind == Kind::kPassing || kind == Kind::kForbidden) return;
      if (Failure* noted = refuse(fib_.route_failures, erase->key, failure, "route " + to_string(erase->key)))
        noted->deletion = true;
      return;
    }
    if (const DeleteKernelNexthop* erase = std::get_if<DeleteKernelNexthop>(&step)) {
      if (kind == Kind::kGone) return;
      take_back_nexthop(origin);
      questions_.nexthops.insert(erase->id);
      settled_.resync = true;  // its routes may be there, or not
      return;
    }
    put_failed(std::get<PutKernelNexthop>(step), origin, kind, failure);
  }

  void put_failed(const PutKernelRoute& put, const StepOrigin& origin, Kind kind,
                  const StepFailure& failure) {
    const RouteKey& key = put.route.route.key;
    take_back_route(key, origin);
    if (kind == Kind::kPassing || kind == Kind::kForbidden) return;
    fib_.watched_routes.erase(key);
    if (kind == Kind::kTaken) {
      questions_.routes.emplace(key, std::nullopt);
      return taken(fib_.route_failures, key);
    }
    refused_routes_.push_back(&failure);
  }

  // When all steps of the plan are settled: a route whose nexthop failed before it was not refused itself.
  void route_refused(size_t index, const StepFailure& failure) {
    const PutKernelRoute& put = std::get<PutKernelRoute>(plan_.steps[index]);
    const StepOrigin& origin = plan_.origins[index];
    const RouteKey& key = put.route.route.key;
    const NexthopId nexthop = put.route.route.nexthop;
    if (nexthop.value() != 0) {
      if (fib_.installed.find(nexthop) == nullptr) return;
      // It may have gone without a word (KERNEL.md K9, K12).
      questions_.nexthops.insert(nexthop);
    }
    Failure* noted = refuse(fib_.route_failures, key, failure, "route " + to_string(key));
    if (noted == nullptr) return;
    if (!noted->settled) {
      work_.up_routes.erase(key);
      work_.again.insert(key);
    } else if (origin.before != kNoSpec) {
      work_.touch_down(key);  // as wanted it cannot be; as it was it is not wanted
    }
  }

  void put_failed(const PutKernelNexthop& put, const StepOrigin& origin, Kind kind,
                  const StepFailure& failure) {
    const NexthopId id = put.nexthop.object.id;
    take_back_nexthop(origin);
    if (kind == Kind::kPassing || kind == Kind::kForbidden) return;
    fib_.watched_nexthops.erase(origin.nexthop);
    if (kind == Kind::kTaken) {
      questions_.nexthops.insert(id);
      return taken(fib_.nexthop_failures, origin.nexthop);
    }
    if (kind == Kind::kLink && put.nexthop.ifindex != 0) settled_.doubtful_links.insert(put.nexthop.ifindex);
    if (put.nexthop.object.is_group()) {
      refused_groups_.push_back(&failure);
      return;
    }
    nexthop_refused(put, origin, kind, failure);
  }

  // A group whose member failed before it was not refused itself.
  void group_refused(size_t index, const StepFailure& failure) {
    const PutKernelNexthop& put = std::get<PutKernelNexthop>(plan_.steps[index]);
    const std::vector<GroupMember>& members = put.nexthop.object.group().members;
    for (const GroupMember& member : members)
      if (fib_.installed.find(member.id) == nullptr) return;
    for (const GroupMember& member : members) questions_.nexthops.insert(member.id);
    nexthop_refused(put, plan_.origins[index], Kind::kRefused, failure);
  }

  void nexthop_refused(const PutKernelNexthop& put, const StepOrigin& origin, Kind kind,
                       const StepFailure& failure) {
    const NexthopId id = put.nexthop.object.id;
    Failure* noted =
        refuse(fib_.nexthop_failures, origin.nexthop, failure, "nexthop " + std::to_string(id.value()));
    if (noted == nullptr) return;
    if (kind == Kind::kLink) noted->state = RowState::kPending;
    if (!noted->settled) {
      // Once more after what comes down has come down.
      work_.unresolved.erase(origin.nexthop);
      work_.again_nexthops.insert(origin.nexthop);
    }
  }

  // The answer to the question says whose it is, and clears this; where it finds nothing, it is no hot loop.
  template <typename Key>
  void taken(Failures<Key>& failures, const Key& key) {
    Failure* noted = failures.note(key);
    if (noted == nullptr) return;
    noted->state = RowState::kConflict;
    noted->words = fib_.words.intern("taken by an object that the kernel does not show");
    noted->settled = ++noted->attempts >= 3;
    if (noted->settled) failures.set_retry(*noted, now_ms_ + retry_delay_ms(noted->attempts));
  }

  template <typename Key>
  Failure* refuse(Failures<Key>& failures, const Key& key, const StepFailure& failure,
                  const std::string& name) {
    ++settled_.refused;
    settled_.first_refusal = name + ": " + failure.words;  // failures come backwards: the first stays
    Failure* noted = failures.note(key);
    if (noted == nullptr) return nullptr;
    if (noted->attempts < UINT8_MAX) ++noted->attempts;
    noted->state = RowState::kRefused;
    noted->error = failure.error;
    noted->words = fib_.words.intern(failure.words);
    noted->settled = noted->attempts >= 2;
    noted->retry_at_ms = 0;
    if (noted->settled) failures.set_retry(*noted, now_ms_ + retry_delay_ms(noted->attempts));
    return noted;
  }

  // What went well is no failure any more; what was mended is remembered, in case it has to be mended again.
  void clear_failures(const BatchOutcome& outcome) {
    if (fib_.route_failures.empty() && fib_.nexthop_failures.empty() && fib_.watched_routes.empty() &&
        fib_.watched_nexthops.empty())
      return;
    auto failure = outcome.failures.begin();
    for (size_t index = 0; index < outcome.executed; ++index) {
      if (failure != outcome.failures.end() && failure->index == index) {
        ++failure;
        continue;
      }
      if (const PutKernelRoute* put = std::get_if<PutKernelRoute>(&plan_.steps[index])) {
        const RouteKey& key = put->route.route.key;
        fib_.route_failures.erase(key);
        if (fib_.watched_routes.erase(key) != 0) fib_.route_repairs.note(key, now_ms_);
      } else if (const DeleteKernelRoute* erase = std::get_if<DeleteKernelRoute>(&plan_.steps[index])) {
        fib_.route_failures.erase(erase->key);
      } else if (std::holds_alternative<PutKernelNexthop>(plan_.steps[index])) {
        const NexthopId id = plan_.origins[index].nexthop;
        if (fib_.nexthop_failures.erase(id)) work_.unresolved.insert(id);
        if (fib_.watched_nexthops.erase(id)) fib_.nexthop_repairs.note(id, now_ms_);
      }
    }
  }

  Fib& fib_;
  Work& work_;
  Plan& plan_;
  Questions& questions_;
  uint64_t now_ms_;
  std::vector<const StepFailure*> refused_groups_;
  std::vector<const StepFailure*> refused_routes_;
  Settled settled_;
};

}  // namespace

Settled settle(Fib& fib, Work& work, Plan& plan, const BatchOutcome& outcome, Questions& questions,
               uint64_t now_ms) {
  return Settler(fib, work, plan, questions, now_ms).run(outcome);
}

}  // namespace waypost::kernel_sync
