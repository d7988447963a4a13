#include "kernel_sync/learn.h"

#include "kernel_sync/plan.h"

namespace waypost::kernel_sync {
namespace {

std::string name_of(NexthopId id) {
  return "nexthop " + std::to_string(id.value());
}

bool is_connected(const RouteKey& key, const RouteSpec& spec) {
  return key.table == kMainTable && spec.type == RouteType::kUnicast && !spec.gateway &&
         (spec.ifindex != 0 || spec.nexthop.value() != 0);
}

}  // namespace

bool Learner::concerns_us(const KernelRoute& route) {
  if (route.route.key.table == kLocalTable) return false;
  return is_known(route.route.type);
}

SpecId Learner::spec_of(const KernelRoute& route) {
  const SpecId id = fib_.kernel_spec(route);
  return fib_.is_ours(route.route.protocol) ? fib_.as_the_kernel_shows(id) : id;
}

template <typename Key>
void put_off(Fib& fib, Failures<Key>& failures, Repairs<Key>& repairs, const Key& key, uint64_t now_ms) {
  const uint64_t delay_ms = repairs.delay_ms(key, now_ms);
  if (delay_ms == 0) return;
  Failure* failure = failures.note(key);
  if (failure == nullptr) return;
  *failure = Failure{.state = RowState::kConflict, .settled = true, .put_off = true};
  failure->words = fib.words.intern("another process keeps changing it; repairs are put off");
  failures.set_retry(*failure, now_ms + delay_ms);
}

void Learner::count_drift(const RouteKey& key) {
  ++drift.routes;
  if (fib_.routes.find(Side::kDesired, key) == kNoSpec) return;
  if (fib_.watched_routes.size() < limits::kMaxWatchedRepairs) fib_.watched_routes.insert(key);
  put_off(fib_, fib_.route_failures, fib_.route_repairs, key, now_ms_);
}

void Learner::count_drift(NexthopId id) {
  ++drift.nexthops;
  if (fib_.desired.find(id) == nullptr) return;
  if (fib_.watched_nexthops.size() < limits::kMaxWatchedRepairs) fib_.watched_nexthops.insert(id);
  put_off(fib_, fib_.nexthop_failures, fib_.nexthop_repairs, id, now_ms_);
}

void Learner::nexthop(const KernelNexthop& found) {
  const NexthopId id = found.object.id;
  let_go_members(id);
  NexthopTable::Row* row = &fib_.installed.put(found.object, found.ifindex);
  const bool was_foreign = !row->ours;
  row->ours = fib_.is_ours(found.object.protocol);
  NexthopTable::Row* wanted = fib_.desired.find(id);
  if (hold_ && wanted == nullptr && row->ours && !is_scratch(id)) row->held = 1;
  if (!row->ours || was_foreign) work_.kept.erase(id);
  work_.unresolved.insert(id);
}

void Learner::let_go_members(NexthopId id) {
  const NexthopTable::Row* row = fib_.installed.find(id);
  if (row == nullptr || row->ours || !row->group) return;
  for (const GroupMember& member : fib_.installed.group(*row).members) let_go(member.id);
}

void Learner::lost_nexthop(NexthopId id) {
  let_go_members(id);
  IdSet gone;
  kernel_sync::nexthop_gone(fib_, work_, id, &gone);
  routes_gone(fib_, gone, [&](const RouteKey& key, Side side, SpecId) {
    if (side == Side::kOurs) ++drift.routes;
    fib_.watched_routes.erase(key);
    fib_.routes.release(key);
  });
}

void Learner::nexthop_gone(NexthopId id) {
  const NexthopTable::Row* row = fib_.installed.find(id);
  if (row == nullptr) return;
  if (row->ours) ++drift.nexthops;
  if (mutant("silent_cascade_ignored")) {
    // The planted bug: believes that routes go only when the kernel says so.
    fib_.installed.erase(id);
    if (NexthopTable::Row* wanted = fib_.desired.find(id)) fib_.set_realized(*wanted, false);
    work_.unresolved.insert(id);
    return;
  }
  lost_nexthop(id);
}

void Learner::ours(const RouteKey& key, SpecId spec) {
  const SpecId before = fib_.routes.put(Side::kOurs, key, spec);
  if (before == spec) return;
  if (hold_ && before == kNoSpec && fib_.routes.find(Side::kDesired, key) == kNoSpec) fib_.routes.hold(key);
  work_.touch(key);
}

void Learner::foreign(const RouteKey& key, SpecId spec) {
  const SpecId before = fib_.routes.put(Side::kForeign, key, spec);
  if (before == spec) return;
  if (is_connected(key, fib_.routes.specs()[spec])) connected_changed = true;
  if (before != kNoSpec) let_go(fib_.routes.specs()[before].nexthop);
}

// An object that stayed only for another owner may go now; the planner looks whether it still has to stay.
void Learner::let_go(NexthopId id) {
  if (!work_.kept.erase(id)) return;
  work_.unresolved.insert(id);
  const NexthopTable::Row* row = fib_.installed.find(id);
  if (row == nullptr || !row->group) return;
  for (const GroupMember& member : fib_.installed.group(*row).members) let_go(member.id);
}

void Learner::gone(Side side, const RouteKey& key) {
  const SpecId before = fib_.routes.erase(side, key);
  if (before == kNoSpec) return;
  const RouteSpec spec = fib_.routes.specs()[before];
  if (side == Side::kOurs) {
    fib_.routes.release(key);
    work_.touch(key);
    return;
  }
  if (is_connected(key, spec)) connected_changed = true;
  // What it stood in the way of, and what it held.
  if (fib_.routes.find(Side::kDesired, key) != kNoSpec) {
    fib_.route_failures.erase(key);
    work_.touch(key);
  }
  let_go(spec.nexthop);
}

void Learner::route(const RouteKey& key, const std::optional<KernelRoute>& found,
                    const std::optional<RouteSpec>& shown) {
  if (!found || !concerns_us(*found)) {
    gone(Side::kOurs, key);
    gone(Side::kForeign, key);
    work_.touch(key);
    return;
  }
  const SpecId spec = spec_of(*found);
  if (!fib_.is_ours(found->route.protocol)) {
    foreign(key, spec);
    if (fib_.routes.find(Side::kOurs, key) != kNoSpec) count_drift(key);
    gone(Side::kOurs, key);
    fib_.route_failures.erase(key);
    work_.touch(key);
    return;
  }
  const SpecId before = fib_.routes.find(Side::kOurs, key);
  if (shown && before == spec && !(fib_.routes.specs()[spec] == *shown)) {
    // The first row is still ours as it was: what was shown stands behind it.
    work_.twins[key].push_back(*shown);
    count_drift(key);
    return;
  }
  if (const Failure* failure = fib_.route_failures.find(key); failure != nullptr && !failure->put_off)
    fib_.route_failures.erase(key);
  if (before != kNoSpec && before != spec) count_drift(key);
  ours(key, spec);
  work_.touch(key);
}

void Learner::event(const NexthopEvent& event) {
  const NexthopId id = event.nexthop.object.id;
  const NexthopTable::Row* row = fib_.installed.find(id);
  if (event.deleted) {
    if (row == nullptr) return;
    if (!row->ours) return nexthop_gone(id);
    drift.cause = name_of(id) + " deleted by another process";
    nexthop_gone(id);
    --drift.nexthops;
    return count_drift(id);
  }
  if (row != nullptr && same_in_kernel(event.nexthop, fib_.found(id, *row))) return;
  if (row != nullptr && row->ours) {
    count_drift(id);
    drift.cause = name_of(id) + " changed by another process";
  }
  nexthop(event.nexthop);
}

void Learner::event(const RouteEvent& event) {
  if (!concerns_us(event.route)) return;
  const RouteKey& key = event.route.route.key;
  const SpecId spec = spec_of(event.route);
  const Side side = fib_.is_ours(event.route.route.protocol) ? Side::kOurs : Side::kForeign;
  const SpecId known = fib_.routes.find(side, key);
  if (event.deleted) {
    if (known == kNoSpec) return;
    if (side == Side::kForeign) return gone(side, key);
    if (known != spec) {
      questions_.routes.emplace(key, std::nullopt);
      return;
    }
    drift.cause = "route " + to_string(key) + " deleted";
    gone(side, key);
    return count_drift(key);
  }
  if (known == spec) return;
  if (side == Side::kForeign) {
    foreign(key, spec);
    // It may have replaced ours, or stand beside it.
    if (fib_.routes.find(Side::kOurs, key) == kNoSpec) return;
  }
  drift.cause = "route " + to_string(key) + " changed by another process";
  questions_.routes[key] = side == Side::kOurs ? std::optional(fib_.routes.specs()[spec]) : std::nullopt;
}

}  // namespace waypost::kernel_sync
