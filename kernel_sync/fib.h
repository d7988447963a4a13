// Both sides of the difference as one value: what the store wants, what the kernel holds, and how the one
// comes down to the other on this host. The planner, the events and the audits work on it; nothing here does
// I/O. The syncer's thread alone.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "kernel_sync/failures.h"
#include "kernel_sync/nexthop_table.h"
#include "kernel_sync/repairs.h"
#include "kernel_sync/route_tables.h"
#include "kernel_sync/status.h"
#include "model/mutant.h"

namespace waypost::kernel_sync {

struct Fib {
  // What we are.
  uint8_t protocol = 87;
  std::bitset<256> owners;  // protocol, and every number used before it (SEMANTICS.md B7)
  std::map<TableId, bool> unreachable_on_pending;
  Capabilities capabilities;
  int compat_mode = 1;

  RouteTables routes;
  DeviceNames devices;
  NexthopTable desired;
  NexthopTable installed;
  // Ids that change kind, and the scratch id that stands in for each meanwhile (SEMANTICS.md B6).
  std::unordered_map<NexthopId, NexthopId> scratch;
  Failures<RouteKey> route_failures;
  Failures<NexthopId> nexthop_failures;
  WordPool words;
  // What others keep undoing (repairs.h). Watched: lost to them, and counted when it is put back.
  std::set<RouteKey> watched_routes;
  IdSet watched_nexthops;
  Repairs<RouteKey> route_repairs;
  Repairs<NexthopId> nexthop_repairs;
  // Raised whenever a nexthop became realized or ceased to be: the targets of specs are remembered by it.
  uint64_t epoch = 1;

  bool is_ours(uint8_t owner) const { return owners.test(owner) || mutant("foreign_is_ours"); }
  RowState state(const NexthopTable::Row& row) const { return static_cast<RowState>(row.state); }

  // What the kernel should hold at this id. Precondition: a single nexthop, or a group with `members`.
  KernelNexthop wanted(NexthopId id, const NexthopTable::Row& row) const;
  KernelNexthop found(NexthopId id, const NexthopTable::Row& row) const;
  void set_realized(NexthopTable::Row& row, bool realized) {
    if (row.realized == realized) return;
    row.realized = realized;
    ++epoch;
  }

  // What a desired route comes down to now.
  enum class TargetKind : uint8_t { kAbsent = 0, kPut = 1, kWait = 2 };
  struct Target {
    TargetKind kind = TargetKind::kAbsent;
    SpecId spec = kNoSpec;  // kPut
  };
  Target target(SpecId desired, TableId table);
  Route route(const RouteKey& key, SpecId spec) const;
  // Of rows the store or a dump shows; protocol is ours for desired ones.
  SpecId desired_spec(const Route& route);
  SpecId kernel_spec(const KernelRoute& route);

  bool is_blackhole(NexthopId id) const;
  // A route over a blackhole nexthop reads back as a blackhole, whatever its type: one form for both.
  SpecId as_the_kernel_shows(SpecId id);

  // Another owner's routes or groups that use the object: words, or empty.
  std::string foreign_user(NexthopId id) const;
  bool has_foreign_user(NexthopId id) const;
  size_t bytes() const;

 private:
  Target compute_target(const RouteSpec& spec, SpecId id);
};

}  // namespace waypost::kernel_sync
