// What may differ and has to be looked at: the maintained difference. One change puts in one id or key; what
// touches many routes puts in a scan of their table, whose cursor is kept, so that a plan can be cut
// anywhere. Everything here is only a hint: the planner compares both sides before it makes a step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kernel_sync/id_table.h"
#include "kernel_sync/route_tables.h"
#include "model/limits.h"

namespace waypost::kernel_sync {

struct Work {
  // In the order of their taking.
  IdSet unresolved;  // devices, gateways and ids have to be looked at first
  IdSet nexthops;
  IdSet groups;
  IdSet shrinking;       // groups that only lose members: on the way down
  IdSet leaving_groups;  // in the kernel, ours, and not to stay
  IdSet leaving;         // the same of single nexthops
  IdSet leaving_used;    // of both, those that had routes when they were put there
  IdSet waiting;         // for other steps; looked at again after each plan that did something
  IdSet kept;            // would leave, but another owner uses it (SEMANTICS.md B5)
  // Withdrawals of many routes by deleting what they share (KERNEL.md K10): asked for, and confirmed by a
  // dump.
  IdSet cascades_asked;
  IdSet cascades_confirmed;
  IdSet cascades_refused;  // could not be confirmed: a message a route

  std::set<RouteKey> up_routes;
  std::set<RouteKey> down_routes;
  std::set<RouteKey> again;  // refused once: tried once more when all else is done
  IdSet again_nexthops;
  using Scans = std::map<TableKey, std::optional<Prefix>>;  // where each has come to
  Scans up_scans;                                           // keys where desired and ours differ
  Scans down_scans;
  Scans user_scans;  // routes of ours over `user_ids`
  IdSet user_ids;
  bool progress = false;  // something was done or happened since `waiting` was looked at
  // Twins of our keys that one replace does not clear (KERNEL.md K11): to be deleted by what tells them
  // apart.
  std::map<RouteKey, std::vector<RouteSpec>> twins;

  // A key to look at. At the bound its whole table is scanned instead.
  void touch(const RouteKey& key) {
    if (up_routes.size() < limits::kMaxTouchedRoutes) {
      up_routes.insert(key);
    } else {
      scan_up(table_of(key));
    }
  }
  void touch_down(const RouteKey& key) {
    if (down_routes.size() < limits::kMaxTouchedRoutes) {
      down_routes.insert(key);
    } else {
      scan_down(table_of(key));
    }
  }
  void scan_up(const TableKey& table) { up_scans[table].reset(); }
  void scan_down(const TableKey& table) { down_scans[table].reset(); }
  void scan_users(NexthopId id, const std::vector<TableKey>& tables) {
    user_ids.insert(id);
    for (const TableKey& table : tables) user_scans[table].reset();
  }

  void leave(NexthopId id, bool group, bool used) {
    (group ? leaving_groups : leaving).insert(id);
    if (used) leaving_used.insert(id);
  }
  void stay(NexthopId id) {
    leaving.erase(id);
    leaving_groups.erase(id);
    leaving_used.erase(id);
  }

  bool nexthops_done() const { return unresolved.empty() && nexthops.empty() && groups.empty(); }
  bool ups_done() const {
    return nexthops_done() && up_routes.empty() && up_scans.empty() && user_scans.empty();
  }
  bool done() const {
    return ups_done() && shrinking.empty() && leaving.empty() && leaving_groups.empty() && waiting.empty() &&
           down_routes.empty() && down_scans.empty() && again.empty() && again_nexthops.empty() &&
           twins.empty();
  }
};

}  // namespace waypost::kernel_sync
