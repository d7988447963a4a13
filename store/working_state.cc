#include "store/working_state.h"

#include <algorithm>

#include "model/bytes.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "store/keys.h"

namespace waypost::store {
namespace {

// A row that we wrote ourselves and that RocksDB's checksum let pass.
template <typename T>
T must_decode(Result<T> result) {
  WAYPOST_CHECK(result.ok(), "a stored row follows its grammar");
  return std::move(result).value();
}

// What remove_unused() takes for an interned object: itself and, of a group, members that nobody else uses.
size_t cost_of_release(const NexthopFacts& facts) {
  return 1 + facts.members;
}

}  // namespace

WorkingState::WorkingState(const TableReader& base) : overlay_(base), free_ids_(base) {}

void WorkingState::begin_entry(const Counts& counts) {
  overlay_.clear();
  counts_ = counts;
  free_from_ = 1;
  forget_cached();
}

void WorkingState::begin_transaction() {
  overlay_.begin_transaction();
  released_.clear();
  reserved_ = 0;
}

WorkingState::Mark WorkingState::mark() const {
  return {.undo = overlay_.mark(),
          .released = released_.size(),
          .reserved = reserved_,
          .free_from = free_from_,
          .counts = counts_};
}

void WorkingState::rollback(const Mark& mark) {
  const uint32_t tables = overlay_.rollback(mark.undo);
  released_.resize(mark.released);
  reserved_ = mark.reserved;
  counts_ = mark.counts;
  free_from_ = mark.free_from;
  if ((tables & 1u << index_of(Table::kNexthop)) != 0) forget_cached();
}

void WorkingState::forget_cached() {
  facts_.clear();
  intern_cache_.clear();
}

void WorkingState::committed() {
  overlay_.for_each_dirty(Table::kNexthop, [this](std::string_view key, const Overlay::Row& row) {
    const uint32_t id = decode_nexthop_key(key)->value();
    if (row.present && !row.base_present) free_ids_.added(id);
    if (!row.present && row.base_present) free_ids_.removed(id);
  });
}

void WorkingState::remove_unused() {
  // Removing a group releases its members, which are appended behind it.
  for (size_t i = 0; i < released_.size(); ++i) {
    const NexthopId id = released_[i];
    if (!users(id).none()) continue;
    if (const auto object = nexthop(id)) erase_nexthop(id);
  }
}

bool WorkingState::exists(NexthopId id) {
  key_.clear();
  append_nexthop_key(key_, id);
  return overlay_.get(Table::kNexthop, key_).has_value();
}

std::optional<NexthopObject> WorkingState::nexthop(NexthopId id) {
  key_.clear();
  append_nexthop_key(key_, id);
  const auto value = overlay_.get(Table::kNexthop, key_);
  if (!value) return std::nullopt;
  return must_decode(decode_nexthop_value(id, *value));
}

NexthopFacts WorkingState::facts_of_group(const NexthopGroup& group) {
  NexthopFacts facts;
  facts.group = true;
  facts.fdb = group.fdb;
  facts.type = group.type;
  facts.buckets = group.resilient.buckets;
  facts.members = static_cast<uint32_t>(group.members.size());
  for (const GroupMember& member : group.members) {
    const auto of_member = this->facts(member.id);
    WAYPOST_CHECK(of_member.has_value(), "a group's members exist");
    facts.has_ipv4 |= of_member->has_ipv4;
    facts.has_ipv6 |= of_member->has_ipv6;
    if (&member != &group.members.front()) continue;
    facts.has_gateway = of_member->has_gateway;
    facts.onlink = of_member->onlink;
  }
  return facts;
}

std::optional<NexthopFacts> WorkingState::facts(NexthopId id) {
  if (const auto found = facts_.find(id); found != facts_.end()) return found->second;
  const auto object = nexthop(id);
  std::optional<NexthopFacts> facts;
  if (object) facts = object->is_group() ? facts_of_group(object->group()) : facts_of(object->nexthop());
  facts_[id] = facts;
  return facts;
}

Users WorkingState::users(NexthopId id) {
  key_.clear();
  append_nexthop_key(key_, id);
  const auto value = overlay_.get(Table::kNexthopUsers, key_);
  return value ? decode_users(*value) : Users{};
}

void WorkingState::set_users(NexthopId id, const Users& users) {
  key_.clear();
  append_nexthop_key(key_, id);
  if (!users.none()) {
    overlay_.put(Table::kNexthopUsers, key_, encode(users));
    return;
  }
  overlay_.erase(Table::kNexthopUsers, key_);
  if (!is_interned(id)) return;
  released_.push_back(id);
  if (const auto facts = this->facts(id)) reserved_ += cost_of_release(*facts);
}

std::vector<NexthopId> WorkingState::groups_of(NexthopId member, size_t limit) const {
  std::vector<NexthopId> groups;
  const std::string prefix = nexthop_key(member);
  overlay_.scan(Table::kMembership, prefix, behind_prefix(prefix),
                [&](std::string_view key, std::string_view) {
                  groups.emplace_back(load_big_endian<uint32_t>(key.data() + 4));
                  return groups.size() < limit;
                });
  return groups;
}

void WorkingState::count_object(const NexthopObject& object, int64_t difference) {
  const auto step = static_cast<uint64_t>(difference);
  if (is_interned(object.id)) {
    counts_.interned += step;
    return;
  }
  counts_.nexthops += step;
  if (object.is_group()) counts_.groups += step;
}

// Membership rows and the members' counts of users, from the old members to the new ones.
void WorkingState::link_members(const NexthopObject& object, const NexthopObject* old) {
  const auto ids = [](const NexthopObject* of) {
    std::vector<NexthopId> members;
    if (of != nullptr && of->is_group())
      for (const GroupMember& member : of->group().members) members.push_back(member.id);
    std::sort(members.begin(), members.end());
    return members;
  };
  const std::vector<NexthopId> now = ids(&object);
  const std::vector<NexthopId> before = ids(old);
  for (NexthopId member : before) {
    if (std::binary_search(now.begin(), now.end(), member)) continue;
    overlay_.erase_index(Table::kMembership, membership_key(member, object.id));
    Users users = this->users(member);
    --users.groups;
    set_users(member, users);
  }
  for (NexthopId member : now) {
    if (std::binary_search(before.begin(), before.end(), member)) continue;
    overlay_.put_index(Table::kMembership, membership_key(member, object.id));
    Users users = this->users(member);
    ++users.groups;
    set_users(member, users);
  }
}

void WorkingState::put_nexthop(const NexthopObject& object) {
  const auto old = nexthop(object.id);
  const std::string value = encode_nexthop_value(object);
  if (old) {
    if (encode_nexthop_value(*old) == value) return;
    count_object(*old, -1);
    facts_.clear();  // also those of the groups it is in
  } else {
    facts_.erase(object.id);
  }
  count_object(object, 1);
  overlay_.put(Table::kNexthop, nexthop_key(object.id), value);
  link_members(object, old ? &*old : nullptr);
  if (!old && is_interned(object.id))
    overlay_.put_index(Table::kNexthopByContent, content_key(hash128(value), object.id));
}

void WorkingState::erase_nexthop(NexthopId id) {
  const auto old = nexthop(id);
  WAYPOST_CHECK(old.has_value(), "only what exists is erased");
  const std::string key = nexthop_key(id);
  if (is_interned(id)) {
    const auto value = overlay_.get(Table::kNexthop, key);
    overlay_.erase_index(Table::kNexthopByContent, content_key(hash128(*value), id));
    intern_cache_.clear();
  }
  count_object(*old, -1);
  overlay_.erase(Table::kNexthop, key);
  link_members({.id = id, .protocol = 0, .body = Nexthop{}}, &*old);
  facts_.clear();
  if (!is_interned(id)) free_from_ = std::min(free_from_, id.value());
}

std::optional<NexthopId> WorkingState::lowest_free_id() {
  auto in_base = free_ids_.next(free_from_);
  while (in_base && overlay_.get(Table::kNexthop, nexthop_key(NexthopId(*in_base))))
    in_base = *in_base == UINT32_MAX ? std::nullopt : free_ids_.next(*in_base + 1);
  // An id that this entry has freed may be lower.
  const std::string until = in_base ? nexthop_key(NexthopId(*in_base)) : std::string();
  std::string from = nexthop_key(NexthopId(free_from_));
  while (const auto erased = overlay_.first_erased(Table::kNexthop, from, until)) {
    const NexthopId id = *decode_nexthop_key(*erased);
    if (!is_interned(id) && !is_scratch(id)) {
      in_base = id.value();
      break;
    }
    from = *erased + '\0';
  }
  if (!in_base) return std::nullopt;
  free_from_ = *in_base;
  return NexthopId(*in_base);
}

std::optional<NexthopId> WorkingState::next_interned_id() {
  constexpr uint32_t kFirst = limits::kFirstInternedId;
  constexpr uint32_t kLast = limits::kLastInternedId;
  uint32_t cursor = kFirst;
  if (const auto stored = overlay_.get(Table::kControl, kInternedCursorKey))
    cursor = load_big_endian<uint32_t>(stored->data());
  // From the cursor to the end of the range, then once from its start.
  for (int lap = 0; lap < 2; ++lap) {
    uint32_t free = cursor;
    overlay_.scan(Table::kNexthop, nexthop_key(NexthopId(cursor)), nexthop_key(NexthopId(kLast + 1)),
                  [&free](std::string_view key, std::string_view) {
                    return decode_nexthop_key(key)->value() == free && ++free != 0;
                  });
    if (free <= kLast) {
      std::string next;
      append_u32(next, free == kLast ? kFirst : free + 1);
      overlay_.put(Table::kControl, kInternedCursorKey, next);
      return NexthopId(free);
    }
    cursor = kFirst;
  }
  return std::nullopt;
}

std::optional<NexthopId> WorkingState::find_content(std::string_view value) {
  const std::string prefix = hash_bytes(hash128(value));
  // Equal hashes are possible, if not likely: the bytes decide. Collected first: reading a row writes the
  // overlay.
  std::vector<NexthopId> candidates;
  overlay_.scan(Table::kNexthopByContent, prefix, behind_prefix(prefix),
                [&](std::string_view key, std::string_view) {
                  candidates.emplace_back(load_big_endian<uint32_t>(key.data() + prefix.size()));
                  return true;
                });
  for (NexthopId id : candidates)
    if (overlay_.get(Table::kNexthop, nexthop_key(id)) == value) return id;
  return std::nullopt;
}

std::optional<Route> WorkingState::route(const RouteKey& key, std::string_view key_bytes) {
  const auto value = overlay_.get(Table::kRoute, key_bytes);
  if (!value) return std::nullopt;
  return must_decode(decode_route_value(key, *value));
}

void WorkingState::count_route(const Route& route, int64_t difference) {
  if (route.nexthop == NexthopId()) return;
  Users users = this->users(route.nexthop);
  users.count_route(route.key.prefix.family(), route.scope, difference);
  set_users(route.nexthop, users);
}

void WorkingState::put_route(std::string_view key_bytes, const Route& route,
                             const std::optional<Route>& old) {
  overlay_.put(Table::kRoute, key_bytes, encode_route_value(route));
  const bool same_use = old && old->nexthop == route.nexthop && old->scope == route.scope;
  if (!old) ++counts_.routes;
  if (same_use) return;
  count_route(route, 1);
  if (old) count_route(*old, -1);
  if (old && old->nexthop == route.nexthop) return;
  const auto index = [&](NexthopId id) {
    index_.clear();
    append_u32(index_, id.value());
    index_.append(key_bytes);
    return std::string_view(index_);
  };
  if (old && old->nexthop != NexthopId()) overlay_.erase_index(Table::kRouteByNexthop, index(old->nexthop));
  if (route.nexthop != NexthopId()) overlay_.put_index(Table::kRouteByNexthop, index(route.nexthop));
}

void WorkingState::erase_route(std::string_view key_bytes, const Route& old) {
  overlay_.erase(Table::kRoute, key_bytes);
  --counts_.routes;
  if (old.nexthop == NexthopId()) return;
  overlay_.erase_index(Table::kRouteByNexthop, route_index_key(old.nexthop, key_bytes));
  count_route(old, -1);
}

std::vector<RouteKey> WorkingState::routes_of(NexthopId id, size_t limit,
                                              const std::function<bool(const RouteKey&)>& wanted) const {
  std::vector<RouteKey> keys;
  const std::string prefix = nexthop_key(id);
  size_t looked_at = 0;
  overlay_.scan(Table::kRouteByNexthop, prefix, behind_prefix(prefix),
                [&](std::string_view key, std::string_view) {
                  const auto route_key = decode_route_key(key.substr(prefix.size()));
                  WAYPOST_CHECK(route_key.has_value(), "an index row holds a route key");
                  if (!wanted || wanted(*route_key)) keys.push_back(*route_key);
                  return keys.size() < limit && ++looked_at < limits::kMaxChangesPerTransaction;
                });
  return keys;
}

// The index orders by table, then family: one seek finds a table's first IPv6 route, another the next table.
std::optional<RouteKey> WorkingState::first_ipv6_route_of(NexthopId id) const {
  const std::string prefix = nexthop_key(id);
  std::string from = prefix;
  std::optional<RouteKey> found;
  for (bool more = true; more && !found;) {
    more = false;
    overlay_.scan(Table::kRouteByNexthop, from, behind_prefix(prefix),
                  [&](std::string_view key, std::string_view) {
                    const auto route_key = decode_route_key(key.substr(prefix.size()));
                    WAYPOST_CHECK(route_key.has_value(), "an index row holds a route key");
                    if (route_key->prefix.family() == Family::kIpv6) {
                      found = route_key;
                      return false;
                    }
                    from = prefix;
                    append_u32(from, route_key->table.value());
                    append_u8(from, static_cast<uint8_t>(Family::kIpv6));
                    more = true;
                    return false;
                  });
  }
  return found;
}

}  // namespace waypost::store
