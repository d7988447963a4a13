// The planner's routes: going up by key and by scan, coming down by key, by scan, or with the object they
// share.

#include <algorithm>

#include "kernel_sync/planner.h"

namespace waypost::kernel_sync {
namespace {

constexpr size_t kScanChunk = 4'096;

// Costs in nanoseconds (KERNEL.md, "What it costs"; they set a choice, not a promise): a delete by message,
// the look at one route of a dump, and the kernel's own walk past or over a route when an object goes.
constexpr uint64_t kDeleteNs = 11'000;
constexpr uint64_t kDumpNs = 1'000;
constexpr uint64_t kFlushNs = 700;
// Below this many routes a message each is quick enough, and no dump is worth it.
constexpr uint64_t kCascadeFrom = 8'192;

DeleteKernelRoute narrow_delete(const RouteKey& key, const RouteSpec& spec) {
  DeleteKernelRoute step;
  step.key = key;
  // Over a blackhole nexthop the kernel takes the type for another than was asked for.
  if (spec.nexthop.value() == 0) step.type = spec.type;
  step.protocol = spec.protocol;
  step.nexthop = spec.nexthop;
  return step;
}

}  // namespace

Fib::Target Planner::target_of(const RouteKey& key, SpecId desired) {
  if (desired == kNoSpec) return {Fib::TargetKind::kAbsent, kNoSpec};
  if (const Failure* failure = fib_.route_failures.find(key)) {
    if (failure->retry_at_ms > limits_.now_ms && !failure->deletion)
      return {failure->settled && !failure->put_off ? Fib::TargetKind::kAbsent : Fib::TargetKind::kWait,
              kNoSpec};
  }
  return fib_.target(desired, key.table);
}

void Planner::look_up_at(const RouteKey& key) {
  const SpecId desired = fib_.routes.find(Side::kDesired, key);
  const SpecId ours = fib_.routes.find(Side::kOurs, key);
  const Fib::Target target = target_of(key, desired);
  if (target.kind != Fib::TargetKind::kPut) {
    // What was refused once and is not to be tried again is no failure: its nexthop says why.
    const Failure* failure = fib_.route_failures.find(key);
    if (failure != nullptr && !failure->settled && !failure->deletion) fib_.route_failures.erase(key);
  }
  if (target.kind == Fib::TargetKind::kWait) return;
  if (target.kind == Fib::TargetKind::kAbsent) {
    if (ours != kNoSpec) work_.touch_down(key);
    return;
  }
  fib_.routes.release(key);
  if (target.spec == ours) {
    if (tried_routes_.count(key) == 0) fib_.route_failures.erase(key);
    return;
  }
  const SpecId foreign = ours == kNoSpec ? fib_.routes.find(Side::kForeign, key) : kNoSpec;
  if (foreign != kNoSpec) {
    // Another owner has the key: reported, never overwritten (KERNEL.md K7). An event of that route brings us
    // back.
    if (Failure* failure = fib_.route_failures.note(key)) {
      *failure = Failure{.state = RowState::kConflict, .settled = true, .retry_at_ms = UINT64_MAX};
      failure->words = fib_.words.intern(
          "route of proto " + std::to_string(fib_.routes.specs()[foreign].protocol) + " in the way");
    }
    return;
  }
  put_route(key, ours, target.spec);
}

void Planner::look_down_at(const RouteKey& key) {
  const SpecId ours = fib_.routes.find(Side::kOurs, key);
  if (ours == kNoSpec || fib_.routes.held(key)) return;
  const Failure* failure = fib_.route_failures.find(key);
  if (failure != nullptr && failure->deletion && failure->retry_at_ms > limits_.now_ms) return;
  if (target_of(key, fib_.routes.find(Side::kDesired, key)).kind == Fib::TargetKind::kAbsent)
    delete_route(key, ours);
}

void Planner::put_route(const RouteKey& key, SpecId before, SpecId after) {
  PutKernelRoute put;
  put.route.route = fib_.route(key, after);
  put.exclusive = before == kNoSpec;
  if (fib_.route_failures.find(key) != nullptr) tried_routes_.insert(key);
  if (before != kNoSpec && fib_.routes.specs()[before].nexthop != put.route.route.nexthop)
    being_left_.insert(fib_.routes.specs()[before].nexthop);
  plan_.steps.emplace_back(std::move(put));
  plan_.origins.push_back({.before = before, .after = after});
  fib_.routes.put(Side::kOurs, key, after);
}

void Planner::delete_route(const RouteKey& key, SpecId before) {
  // As narrow as the kernel lets it be: what is not as we made it is not ours to delete.
  const RouteSpec& spec = fib_.routes.specs()[before];
  DeleteKernelRoute step = narrow_delete(key, spec);
  plan_.steps.emplace_back(std::move(step));
  plan_.origins.push_back({.before = before});
  fib_.routes.erase(Side::kOurs, key);
}

void Planner::routes_up() {
  // Routes over objects that are about to go or to change their kind.
  while (!work_.user_scans.empty() && !full()) {
    auto scan = work_.user_scans.begin();
    rows_.clear();
    const bool more = fib_.routes.walk(Side::kOurs, scan->first, &scan->second, kScanChunk, &rows_);
    for (const RouteTables::Row& row : rows_)
      if (work_.user_ids.contains(fib_.routes.specs()[row.spec].nexthop)) {
        const SpecId desired = fib_.routes.find(Side::kDesired, row.key);
        // What has to go waits for its object: it may go with it (KERNEL.md K10).
        if (target_of(row.key, desired).kind == Fib::TargetKind::kPut) look_up_at(row.key);
      }
    if (!more) work_.user_scans.erase(scan);
  }
  if (work_.user_scans.empty()) work_.user_ids.clear();
  while (!work_.up_routes.empty() && !full()) {
    const RouteKey key = *work_.up_routes.begin();
    work_.up_routes.erase(work_.up_routes.begin());
    look_up_at(key);
  }
  while (!work_.up_scans.empty() && !full()) {
    auto scan = work_.up_scans.begin();
    const size_t room = std::min(kScanChunk, limits_.max_steps - plan_.steps.size());
    differences_.clear();
    const bool more =
        fib_.routes.diff(Side::kDesired, Side::kOurs, scan->first, &scan->second, room, &differences_);
    for (const RouteTables::Difference& difference : differences_)
      if (difference.left != kNoSpec) look_up_at(difference.key);
    if (!more) work_.up_scans.erase(scan);
  }
}

void Planner::routes_down() {
  cascades();
  if (!work_.cascades_asked.empty()) {
    plan_.waits_for_dump = true;
    return;
  }
  clean_twins();
  while (!work_.down_routes.empty() && !full()) {
    const RouteKey key = *work_.down_routes.begin();
    work_.down_routes.erase(work_.down_routes.begin());
    look_down_at(key);
  }
  while (!work_.down_scans.empty() && !full()) {
    auto scan = work_.down_scans.begin();
    const size_t room = std::min(kScanChunk, limits_.max_steps - plan_.steps.size());
    differences_.clear();
    const bool more =
        fib_.routes.diff(Side::kDesired, Side::kOurs, scan->first, &scan->second, room, &differences_);
    for (const RouteTables::Difference& difference : differences_)
      if (difference.right != kNoSpec) look_down_at(difference.key);
    if (!more) work_.down_scans.erase(scan);
  }
  if (!full()) users_down();
}

bool Planner::cascade_is_cheaper(NexthopId id) const {
  const uint64_t users = fib_.routes.specs().users(id, Side::kOurs).total();
  if (users < kCascadeFrom) return false;
  const uint64_t all = fib_.routes.count(Side::kOurs) + fib_.routes.count(Side::kForeign);
  return all * kDumpNs + all * kFlushNs < users * kDeleteNs;
}

// Routes that only wait to move (put off, refused once) must not go with the object.
bool Planner::cascade_takes_only_unwanted(NexthopId id) const {
  Planner& self = const_cast<Planner&>(*this);  // targets are remembered on the way
  std::vector<RouteTables::Row> rows;
  for (const TableKey& table : fib_.routes.tables()) {
    std::optional<Prefix> after;
    for (bool more = true; more;) {
      rows.clear();
      more = fib_.routes.walk(Side::kOurs, table, &after, kScanChunk, &rows);
      for (const RouteTables::Row& row : rows) {
        if (fib_.routes.specs()[row.spec].nexthop != id) continue;
        const SpecId desired = fib_.routes.find(Side::kDesired, row.key);
        if (self.target_of(row.key, desired).kind != Fib::TargetKind::kAbsent) return false;
      }
    }
  }
  return true;
}

void Planner::cascades() {
  if (fib_.routes.held_count() != 0) return;  // nothing goes unproven
  for (std::optional<NexthopId> id = work_.leaving_used.first(); id && !full();
       id = work_.leaving_used.after(*id)) {
    const NexthopTable::Row* there = fib_.installed.find(*id);
    if (there == nullptr || !there->ours || there->held || !cascade_is_cheaper(*id)) continue;
    if (fib_.has_foreign_user(*id) || fib_.installed.in_a_group(*id)) continue;
    if (work_.cascades_refused.contains(*id)) continue;
    if (!work_.cascades_confirmed.contains(*id)) {
      work_.cascades_asked.insert(*id);
      continue;
    }
    if (being_left_.contains(*id) || !cascade_takes_only_unwanted(*id)) continue;
    IdSet gone;
    delete_nexthop(*id, *id);
    gone.insert(*id);
    routes_gone(fib_, gone, [](const RouteKey&, Side, SpecId) {});
  }
}

// What is left on objects that go, a message each.
void Planner::users_down() {
  IdSet ids;
  for (std::optional<NexthopId> id = work_.leaving_used.first(); id;) {
    const std::optional<NexthopId> next = work_.leaving_used.after(*id);
    if (fib_.routes.specs().users(*id, Side::kOurs).total() != 0) {
      ids.insert(*id);
    } else {
      work_.leaving_used.erase(*id);
    }
    id = next;
  }
  if (ids.empty()) return;
  std::vector<RouteTables::Row> rows;
  for (const TableKey& table : fib_.routes.tables()) {
    std::optional<Prefix> after;
    for (bool more = true; more && !full();) {
      rows.clear();
      more = fib_.routes.walk(Side::kOurs, table, &after, kScanChunk, &rows);
      for (const RouteTables::Row& row : rows)
        if (ids.contains(fib_.routes.specs()[row.spec].nexthop)) look_down_at(row.key);
    }
  }
}

// A row beside ours under one key. Where it equals ours either may go; the audit that follows sees what is
// left.
void Planner::clean_twins() {
  while (!work_.twins.empty() && !full()) {
    auto [key, specs] = *work_.twins.begin();
    work_.twins.erase(work_.twins.begin());
    for (const RouteSpec& spec : specs) {
      plan_.steps.emplace_back(narrow_delete(key, spec));
      plan_.origins.push_back({});
    }
  }
}

}  // namespace waypost::kernel_sync
