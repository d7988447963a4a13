#include "store/intern.h"

#include <algorithm>
#include <string>

#include "model/bytes.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "store/refuse.h"

namespace waypost::store {
namespace {

// The cache of an entry forgets all at this many different path lists.
constexpr size_t kMaxCachedPathLists = 4'096;

std::string route_words(const RouteKey& key) {
  return "route " + to_string(key);
}

NexthopObject interned(NexthopId id, std::variant<Nexthop, NexthopGroup> body) {
  return {.id = id, .protocol = 0, .body = std::move(body)};
}

std::optional<Refusal> check_path(const RouteKey& key, const Nexthop& path) {
  if (path.blackhole || path.fdb)
    return refuse_invalid(route_words(key), "a path can not be a blackhole or fdb",
                          "use a route of type blackhole");
  if (key.prefix.family() == Family::kIpv6 && path.family == Family::kIpv4)
    return refuse_invalid(route_words(key), "an IPv6 route can not use an IPv4 gateway",
                          "use an IPv6 gateway");
  const Status status = validate(interned(NexthopId(limits::kFirstInternedId), path), true);
  if (!status.ok()) return refuse_invalid(route_words(key), status.error());
  return std::nullopt;
}

// Checked, of the route's family where no gateway says otherwise, and distinct.
std::optional<Refusal> normalise(const RouteKey& key, std::span<const InlinePath> paths,
                                 std::vector<InlinePath>* distinct) {
  if (paths.size() > limits::kMaxGroupMembers)
    return refuse_invalid(route_words(key), "a route has at most 128 paths", "use fewer paths");
  for (const InlinePath& given : paths) {
    InlinePath path = given;
    if (!path.nexthop.gateway) path.nexthop.family = key.prefix.family();
    if (path.weight == 0) return refuse_invalid(route_words(key), "the weight of a path is 0", "1 to 65535");
    if (auto refusal = check_path(key, path.nexthop)) return refusal;
    const auto same = std::find_if(distinct->begin(), distinct->end(),
                                   [&](const InlinePath& other) { return other.nexthop == path.nexthop; });
    if (same == distinct->end()) {
      distinct->push_back(std::move(path));
      continue;
    }
    if (key.prefix.family() == Family::kIpv6) return refuse(RefusalCode::kDuplicatePath, key);
    if (same->weight + path.weight > static_cast<int>(limits::kMaxWeight))
      return refuse_invalid(route_words(key), "the weights of equal paths add up to more than 65535",
                            "use smaller weights");
    same->weight = static_cast<uint16_t>(same->weight + path.weight);
  }
  return std::nullopt;
}

std::optional<Refusal> find_or_make(WorkingState& state, std::variant<Nexthop, NexthopGroup> body,
                                    NexthopId* id) {
  NexthopObject object = interned({}, std::move(body));
  if (const auto found = state.find_content(encode_nexthop_value(object))) {
    *id = *found;
    return std::nullopt;
  }
  const auto fresh = state.next_interned_id();
  if (!fresh) return refuse(RefusalCode::kIdsExhausted, std::string("inline paths"));
  object.id = *id = *fresh;
  state.put_nexthop(object);
  return std::nullopt;
}

std::string cache_key(const RouteKey& key, std::span<const InlinePath> paths) {
  std::string bytes;
  append_u8(bytes, static_cast<uint8_t>(key.prefix.family()));
  for (const InlinePath& path : paths) {
    append_sized(bytes, encode_nexthop_value(interned({}, path.nexthop)));
    append_u16(bytes, path.weight);
  }
  return bytes;
}

}  // namespace

std::optional<Refusal> intern(WorkingState& state, const RouteKey& key, std::span<const InlinePath> paths,
                              NexthopId* id) {
  auto& cache = state.intern_cache();
  std::string cached = cache_key(key, paths);
  if (const auto found = cache.find(cached); found != cache.end()) {
    *id = found->second;
    return std::nullopt;
  }
  std::vector<InlinePath> distinct;
  if (auto refusal = normalise(key, paths, &distinct)) return refusal;
  if (distinct.size() == 1) {
    if (auto refusal = find_or_make(state, distinct.front().nexthop, id)) return refusal;
  } else {
    NexthopGroup group;
    for (const InlinePath& path : distinct) {
      NexthopId member;
      if (auto refusal = find_or_make(state, path.nexthop, &member)) return refusal;
      group.members.push_back({.id = member, .weight = path.weight});
    }
    if (auto refusal = find_or_make(state, std::move(group), id)) return refusal;
  }
  if (cache.size() >= kMaxCachedPathLists) cache.clear();
  cache.emplace(std::move(cached), *id);
  return std::nullopt;
}

std::vector<InlinePath> paths_of(WorkingState& state, NexthopId id) {
  const auto object = state.nexthop(id);
  WAYPOST_CHECK(object && is_interned(id), "a route over inline paths has its interned object");
  if (!object->is_group()) return {{.nexthop = object->nexthop(), .weight = 1}};
  std::vector<InlinePath> paths;
  for (const GroupMember& member : object->group().members) {
    const auto single = state.nexthop(member.id);
    WAYPOST_CHECK(single && !single->is_group(), "an interned group has interned members");
    paths.push_back({.nexthop = single->nexthop(), .weight = member.weight});
  }
  return paths;
}

}  // namespace waypost::store
