#include "kernel_sync/engine.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "kernel_sync/resolve.h"

namespace waypost::kernel_sync {
namespace {

constexpr uint64_t kDownsWaitMs = 3'000;
constexpr size_t kManyDowns = 1'024;  // fewer come down at once
constexpr uint64_t kFirstPauseMs = 50;
constexpr uint64_t kLongestPauseMs = 5'000;
constexpr size_t kResolveAtOnce = 65'536;
constexpr size_t kQuestionsAtOnce = 1'024;
// More IPv6 questions about one table than this are answered by one dump of it: the kernel's lookups rarely
// name the row that is asked for, and then each would cost that dump (netlink/route_query.h).
constexpr size_t kIpv6Questions = 8;
constexpr size_t kGoneAtOnce = 16'384;

}  // namespace

Engine::Engine(const SyncerOptions& options, Kernel& kernel, uint64_t seed)
    : options_(options), kernel_(kernel), host_(kernel), reader_(fib_, work_), random_(seed) {
  fib_.protocol = options.protocol;
  fib_.unreachable_on_pending = options.unreachable_on_pending;
}

Status Engine::open(uint64_t now_ms) {
  Result<std::bitset<256>> owners = adopt_owner_number(options_.data_directory, options_.protocol);
  if (!owners.ok()) return owners.error();
  fib_.owners = *owners;
  fib_.capabilities = kernel_.capabilities();
  if (options_.compat_mode == CompatModePolicy::kSetZero) {
    // A kernel that will not have it is slower, not wrong (KERNEL.md K19).
    if (Status status = kernel_.set_compat_mode(0); !status.ok())
      spdlog::warn("nexthop_compat_mode stays as it is: {}", status.error().message);
  }
  if (Result<int> mode = kernel_.compat_mode(); mode.ok()) fib_.compat_mode = *mode;
  marked_ = read_mark(options_.mark_path);
  Learner learner = this->learner(now_ms);
  const bool addresses = host_.reload_addresses(&dirty_gateways_) == DumpOutcome::kComplete;
  dirty_gateways_.clear();
  const Observation seen = observer(learner, now_ms).look();
  if (!addresses || !seen.status.ok()) {
    // Not seen is not gone: nothing is done before a look went well.
    resync_ = true;
    problem_ = seen.status.ok() ? "the kernel's addresses could not be read" : seen.status.error().message;
  }
  schedule_audit(now_ms, 0);
  return {};
}

Status Engine::load(const store::ReadView& view) {
  if (Status status = reader_.load(view); !status.ok()) return status;
  begin(view.stamp());
  return {};
}

void Engine::begin(const store::StateStamp& stamp) {
  hold_.clear();
  fib_.routes.release_all();
  // Everything is looked at, so nothing of what was to be looked at has to be remembered; above all not what
  // was seen to be extra.
  work_ = Work();
  fib_.desired.walk(NexthopId(0), [&](NexthopId id, NexthopTable::Row&) {
    work_.unresolved.insert(id);
    return true;
  });
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, NexthopTable::Row& row) {
    row.held = 0;
    work_.unresolved.insert(id);
    return true;
  });
  for (const TableKey& table : fib_.routes.tables()) {
    work_.scan_up(table);
    work_.scan_down(table);
  }
  sweep_decided_ = false;
  stamp_ = stamp;
  loaded_ = true;
  bool fresh = fib_.routes.count(Side::kOurs) == 0;
  fib_.installed.walk(NexthopId(0), [&](NexthopId, const NexthopTable::Row& row) {
    fresh = fresh && !row.ours;
    return fresh;
  });
  // Nothing of ours is there yet, so that whatever will be is this store's: marked before the first step, or
  // a crash in the middle of the first import would leave objects that nobody can prove.
  if (fresh && problem_.empty()) set_mark();
}

Status Engine::apply(std::span<const ChangeSet> changes, const store::StateStamp& stamp) {
  for (const ChangeSet& set : changes) {
    if (Status status = reader_.apply(set); !status.ok()) return status;
    stamp_ = stamp;
    stamp_.revision = set.revision;
  }
  return {};
}

bool Engine::settled() const {
  return loaded_ && sweep_decided_ && work_.done() && questions_.empty() && !resync_ && !overrun_ &&
         problem_.empty() && !fib_.route_failures.unsettled() && !fib_.nexthop_failures.unsettled() &&
         (settle_at_ms_ == UINT64_MAX || (suspect_links_.empty() && dirty_devices_.empty()));
}

uint64_t Engine::held_objects() const {
  uint64_t held = fib_.routes.held_count();
  if (hold_.empty()) return held;
  fib_.installed.walk(NexthopId(0), [&](NexthopId, const NexthopTable::Row& row) {
    held += row.held;
    return true;
  });
  return held;
}

