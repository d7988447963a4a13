#include "kernel_sync/plan.h"

#include "kernel_sync/planner.h"

namespace waypost::kernel_sync {
namespace {

// Below this many users the store's index is asked for their keys; above it the tables are scanned.
constexpr size_t kIndexedUsers = 1'024;
// Each pass can make way for what waits; what waits for more than this many waits for the next plan.
constexpr int kPasses = 8;

}  // namespace

Plan make_plan(Fib& fib, Work& work, const RouteIndex& index, const PlanLimits& limits) {
  return Planner(fib, work, index, limits).run();
}

Plan Planner::run() {
  for (int pass = 0; pass < kPasses; ++pass) {
    if (work_.progress) {
      work_.progress = false;
      while (std::optional<NexthopId> id = work_.waiting.pop()) work_.nexthops.insert(*id);
    }
    const size_t before = plan_.steps.size();
    nexthops_up();
    groups_up();
    if (!full() && work_.nexthops_done()) routes_up();
    if (!full() && limits_.downs && work_.ups_done()) {
      routes_down();
      if (!full()) groups_down();
      if (!full()) nexthops_down();
    }
    if (full()) break;
    if (plan_.steps.size() != before) {
      work_.progress = true;
      continue;
    }
    if (!work_.ups_done() || plan_.waits_for_dump || (work_.again.empty() && work_.again_nexthops.empty()))
      break;
    // All else is done: once more with what was refused.
    std::set<RouteKey> again;
    again.swap(work_.again);
    for (const RouteKey& key : again) work_.touch(key);
    while (std::optional<NexthopId> id = work_.again_nexthops.pop()) work_.nexthops.insert(*id);
  }
  if (!plan_.steps.empty()) work_.progress = true;
  plan_.cut = full();
  return std::move(plan_);
}

void touch_users(Fib& fib, Work& work, const RouteIndex& index, NexthopId id, bool also_equal) {
  // Routes of ours over it that are not wanted over it differ already, and are looked at anyway.
  const uint32_t wanted = fib.routes.specs().users(id, Side::kDesired).total();
  if (wanted == 0) return;
  if (index && wanted <= kIndexedUsers)
    return index(id, kIndexedUsers, [&](const RouteKey& key) { work.touch(key); });
  const std::vector<TableKey> tables = fib.routes.tables();
  for (const TableKey& table : tables)
    if (fib.routes.count(Side::kDesired, table) != 0) work.scan_up(table);
  if (also_equal && fib.routes.specs().users(id, Side::kOurs).total() != 0) work.scan_users(id, tables);
}

void nexthop_gone(Fib& fib, Work& work, NexthopId id, IdSet* gone) {
  NexthopTable::Row* row = fib.installed.find(id);
  if (row == nullptr) return;
  std::vector<NexthopId> groups;
  fib.installed.for_each_group_of(id, [&](NexthopId group) { groups.push_back(group); });
  for (NexthopId group : groups) {
    if (fib.installed.remove_member(group, id) == 0) {
      nexthop_gone(fib, work, group, gone);
    } else {
      work.unresolved.insert(group);
    }
  }
  row = fib.installed.find(id);  // rows move when others go
  if (row->group)
    for (const GroupMember& member : fib.installed.group(*row).members)
      if (work.kept.erase(member.id)) work.unresolved.insert(member.id);
  if (fib.routes.specs().users(id, Side::kOurs).total() +
          fib.routes.specs().users(id, Side::kForeign).total() !=
      0)
    gone->insert(id);
  fib.installed.erase(id);
  work.stay(id);
  work.kept.erase(id);
  if (NexthopTable::Row* wanted = fib.desired.find(id)) {
    if (fib.scratch.count(id) == 0) fib.set_realized(*wanted, false);
    work.unresolved.insert(id);
  }
  // A scratch id: whom it stood in for is to be looked at again.
  for (auto stand_in = fib.scratch.begin(); stand_in != fib.scratch.end(); ++stand_in) {
    if (stand_in->second != id) continue;
    if (NexthopTable::Row* owner = fib.desired.find(stand_in->first)) fib.set_realized(*owner, false);
    work.unresolved.insert(stand_in->first);
    fib.scratch.erase(stand_in);
    break;
  }
}

void routes_gone(Fib& fib, const IdSet& ids,
                 const std::function<void(const RouteKey&, Side, SpecId)>& visit) {
  if (ids.empty()) return;
  std::vector<RouteTables::Row> rows;
  for (Side side : {Side::kOurs, Side::kForeign}) {
    uint64_t left = 0;
    for (std::optional<NexthopId> id = ids.first(); id; id = ids.after(*id))
      left += fib.routes.specs().users(*id, side).total();
    for (const TableKey& table : fib.routes.tables()) {
      std::optional<Prefix> after;
      for (bool more = left != 0; more && left != 0;) {
        rows.clear();
        more = fib.routes.walk(side, table, &after, 4'096, &rows);
        for (const RouteTables::Row& row : rows) {
          const NexthopId nexthop = fib.routes.specs()[row.spec].nexthop;
          if (nexthop.value() == 0 || !ids.contains(nexthop)) continue;
          fib.routes.erase(side, row.key);
          --left;
          visit(row.key, side, row.spec);
        }
      }
    }
  }
}

}  // namespace waypost::kernel_sync
