// make_plan: the next steps from what is installed to what is desired, as a function of both and of the work
// list; no I/O, no clock.
//
// Order. Going up: single nexthops, groups, routes. Coming down: routes, groups (shrinking first), nexthops.
// Nothing that is still used is taken away, and whatever must change its meaning under users is made anew
// beside them first:
//
//   content of a nexthop or group    one replace in place; its routes are not touched
//   kind of an id (KERNEL.md K3)     scratch id with the new content, routes over to it, delete, add, routes
//   back (SEMANTICS.md B6) routes that share a dying group  one delete of the group, where that is cheaper
//   (KERNEL.md K10)
//
// A plan is cut at `max_steps`, anywhere. `installed` is written as if every step succeeded, so that the next
// plan goes on from there; settle() takes back what failed. So a plan may be dropped, cut or run again: the
// next one starts from what is true.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernel_sync/fib.h"
#include "kernel_sync/kernel.h"
#include "kernel_sync/work.h"

namespace waypost::kernel_sync {

// How a step is taken back, and on whose behalf it was made.
struct StepOrigin {
  NexthopId nexthop = {};   // nexthop steps: the store's id, also where the step is on its scratch id
  SpecId before = kNoSpec;  // route steps: what `installed` held
  SpecId after = kNoSpec;
  uint32_t saved = 0;  // nexthop steps: into Plan::saved
};
struct SavedNexthop {
  NexthopId id;  // in the kernel
  std::optional<KernelNexthop> before = {};
  bool ours = true;
};

struct Plan {
  std::vector<KernelStep> steps;
  std::vector<StepOrigin> origins;  // one per step
  std::vector<SavedNexthop> saved;
  bool cut = false;             // max_steps was reached: there is more to do at once
  bool waits_for_dump = false;  // work.cascades_asked has to be confirmed first (SEMANTICS.md B5)
};

// Keys of desired routes over a nexthop, by the store's index: at most `limit`. Null: scans do.
using RouteIndex =
    std::function<void(NexthopId id, size_t limit, const std::function<void(const RouteKey&)>& visit)>;

struct PlanLimits {
  size_t max_steps = 0;
  bool downs = true;    // false: only what goes up (more changes are on their way)
  uint64_t now_ms = 0;  // failures are due by it
};

Plan make_plan(Fib& fib, Work& work, const RouteIndex& index, const PlanLimits& limits);

// The users of a nexthop have to be looked at: routes that go to it or must leave it, and groups that have
// it.
void touch_users(Fib& fib, Work& work, const RouteIndex& index, NexthopId id, bool also_equal);

// What the kernel does by itself when a nexthop goes (KERNEL.md K8, K9, K12): it leaves its groups, groups
// without members go too. Ids whose routes are gone with them are added to `gone`.
void nexthop_gone(Fib& fib, Work& work, NexthopId id, IdSet* gone);
// Takes the routes over these ids out of `installed`; visit(key, side, spec) for each.
void routes_gone(Fib& fib, const IdSet& ids, const std::function<void(const RouteKey&, Side, SpecId)>& visit);

}  // namespace waypost::kernel_sync
