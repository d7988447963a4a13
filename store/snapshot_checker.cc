#include "store/snapshot_checker.h"

#include "model/bytes.h"
#include "model/row_codec.h"
#include "store/keys.h"

namespace waypost::store {
namespace {

constexpr size_t kUsersBytes = 40;

// hash * count modulo 2^128.
Hash128 times(const Hash128& hash, uint64_t count) {
  __extension__ using Wide = unsigned __int128;  // of GCC and Clang, not of the standard
  const Wide product = ((static_cast<Wide>(hash.high) << 64) | hash.low) * count;
  return {.high = static_cast<uint64_t>(product >> 64), .low = static_cast<uint64_t>(product)};
}

}  // namespace

// Each count of a users row is worth its own hash, times the count.
void SnapshotChecker::count_user(NexthopId id, Users users, bool derived) {
  Hash128& side = derived ? users_.present : users_.wanted;
  std::string key = nexthop_key(id);
  key.push_back('\0');
  for (uint64_t count :
       {users.ipv4_routes, users.ipv6_routes, users.link_scope, users.host_scope, users.groups}) {
    ++key.back();
    if (count != 0) side += times(hash128(key), count);
  }
}

std::string SnapshotChecker::add_nexthop(std::string_view key, std::string_view value) {
  const auto id = decode_nexthop_key(key);
  if (!id) return "a nexthop's key follows no known form";
  const auto object = decode_nexthop_value(*id, value);
  if (!object.ok()) return object.error().message;
  if (is_interned(*id)) {
    ++counts_.interned;
    contents_.wanted += hash128(content_key(hash128(value), *id));
  } else {
    ++counts_.nexthops;
    counts_.groups += object->is_group() ? 1 : 0;
  }
  if (!object->is_group()) return {};
  for (const GroupMember& member : object->group().members) {
    memberships_.wanted += hash128(membership_key(member.id, *id));
    count_user(member.id, {.groups = 1}, false);
  }
  return {};
}

std::string SnapshotChecker::add_route(std::string_view bytes, std::string_view value) {
  const auto key = decode_route_key(bytes);
  if (!key) return "a route's key follows no known form";
  const auto route = decode_route_value(*key, value);
  if (!route.ok()) return route.error().message;
  ++counts_.routes;
  if (route->nexthop == NexthopId()) return {};
  route_index_.wanted += hash128(route_index_key(route->nexthop, bytes));
  Users users;
  users.count_route(key->prefix.family(), route->scope, 1);
  count_user(route->nexthop, users, false);
  return {};
}

std::string SnapshotChecker::add(Table table, std::string_view key, std::string_view value) {
  ++rows_;
  if (is_data(table)) data_ += row_digest(table, key, value);
  if (is_control(table)) control_ += row_digest(table, key, value);
  switch (table) {
    case Table::kNexthop:
      return add_nexthop(key, value);
    case Table::kRoute:
      return add_route(key, value);
    case Table::kMembership:
      memberships_.present += hash128(key);
      return {};
    case Table::kRouteByNexthop:
      route_index_.present += hash128(key);
      return {};
    case Table::kNexthopByContent:
      contents_.present += hash128(key);
      return {};
    case Table::kNexthopUsers: {
      const auto id = decode_nexthop_key(key);
      if (!id || value.size() != kUsersBytes) return "a users row follows no known form";
      count_user(*id, decode_users(value), true);
      return {};
    }
    case Table::kSession:
    case Table::kControl:
      return {};
    default:
      return "a table that does not travel";
  }
}

std::string SnapshotChecker::finish(const StateRow& header) const {
  if (data_ != header.stamp.data_digest) return "the data digest does not agree with the rows";
  if (control_ != header.stamp.control_digest) return "the control digest does not agree with the rows";
  if (!memberships_.equal()) return "the membership index does not agree with the groups";
  if (!route_index_.equal()) return "the route index does not agree with the routes";
  if (!contents_.equal()) return "the content index does not agree with the interned nexthops";
  if (!users_.equal()) return "the counts of users do not agree with routes and groups";
  if (counts_.nexthops != header.counts.nexthops || counts_.groups != header.counts.groups ||
      counts_.interned != header.counts.interned || counts_.routes != header.counts.routes)
    return "the numbers of rows do not agree with the header";
  return {};
}

}  // namespace waypost::store
