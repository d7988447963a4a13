// The planner's state for one plan; see plan.h for the order. plan_nexthops.cc and plan_routes.cc hold its
// two halves.
#pragma once

#include <set>
#include <vector>

#include "kernel_sync/plan.h"

namespace waypost::kernel_sync {

class Planner {
 public:
  Planner(Fib& fib, Work& work, const RouteIndex& index, const PlanLimits& limits)
      : fib_(fib), work_(work), index_(index), limits_(limits) {}

  Plan run();

 private:
  bool full() const { return plan_.steps.size() >= limits_.max_steps; }

  // Nexthops and groups (plan_nexthops.cc).
  void nexthops_up();
  void groups_up();
  void groups_down();
  void nexthops_down();
  void look_at_nexthop(NexthopId id);
  void look_at_single(NexthopId id, NexthopTable::Row& row);
  void look_at_group(NexthopId id, NexthopTable::Row& row);
  bool group_can_be(NexthopId id, NexthopTable::Row& row, const KernelNexthop& wanted);
  // There, but not to stay: its users go first.
  void not_usable(NexthopId id, NexthopTable::Row* row);
  void become_realized(NexthopId id, NexthopTable::Row& row);
  void change_kind(NexthopId id, NexthopTable::Row& row, const KernelNexthop& wanted);
  void finish_kind_change(NexthopId id, NexthopTable::Row& row, const KernelNexthop& wanted);
  NexthopId make_scratch_id();
  void touch_groups_of(NexthopId id);
  bool must_wait(NexthopId id, const KernelNexthop& wanted);
  void leaves(NexthopId id);  // not to stay: on to the way down
  void leave(NexthopId id);
  bool held_by_foreign(NexthopId id) const;
  bool cheaper_by_member(NexthopId group, const KernelNexthop& wanted);
  void put_nexthop(NexthopId on_behalf, KernelNexthop nexthop);
  void delete_nexthop(NexthopId on_behalf, NexthopId id);

  // Routes (plan_routes.cc).
  void routes_up();
  void routes_down();
  void cascades();
  bool cascade_is_cheaper(NexthopId id) const;
  bool cascade_takes_only_unwanted(NexthopId id) const;
  void users_down();
  void look_up_at(const RouteKey& key);
  void look_down_at(const RouteKey& key);
  Fib::Target target_of(const RouteKey& key, SpecId desired);
  void put_route(const RouteKey& key, SpecId before, SpecId after);
  void delete_route(const RouteKey& key, SpecId before);
  void clean_twins();

  Fib& fib_;
  Work& work_;
  const RouteIndex& index_;
  const PlanLimits& limits_;
  Plan plan_;
  // What routes or groups leave with this plan: whether they did is only known when it was executed, and the
  // kernel goes on behind a failed step. So nothing of this is deleted before the next plan.
  IdSet being_left_;
  // Failing ones that this plan tries again: only the kernel's answer clears them.
  IdSet tried_nexthops_;
  std::set<RouteKey> tried_routes_;
  std::vector<RouteTables::Difference> differences_;
  std::vector<RouteTables::Row> rows_;
};

}  // namespace waypost::kernel_sync
