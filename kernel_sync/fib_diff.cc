#include "kernel_sync/fib_diff.h"

#include <map>

#include "kernel_sync/report.h"
#include "model/parse.h"

namespace waypost::kernel_sync {

Status FibDiff::run(const Visit& visit) {
  Status status;
  const bool whole = nexthops(visit, &status) && routes(Family::kIpv4, visit, &status) &&
                     routes(Family::kIpv6, visit, &status);
  (void)whole;
  fib_.routes.clear(Side::kObserved);
  return status;
}

bool FibDiff::nexthops(const Visit& visit, Status* status) {
  // Only what differs is kept: a million equal ones cost a bit each.
  IdSet equal;
  std::map<NexthopId, KernelNexthop> different;
  const DumpOutcome outcome = engine_.kernel().dump_nexthops([&](const KernelNexthop& found) {
    const NexthopId id = found.object.id;
    const NexthopTable::Row* row = fib_.desired.find(id);
    const bool ours = fib_.is_ours(found.object.protocol);
    if (row == nullptr && !ours) return;
    if (row != nullptr && row->usable && !row->degraded && same_in_kernel(fib_.wanted(id, *row), found)) {
      equal.insert(id);
    } else {
      different.emplace(id, found);
    }
  });
  if (outcome != DumpOutcome::kComplete) {
    *status = Error{ErrorCode::kUnavailable, "the dump of nexthops did not complete", "try again"};
    return false;
  }
  fib_.desired.walk(NexthopId(0), [&](NexthopId id, const NexthopTable::Row&) {
    if (!equal.contains(id) && different.count(id) == 0) return nexthop(id, nullptr, visit);
    return true;
  });
  for (const auto& [id, found] : different)
    if (!nexthop(id, &found, visit)) return false;
  return true;
}

bool FibDiff::nexthop(NexthopId id, const KernelNexthop* found, const Visit& visit) {
  FibDifference line;
  line.row = report(fib_, id);
  const NexthopTable::Row* row = fib_.desired.find(id);
  if (row != nullptr) {
    NexthopObject wanted = fib_.desired.object(id, *row);
    wanted.protocol = fib_.protocol;
    if (!row->group) std::get<Nexthop>(wanted.body).device = fib_.devices[row->device];
    line.wanted = nexthop_words(wanted, NameTables::defaults());
  }
  if (found != nullptr) line.found = kernel_words(*found, engine_.host());
  using Kind = FibDifference::Kind;
  line.kind = found == nullptr ? Kind::kMissing : row == nullptr ? Kind::kExtra : Kind::kDifferent;
  return visit(line);
}

bool FibDiff::routes(Family family, const Visit& visit, Status* status) {
  fib_.routes.clear(Side::kObserved);
  const DumpOutcome outcome =
      engine_.kernel().dump_routes(family, std::nullopt, [&](const KernelRoute& found) {
        if (!Learner::concerns_us(found)) return;
        const RouteKey& key = found.route.key;
        if (!fib_.is_ours(found.route.protocol) && fib_.routes.find(Side::kDesired, key) == kNoSpec) return;
        if (fib_.routes.find(Side::kObserved, key) == kNoSpec)
          fib_.routes.put(Side::kObserved, key, learner_.spec_of(found));
      });
  if (outcome != DumpOutcome::kComplete) {
    *status = Error{ErrorCode::kUnavailable, "the dump of routes did not complete", "try again"};
    return false;
  }
  std::vector<RouteTables::Difference> rows;
  for (const TableKey& table : fib_.routes.tables()) {
    std::optional<Prefix> after;
    for (bool more = table.family == family; more;) {
      rows.clear();
      more = fib_.routes.diff(Side::kDesired, Side::kObserved, table, &after, 4'096, &rows);
      for (const RouteTables::Difference& row : rows)
        if (!route(row, visit)) return false;
    }
  }
  return true;
}

bool FibDiff::route(const RouteTables::Difference& row, const Visit& visit) {
  using Kind = FibDifference::Kind;
  FibDifference line;
  line.row = report(fib_, row.key);
  line.kind = row.right == kNoSpec ? Kind::kMissing : row.left == kNoSpec ? Kind::kExtra : Kind::kDifferent;
  if (row.left != kNoSpec)
    line.wanted = route_words(fib_.route(row.key, row.left), {}, NameTables::defaults());
  if (row.right != kNoSpec)
    line.found = route_words(fib_.route(row.key, row.right), {}, NameTables::defaults());
  return visit(line);
}

Result<FibGetReport> get_from_fib(Engine& engine, const store::Store& store, const IpAddress& address,
                                  TableId table) {
  FibGetReport out;
  const Fib& fib = engine.fib();
  const std::optional<RouteTables::Row> match =
      fib.routes.longest(Side::kDesired, table, address, [](SpecId) { return true; });
  if (match) {
    out.desired = store.view().route(match->key);  // as it was written, its own protocol included
    if (!out.desired) out.desired = fib.route(match->key, match->spec);
    const RowReport row = report(fib, match->key);
    out.desired_state = row.state;
    out.reason = row.reason;
  }
  Result<std::optional<KernelRoute>> found = engine.kernel().match_route(address, table);
  if (!found.ok()) return found.error();
  out.kernel = *found;
  if (!out.kernel) return out;
  uint32_t ifindex = out.kernel->paths.empty() ? 0 : out.kernel->paths[0].ifindex;
  NexthopId id = out.kernel->route.nexthop;
  for (int depth = 0; depth < 2 && ifindex == 0 && id.value() != 0; ++depth) {
    const NexthopTable::Row* row = fib.installed.find(id);
    if (row == nullptr) break;
    ifindex = row->device;
    id = row->group ? fib.installed.group(*row).members.front().id : NexthopId(0);
  }
  if (ifindex != 0) out.kernel_device = engine.host().name_of(ifindex);
  return out;
}

}  // namespace waypost::kernel_sync