uint64_t Engine::deadline_ms() const {
  uint64_t at = std::min(settle_at_ms_, next_audit_ms_);
  at = std::min({at, fib_.route_failures.next_due_ms(), fib_.nexthop_failures.next_due_ms()});
  if (pause_until_ms_ != 0) at = std::min(at, pause_until_ms_);
  if (downs_since_ms_ != 0) at = std::min(at, downs_since_ms_ + kDownsWaitMs);
  if (marked_ && loaded_ && marked_->revision != stamp_.revision && in_sync())
    at = std::min(at, marked_ms_ + kMarkEveryMs);
  return at;
}

bool Engine::downs_allowed(uint64_t now_ms) {
  if (!sweep_decided_) return false;
  const bool many = work_.down_routes.size() >= kManyDowns || !work_.down_scans.empty();
  if (!more_changes_ || !many) {
    downs_since_ms_ = 0;
    return true;
  }
  if (downs_since_ms_ == 0) downs_since_ms_ = now_ms;
  return now_ms - downs_since_ms_ >= kDownsWaitMs;
}

bool Engine::round(uint64_t now_ms) {
  if (overrun_ && !drained_) return true;
  if (overrun_) forget_host();
  if (now_ms < pause_until_ms_) return false;
  pause_until_ms_ = 0;
  if (resync_ || !problem_.empty()) recover(now_ms);
  if (!problem_.empty()) return false;
  if (now_ms >= settle_at_ms_) settle_host(now_ms);
  retry_due(now_ms);
  ask(now_ms);
  if (!loaded_) return false;
  resolve_pending(fib_, work_, host_, now_ms, kResolveAtOnce);
  if (!sweep_decided_ && work_.ups_done()) decide_sweep();

  const PlanLimits limits{.max_steps = max_steps_, .downs = downs_allowed(now_ms), .now_ms = now_ms};
  Plan plan = make_plan(fib_, work_, index_, limits);
  if (!plan.steps.empty()) {
    const BatchOutcome outcome = kernel_.execute(plan.steps);
    after(plan, settle(fib_, work_, plan, outcome, questions_, now_ms), now_ms);
  }
  if (plan.waits_for_dump) confirm_cascades(now_ms);
  fib_.routes.specs().collect();
  if (in_sync()) {
    if (drift_.nexthops + drift_.routes != 0) {
      counters_.repaired_nexthops += drift_.nexthops;
      counters_.repaired_routes += drift_.routes;
      counters_.last_drift = std::to_string(drift_.nexthops) + " nexthops and " +
                             std::to_string(drift_.routes) + " routes, last: " + drift_.cause + ", repaired";
      spdlog::warn("drift in the kernel: {}", counters_.last_drift);
      drift_ = {};
    }
    leave_mark(now_ms, false);
  }
  const bool paused = now_ms < pause_until_ms_;
  const bool undecided = !sweep_decided_ && work_.ups_done();
  return !paused && (!plan.steps.empty() || plan.waits_for_dump || !questions_.empty() ||
                     !work_.unresolved.empty() || !work_.ups_done() || undecided);
}

void Engine::after(const Plan& plan, const Settled& settled, uint64_t now_ms) {
  counters_.steps += settled.done;
  for (size_t index = 0; index < plan.steps.size(); ++index) {
    // What is left of twins is seen by asking for the key (KERNEL.md K11).
    const DeleteKernelRoute* erase = std::get_if<DeleteKernelRoute>(&plan.steps[index]);
    const StepOrigin& origin = plan.origins[index];
    if (erase != nullptr && origin.before == kNoSpec && origin.after == kNoSpec)
      questions_.routes.emplace(erase->key, std::nullopt);
  }
  if (settled.refused != 0)
    spdlog::warn("the kernel refused {} of {} steps, first {}", settled.refused, plan.steps.size(),
                 settled.first_refusal);
  for (uint32_t ifindex : settled.doubtful_links) {
    const std::string name = host_.name_of(ifindex);
    host_.forget(name);
    dirty_devices_.insert(fib_.devices.find(name));
    settle_at_ms_ = std::min(settle_at_ms_, now_ms + options_.link_settle_ms);
  }
  if (settled.resync) resync_ = true;
  if (settled.passing || !settled.problem.empty() || settled.resync) {
    if (!settled.problem.empty() && problem_ != settled.problem) {
      problem_ = settled.problem;
      spdlog::error("kernel_sync: {}", problem_);
    }
    pause_ms_ = std::clamp(pause_ms_ * 2, kFirstPauseMs, kLongestPauseMs);
    pause_until_ms_ = now_ms + pause_ms_;
  } else if (settled.done != 0) {
    pause_ms_ = 0;
  }
}

// After trouble: look at everything, and go on only when that went well.
void Engine::recover(uint64_t now_ms) {
  const bool addresses = host_.reload_addresses(&dirty_gateways_) == DumpOutcome::kComplete;
  if (!dirty_gateways_.empty()) settle_at_ms_ = std::min(settle_at_ms_, now_ms);
  const Observation seen = look(now_ms, problem_.empty() ? "events were lost" : problem_);
  if (addresses && seen.status.ok()) {
    problem_.clear();
    resync_ = false;
    return;
  }
  problem_ = seen.status.ok() ? "the kernel's addresses could not be read" : seen.status.error().message;
  pause_ms_ = std::clamp(pause_ms_ * 2, kFirstPauseMs, kLongestPauseMs);
  pause_until_ms_ = now_ms + pause_ms_;
}

