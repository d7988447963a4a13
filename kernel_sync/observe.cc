#include "kernel_sync/observe.h"

#include <functional>

namespace waypost::kernel_sync {
namespace {

// A dump torn by changes is taken again at once, this often.
constexpr int kTornDumps = 5;
// Of many missing rows this many are asked for: where one of them is there, the dump was short.
constexpr size_t kSamples = 64;
// Events are taken after this many rows of a dump, before their queue is full (KERNEL.md K16).
constexpr size_t kListenEvery = 1'024;

Error failed(const std::string& what, DumpOutcome outcome) {
  return Error{ErrorCode::kUnavailable, outcome == DumpOutcome::kInterrupted
                                            ? "the dump of " + what + " was torn by changes five times"
                                            : "the dump of " + what + " failed"};
}

}  // namespace

Observation Observer::look() {
  seen_ = {};
  seen_.status = nexthops();
  for (Family family : {Family::kIpv4, Family::kIpv6})
    if (seen_.status.ok()) seen_.status = routes(family);
  return seen_;
}

Observation Observer::look_at_nexthops() {
  seen_ = {};
  seen_.status = nexthops();
  return seen_;
}

Status Observer::nexthops() {
  IdSet shown;
  DumpOutcome outcome = DumpOutcome::kFailed;
  for (int attempt = 0; attempt < kTornDumps && outcome != DumpOutcome::kComplete; ++attempt) {
    shown.clear();
    outcome = kernel_.dump_nexthops([&](const KernelNexthop& found) {
      const NexthopId id = found.object.id;
      shown.insert(id);
      const NexthopTable::Row* row = fib_.installed.find(id);
      if (row != nullptr && same_in_kernel(found, fib_.found(id, *row))) return;
      if (row != nullptr && row->ours) ++seen_.nexthops.different;
      if (row == nullptr && fib_.is_ours(found.object.protocol)) ++seen_.nexthops.extra;
      learner_.nexthop(found);
    });
  }
  if (outcome != DumpOutcome::kComplete) return failed("nexthops", outcome);
  std::vector<NexthopId> missing;
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, const NexthopTable::Row&) {
    if (!shown.contains(id)) missing.push_back(id);
    return true;
  });
  // Many at once have gone, or the dump was short: a sample tells.
  const size_t step = missing.size() > limits::kMaxConfirmingGets ? missing.size() / kSamples : 1;
  std::vector<NexthopId> gone;
  for (size_t index = 0; index < missing.size(); index += step) {
    Result<std::optional<KernelNexthop>> asked = kernel_.get_nexthop(missing[index]);
    if (!asked.ok()) return asked.error();
    if (!*asked) {
      gone.push_back(missing[index]);
      continue;
    }
    ++seen_.false_missing;
    if (step > 1) return failed("nexthops", DumpOutcome::kFailed);
    learner_.nexthop(**asked);
  }
  for (NexthopId id : step > 1 ? missing : gone) {
    const NexthopTable::Row* row = fib_.installed.find(id);
    if (row != nullptr && row->ours) ++seen_.nexthops.missing;
    learner_.nexthop_gone(id);
  }
  return {};
}

Status Observer::dump_routes(Family family) {
  DumpOutcome outcome = DumpOutcome::kFailed;
  for (int attempt = 0; attempt < kTornDumps && outcome != DumpOutcome::kComplete; ++attempt) {
    fib_.routes.clear(Side::kObserved);
    fib_.routes.clear(Side::kObservedForeign);
    listen_(heard_);  // of before
    heard_ = {};
    twins_.clear();
    size_t rows = 0;
    outcome = kernel_.dump_routes(family, std::nullopt, [&](const KernelRoute& found) {
      if (++rows % kListenEvery == 0) listen_(heard_);
      if (!Learner::concerns_us(found)) return;
      const Side side = fib_.is_ours(found.route.protocol) ? Side::kObserved : Side::kObservedForeign;
      const RouteKey& key = found.route.key;
      const SpecId spec = learner_.spec_of(found);
      const SpecId before = fib_.routes.find(side, key);
      if (before == kNoSpec) {
        fib_.routes.put(side, key, spec);
      } else if (side == Side::kObserved) {
        // A second row of ours under one key (KERNEL.md K11): the kernel uses the first.
        twins_.emplace_back(key, spec);
      }
    });
    listen_(heard_);
    if (outcome == DumpOutcome::kComplete && heard_.too_much) outcome = DumpOutcome::kInterrupted;
  }
  if (outcome != DumpOutcome::kComplete) return failed("routes", outcome);
  // While a table changes a dump of it may show one row twice.
  if (heard_.routes.empty())
    for (const auto& [key, spec] : twins_) learner_.twin(key, spec);
  return {};
}

