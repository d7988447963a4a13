// kernel_sync without its thread and its store: desired rows in, kernel events in, steps out, one bounded
// round at a time. The syncer drives it with real time; tests and the simulator drive it with a fake kernel
// and a clock of their own. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernel_sync/desired.h"
#include "kernel_sync/fib.h"
#include "kernel_sync/host.h"
#include "kernel_sync/learn.h"
#include "kernel_sync/observe.h"
#include "kernel_sync/ownership.h"
#include "kernel_sync/plan.h"
#include "kernel_sync/settle.h"
#include "kernel_sync/syncer.h"
#include "kernel_sync/work.h"

namespace waypost::kernel_sync {

struct EngineCounters {
  uint64_t repaired_nexthops = 0;
  uint64_t repaired_routes = 0;
  std::string last_drift;
  uint64_t audits = 0;
  uint64_t last_audit_us = 0;
  uint64_t last_audit_took_us = 0;
  std::string last_audit_result;
  uint64_t false_missing = 0;  // rows that a dump did not show and that were there
  uint64_t steps = 0;
};

class Engine {
 public:
  Engine(const SyncerOptions& options, Kernel& kernel, uint64_t seed);

  // Owner numbers, capabilities, compat mode, and the first look at what is there; touches nothing. Errors:
  // of the kernel or the data directory.
  Status open(uint64_t now_ms);

  // The store's rows, all of them; then begin() with what they are of.
  Status load(const store::ReadView& view);
  // Desired is the state of `stamp`, and nothing is known of how it came from the one before: sweeping needs
  // proof.
  void begin(const store::StateStamp& stamp);
  Status apply(std::span<const ChangeSet> changes, const store::StateStamp& stamp);
  void set_route_index(RouteIndex index) { index_ = std::move(index); }
  // More changes are on their way: what comes down may wait for them a little (at most kDownsWaitMs), so that
  // many withdrawals become one (KERNEL.md K10).
  void expect_more(bool more) { more_changes_ = more; }

  void handle(std::vector<KernelEvent> events, uint64_t now_ms);
  // Of one plan; smaller for tests that cut plans.
  void set_max_steps(size_t steps) { max_steps_ = steps; }
  // Timers, questions, then one plan, executed. True: there is more to do at once.
  bool round(uint64_t now_ms);
  // When round() has something to do though nothing happened; UINT64_MAX: never.
  uint64_t deadline_ms() const;

  // Every desired row of revision() is in one of the states of SEMANTICS.md B1, and nothing of ours is there
  // that should not be, but for what is held.
  bool settled() const;
  bool in_sync() const { return settled() && hold_.empty(); }
  Revision revision() const { return stamp_.revision; }
  const store::StateStamp& stamp() const { return stamp_; }
  const std::string& hold() const { return hold_; }
  uint64_t held_objects() const;
  const std::string& problem() const { return problem_; }

  // A whole look now; `why` for the log. What differs is mended by the rounds that follow.
  Observation look(uint64_t now_ms, const std::string& why);
  Status audit(uint64_t now_ms, uint64_t wall_us);
  bool audit_due(uint64_t now_ms) const { return now_ms >= next_audit_ms_; }
  void sweep();
  // Wants nothing any more: rounds take away what is ours.
  void want_nothing();

  Fib& fib() { return fib_; }
  const Fib& fib() const { return fib_; }
  Host& host() { return host_; }
  Work& work() { return work_; }
  Kernel& kernel() const { return kernel_; }
  const EngineCounters& counters() const { return counters_; }
  Observer observer(Learner& learner, uint64_t now_ms) {
    return Observer(kernel_, fib_, learner, [this, now_ms](Heard& heard) { listen(heard, now_ms); });
  }
  Learner learner(uint64_t now_ms) { return Learner(fib_, work_, questions_, !hold_.empty(), now_ms); }
  // Right before exit, and now and then: the mark of SEMANTICS.md B4.
  void leave_mark(uint64_t now_ms, bool at_once);

 private:
  static constexpr uint64_t kMarkEveryMs = 100;  // at most one high-water mark in this time, but at rest

  void listen(Heard& heard, uint64_t now_ms);
  void link_event(const LinkEvent& event, uint64_t now_ms);
  void forget_host();
  void set_mark();
  void settle_host(uint64_t now_ms);
  void check_suspects(uint64_t now_ms);
  void resolve_again();
  void ask(uint64_t now_ms);
  void ask_ipv6(Learner& learner);
  bool gone(const RouteKey& key, size_t* asked_for);
  void confirm_cascades(uint64_t now_ms);
  // Routes of ours in the kernel that the store does not have, without those already on their way out.
  void each_extra_route(const std::function<void(const RouteKey&)>& visit);
  void decide_sweep();
  void hold_extras(const std::string& why);
  void retry_due(uint64_t now_ms);
  void take_drift(const Learner& learner);
  void after(const Plan& plan, const Settled& settled, uint64_t now_ms);
  void recover(uint64_t now_ms);
  bool downs_allowed(uint64_t now_ms);
  void schedule_audit(uint64_t now_ms, uint64_t took_ms);

  const SyncerOptions options_;
  Kernel& kernel_;
  Fib fib_;
  Work work_;
  Host host_;
  DesiredReader reader_;
  Questions questions_;
  RouteIndex index_;
  store::StateStamp stamp_;
  std::mt19937_64 random_;

  bool loaded_ = false;
  size_t max_steps_ = limits::kMaxPlanSteps;
  bool more_changes_ = false;
  uint64_t downs_since_ms_ = 0;  // when the first of what waits to come down came; 0: none

  // SEMANTICS.md B4. Undecided until everything that goes up is up.
  bool sweep_decided_ = false;
  std::string hold_;
  std::optional<Mark> marked_;
  uint64_t marked_ms_ = 0;

  // What happened to the host since settle_at_ms_ was set.
  uint64_t settle_at_ms_ = UINT64_MAX;
  std::set<uint32_t> suspect_links_;
  std::set<uint32_t> dirty_devices_;
  std::set<IpAddress> dirty_gateways_;
  bool addresses_changed_ = false;
  bool host_changed_ = false;  // refused rows are worth another try
  bool overrun_ = false;       // events were lost
  bool drained_ = true;        // the last events taken were all there were

  // Trouble with the kernel side as a whole.
  std::string problem_;
  bool resync_ = false;
  uint64_t pause_until_ms_ = 0;
  uint64_t pause_ms_ = 0;

  uint64_t next_audit_ms_ = UINT64_MAX;
  Drift drift_;  // not yet mended
  EngineCounters counters_;
};

}  // namespace waypost::kernel_sync