void Engine::retry_due(uint64_t now_ms) {
  fib_.route_failures.take_due(now_ms, [&](const RouteKey& key, const Failure&) { work_.touch(key); });
  fib_.nexthop_failures.take_due(now_ms, [&](NexthopId id, const Failure&) { work_.unresolved.insert(id); });
  if (fib_.route_failures.overflow() == 0) return;
  // More were refused than can be remembered: their tables are scanned again.
  fib_.route_failures.clear_overflow();
  for (const TableKey& table : fib_.routes.tables()) work_.scan_up(table);
  pause_ms_ = std::clamp(pause_ms_ * 2, kFirstPauseMs, kLongestPauseMs);
  pause_until_ms_ = now_ms + pause_ms_;
}

void Engine::ask(uint64_t now_ms) {
  if (questions_.empty()) return;
  Learner learner = this->learner(now_ms);
  for (size_t count = 0; count < kQuestionsAtOnce; ++count) {
    const std::optional<NexthopId> id = questions_.nexthops.pop();
    if (!id) break;
    const Result<std::optional<KernelNexthop>> answer = kernel_.get_nexthop(*id);
    if (!answer.ok()) {
      questions_.nexthops.insert(*id);
      resync_ = true;
      pause_until_ms_ = now_ms + kFirstPauseMs;
      break;
    }
    if (*answer) {
      learner.nexthop(**answer);
    } else {
      learner.nexthop_gone(*id);
    }
  }
  learner.drift = {};  // gone without a word: with its link, and that is no drift
  if (!resync_) ask_ipv6(learner);
  for (size_t count = 0; count < kQuestionsAtOnce && !questions_.routes.empty() && !resync_; ++count) {
    const auto question = questions_.routes.begin();
    const Result<std::optional<KernelRoute>> answer = kernel_.get_route(question->first);
    if (!answer.ok()) {
      resync_ = true;
      pause_until_ms_ = now_ms + kFirstPauseMs;
      break;
    }
    const auto [key, shown] = *question;
    questions_.routes.erase(question);
    learner.route(key, *answer, shown);
  }
  take_drift(learner);
}

void Engine::ask_ipv6(Learner& learner) {
  std::map<TableId, size_t> asked;
  for (const auto& [key, shown] : questions_.routes)
    if (key.prefix.family() == Family::kIpv6) ++asked[key.table];
  for (const auto& [table, count] : asked) {
    if (count <= kIpv6Questions) continue;
    std::map<RouteKey, KernelRoute> found;
    const DumpOutcome outcome = kernel_.dump_routes(Family::kIpv6, table, [&](const KernelRoute& row) {
      if (questions_.routes.count(row.route.key) != 0) found.emplace(row.route.key, row);
    });
    if (outcome != DumpOutcome::kComplete) continue;  // asked one by one
    size_t asked_for = 0;
    RouteKey first;
    first.table = table;
    auto question = questions_.routes.lower_bound(first);
    while (question != questions_.routes.end() && question->first.table == table) {
      const auto [key, shown] = *question;
      const auto row = found.find(key);
      // What the dump left out is gone only when the kernel says so, and a question like any other if not.
      const bool unseen = key.prefix.family() != Family::kIpv6 || row == found.end();
      if (unseen && (key.prefix.family() != Family::kIpv6 || !gone(key, &asked_for))) {
        ++question;
        continue;
      }
      question = questions_.routes.erase(question);
      learner.route(key, unseen ? std::nullopt : std::optional(row->second), shown);
    }
  }
}

bool Engine::gone(const RouteKey& key, size_t* asked_for) {
  if (++*asked_for > kGoneAtOnce) return false;
  const Result<bool> taken = kernel_.has_route(key);
  return taken.ok() && !*taken;
}

void Engine::take_drift(const Learner& learner) {
  drift_.nexthops += learner.drift.nexthops;
  drift_.routes += learner.drift.routes;
  if (!learner.drift.cause.empty()) drift_.cause = learner.drift.cause;
  if (learner.connected_changed) host_changed_ = true;
}

// Before many routes go with one object: does another owner's route use it, that no event told of
// (SEMANTICS.md B5)?
void Engine::confirm_cascades(uint64_t now_ms) {
  Learner learner = this->learner(now_ms);
  bool complete = true;
  for (Family family : {Family::kIpv4, Family::kIpv6}) {
    complete = complete && DumpOutcome::kComplete ==
                               kernel_.dump_routes(family, std::nullopt, [&](const KernelRoute& found) {
                                 if (found.route.nexthop.value() == 0 || fib_.is_ours(found.route.protocol) ||
                                     !Learner::concerns_us(found))
                                   return;
                                 learner.foreign(found.route.key, learner.spec_of(found));
                               });
  }
  while (std::optional<NexthopId> id = work_.cascades_asked.pop())
    (complete ? work_.cascades_confirmed : work_.cascades_refused).insert(*id);
  take_drift(learner);
}

}  // namespace waypost::kernel_sync