Status Observer::routes(Family family) {
  Status status = dump_routes(family);
  std::vector<RouteTables::Difference> rows;
  for (auto [kept, shown] :
       {std::pair(Side::kOurs, Side::kObserved), std::pair(Side::kForeign, Side::kObservedForeign)}) {
    std::vector<RouteKey> missing;
    for (const TableKey& table : fib_.routes.tables()) {
      std::optional<Prefix> after;
      for (bool more = status.ok() && table.family == family; more;) {
        rows.clear();
        more = fib_.routes.diff(kept, shown, table, &after, 4'096, &rows);
        for (const RouteTables::Difference& row : rows) {
          if (heard_.routes.count(row.key) != 0) continue;
          if (row.right == kNoSpec) {
            missing.push_back(row.key);
            continue;
          }
          if (kept == Side::kOurs) ++(row.left == kNoSpec ? seen_.routes.extra : seen_.routes.different);
          kept == Side::kOurs ? learner_.ours(row.key, row.right) : learner_.foreign(row.key, row.right);
        }
      }
    }
    bool short_dump = false;
    if (status.ok()) status = missing_routes(kept, missing, &short_dump);
    if (short_dump) status = failed("routes", DumpOutcome::kFailed);
  }
  fib_.routes.clear(Side::kObserved);
  fib_.routes.clear(Side::kObservedForeign);
  return status;
}

// Asks whether it is really gone. A key that the dump showed in other hands is asked for with its owner.
bool Observer::confirm(Side side, const RouteKey& key, Status* status) {
  const Side other = side == Side::kOurs ? Side::kObservedForeign : Side::kObserved;
  if (fib_.routes.find(other, key) == kNoSpec) {
    const Result<bool> taken = kernel_.has_route(key);
    if (!taken.ok()) *status = taken.error();
    return taken.ok() && !*taken;
  }
  Result<std::optional<KernelRoute>> asked = kernel_.get_route(key);
  if (!asked.ok()) {
    *status = asked.error();
    return false;
  }
  const bool wants_ours = side == Side::kOurs;
  return !*asked || fib_.is_ours((*asked)->route.protocol) != wants_ours;
}

Status Observer::missing_routes(Side side, const std::vector<RouteKey>& keys, bool* short_dump) {
  // IPv4 rows of others are all asked for: what they use must never be taken for unused (SEMANTICS.md B5).
  // For an IPv6 one that is gone the kernel writes a line into its log.
  const bool each = side == Side::kForeign && !keys.empty() && keys.front().prefix.family() == Family::kIpv4;
  const size_t step = !each && keys.size() > limits::kMaxConfirmingGets ? keys.size() / kSamples : 1;
  std::vector<RouteKey> gone;
  Status status;
  for (size_t index = 0; index < keys.size(); index += step) {
    const bool really = confirm(side, keys[index], &status);
    if (!status.ok()) return status;
    if (really) {
      gone.push_back(keys[index]);
      continue;
    }
    ++seen_.false_missing;
    if (step > 1) {
      *short_dump = true;
      return {};
    }
  }
  for (const RouteKey& key : step > 1 ? keys : gone) {
    if (side == Side::kOurs) ++seen_.routes.missing;
    learner_.gone(side, key);
  }
  return {};
}

}  // namespace waypost::kernel_sync
