#include "kernel_sync/desired.h"

#include "model/row_codec.h"

namespace waypost::kernel_sync {

Status DesiredReader::load(const store::ReadView& view) {
  fib_.desired.clear();
  fib_.routes.clear(Side::kDesired);
  fib_.scratch.clear();
  remembered_ = {};
  ++fib_.epoch;
  Status status;
  view.scan_nexthops({}, [&](std::string_view key, std::string_view value) {
    const std::optional<NexthopId> id = decode_nexthop_key(key);
    status = id ? nexthop(*id, value)
                : Status(Error{ErrorCode::kCorruption, "a nexthop key of the store makes no sense"});
    return status.ok();
  });
  if (!status.ok()) return status;
  view.scan_routes({}, [&](std::string_view key_bytes, std::string_view value) {
    const std::optional<RouteKey> key = decode_route_key(key_bytes);
    if (!key) {
      status = Error{ErrorCode::kCorruption, "a route key of the store makes no sense"};
      return false;
    }
    const Result<SpecId> id = spec(*key, value);
    if (id.ok()) {
      fib_.routes.put(Side::kDesired, *key, *id);
    } else {
      status = id.error();
    }
    return status.ok();
  });
  remembered_ = {};
  return status;
}

Status DesiredReader::apply(const ChangeSet& changes) {
  for (const Change& change : changes.changes) {
    if (change.table == DataTable::kRoute) {
      if (Status status = route(change); !status.ok()) return status;
      continue;
    }
    const std::optional<NexthopId> id = decode_nexthop_key(change.key);
    if (!id) return Error{ErrorCode::kCorruption, "a changed nexthop's key makes no sense"};
    fib_.nexthop_failures.erase(*id);
    if (!change.new_value.empty()) {
      if (Status status = nexthop(*id, change.new_value); !status.ok()) return status;
      continue;
    }
    fib_.desired.erase(*id);
    ++fib_.epoch;
    work_.nexthops.insert(*id);
  }
  remembered_ = {};  // specs may go once nothing uses them
  return {};
}

Status DesiredReader::nexthop(NexthopId id, std::string_view value) {
  Result<NexthopObject> object = decode_nexthop_value(id, value);
  if (!object.ok()) return object.error();
  const uint32_t device = object->is_group() ? 0 : fib_.devices.intern(object->nexthop().device);
  fib_.desired.put(*object, device);
  ++fib_.epoch;
  work_.unresolved.insert(id);
  return {};
}

Result<SpecId> DesiredReader::spec(const RouteKey& key, std::string_view value) {
  Remembered& slot = remembered_[std::hash<std::string_view>()(value) % remembered_.size()];
  if (slot.spec != kNoSpec && slot.value == value) return slot.spec;
  const Result<Route> route = decode_route_value(key, value);
  if (!route.ok()) return route.error();
  slot.value = value;
  slot.spec = fib_.desired_spec(*route);
  return slot.spec;
}

Status DesiredReader::route(const Change& change) {
  const std::optional<RouteKey> key = decode_route_key(change.key);
  if (!key) return Error{ErrorCode::kCorruption, "a changed route's key makes no sense"};
  fib_.route_failures.erase(*key);
  if (change.new_value.empty()) {
    fib_.routes.erase(Side::kDesired, *key);
    fib_.routes.release(*key);  // that it goes is said by the store itself
    work_.touch_down(*key);
    return {};
  }
  const Result<SpecId> id = spec(*key, change.new_value);
  if (!id.ok()) return id.error();
  fib_.routes.put(Side::kDesired, *key, *id);
  work_.touch(*key);
  return {};
}

}  // namespace waypost::kernel_sync
