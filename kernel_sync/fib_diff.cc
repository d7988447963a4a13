#include "kernel_sync/fib_diff.h"

#include "kernel_sync/report.h"
#include "model/parse.h"

namespace waypost::kernel_sync {

Status FibDiff::run(uint64_t now_ms, const Visit& visit) {
  const Observation seen = engine_.look(now_ms, "fib diff");
  if (!seen.status.ok()) return seen.status;
  if (nexthops(visit)) routes(visit);
  return {};
}

bool FibDiff::nexthops(const Visit& visit) {
  bool more = true;
  fib_.desired.walk(NexthopId(0), [&](NexthopId id, const NexthopTable::Row& row) {
    const NexthopTable::Row* found = fib_.installed.find(id);
    const bool equal = found != nullptr && row.usable && !row.degraded &&
                       same_in_kernel(fib_.wanted(id, row), fib_.found(id, *found));
    if (!equal) more = nexthop(id, &row, found, visit);
    return more;
  });
  if (!more) return false;
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, const NexthopTable::Row& found) {
    if (found.ours && fib_.desired.find(id) == nullptr) more = nexthop(id, nullptr, &found, visit);
    return more;
  });
  return more;
}

bool FibDiff::nexthop(NexthopId id, const NexthopTable::Row* row, const NexthopTable::Row* found,
                      const Visit& visit) {
  FibDifference line;
  line.row = report(fib_, id);
  if (row != nullptr) {
    NexthopObject wanted = fib_.desired.object(id, *row);
    wanted.protocol = fib_.protocol;
    if (!row->group) std::get<Nexthop>(wanted.body).device = fib_.devices[row->device];
    line.wanted = nexthop_words(wanted, NameTables::defaults());
  }
  if (found != nullptr) line.found = kernel_words(fib_.found(id, *found), engine_.host());
  using Kind = FibDifference::Kind;
  line.kind = found == nullptr ? Kind::kMissing : row == nullptr ? Kind::kExtra : Kind::kDifferent;
  return visit(line);
}

void FibDiff::routes(const Visit& visit) {
  std::vector<RouteTables::Difference> rows;
  for (Family family : {Family::kIpv4, Family::kIpv6}) {
    for (const TableKey& table : fib_.routes.tables()) {
      std::optional<Prefix> after;
      for (bool more = table.family == family; more;) {
        rows.clear();
        more = fib_.routes.diff(Side::kDesired, Side::kOurs, table, &after, 4'096, &rows);
        for (RouteTables::Difference& row : rows) {
          // Another owner's route has the key.
          if (row.right == kNoSpec) row.right = fib_.routes.find(Side::kForeign, row.key);
          if (!route(row, visit)) return;
        }
      }
    }
  }
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
