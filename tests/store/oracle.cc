#include "tests/store/oracle.h"

#include <algorithm>

#include "model/bytes.h"
#include "model/row_codec.h"

namespace waypost::store {
namespace {

template <typename... Words>
Refusal refused(RefusalCode code, Words... words) {
  return {.code = code, .arguments = {words...}};
}

std::string text(NexthopId id) {
  return std::to_string(id.value());
}
std::string text(const RouteKey& key) {
  return to_string(key);
}

Refusal invalid(const std::string& object, const Error& error) {
  return refused(RefusalCode::kInvalid, object, error.message, error.hint);
}

std::optional<Refusal> reserved(NexthopId id) {
  if (is_interned(id)) return refused(RefusalCode::kReservedId, text(id), std::string("inline paths"));
  if (is_scratch(id))
    return refused(RefusalCode::kReservedId, text(id), std::string("kernel_sync's scratch"));
  return std::nullopt;
}

std::string name(const NexthopObject& object) {
  return (object.is_group() ? "group " : "nexthop ") + text(object.id);
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char byte : bytes) {
    char pair[3];
    std::snprintf(pair, sizeof(pair), "%02x", byte);
    out += pair;
  }
  return out;
}

}  // namespace

TransactionAnswer Oracle::run(const Transaction& transaction) {
  TransactionAnswer answer;
  const State start = state_;
  for (uint32_t i = 0; i < transaction.commands.size(); ++i) {
    const State before = state_;
    skipped_ = false;
    state_.assigned.clear();
    const Refused refusal =
        std::visit([this](const auto& each) { return run(each); }, transaction.commands[i]);
    if (!refusal) {
      skipped_ ? ++answer.skipped : ++answer.applied;
      for (NexthopId id : state_.assigned) answer.assigned_ids.emplace_back(i, id);
      continue;
    }
    answer.refusals.push_back({.index = i, .refusal = *refusal});
    state_ = before;
    if (transaction.on_refusal == OnRefusal::kAbort) {
      state_ = start;
      answer.applied = answer.skipped = 0;
      answer.assigned_ids.clear();
    }
    if (transaction.on_refusal != OnRefusal::kContinue) break;
  }
  collect_unused();
  if (state_.nexthops != start.nexthops || state_.routes != start.routes) revision_ = revision_.next();
  answer.revision = revision_;
  return answer;
}

void Oracle::collect_unused() {
  for (bool again = true; again;) {
    again = false;
    for (const auto& [id, object] : state_.nexthops) {
      if (!is_interned(id) || !routes_over(id).empty() || !groups_of(id).empty()) continue;
      state_.nexthops.erase(id);
      again = true;
      break;
    }
  }
}

std::vector<Route> Oracle::routes_over(NexthopId id) const {
  std::vector<Route> routes;
  for (const auto& [key, route] : state_.routes)
    if (route.nexthop == id) routes.push_back(route);
  return routes;
}

std::vector<NexthopId> Oracle::groups_of(NexthopId id) const {
  std::vector<NexthopId> groups;
  for (const auto& [group, object] : state_.nexthops) {
    if (!object.is_group()) continue;
    for (const GroupMember& member : object.group().members)
      if (member.id == id) groups.push_back(group);
  }
  return groups;
}

const Nexthop& Oracle::first_path(NexthopId id) const {
  const NexthopObject& object = state_.nexthops.at(id);
  return object.is_group() ? state_.nexthops.at(object.group().members.front().id).nexthop()
                           : object.nexthop();
}

bool Oracle::has_ipv4(NexthopId id) const {
  const NexthopObject& object = state_.nexthops.at(id);
  if (!object.is_group()) return object.nexthop().family == Family::kIpv4;
  return std::any_of(object.group().members.begin(), object.group().members.end(),
                     [this](const GroupMember& member) { return has_ipv4(member.id); });
}

// Whether the routes over `id` bear that it, or its member `replaced`, becomes `now`.
Oracle::Refused Oracle::check_bearers(NexthopId id, NexthopId replaced, const Nexthop& now) const {
  const std::vector<Route> routes = routes_over(id);
  if (routes.empty()) return std::nullopt;
  if (now.fdb) return refused(RefusalCode::kRouteOnFdb, text(routes.front().key), text(replaced));
  std::vector<Route> ipv6;
  for (const Route& route : routes)
    if (route.key.prefix.family() == Family::kIpv6) ipv6.push_back(route);
  if (now.family == Family::kIpv4 && !ipv6.empty())
    return refused(RefusalCode::kReplaceBreaksRoutes, text(replaced), std::to_string(ipv6.size()),
                   text(ipv6.front().key));
  for (const Route& route : routes)
    if (now.gateway && route.scope == kScopeHost)
      return refused(RefusalCode::kRouteHostScope, text(route.key), text(replaced));
  for (const Route& route : routes)
    if (now.onlink && route.scope >= kScopeLink && route.key.prefix.family() == Family::kIpv4)
      return refused(RefusalCode::kInvalid, "route " + text(route.key),
                     std::string("its scope does not go with an onlink nexthop"),
                     std::string("leave onlink out"));
  return std::nullopt;
}

Oracle::Refused Oracle::write(NexthopObject object, Verb verb) {
  const auto found = state_.nexthops.find(object.id);
  const bool exists = found != state_.nexthops.end();
  if (verb == Verb::kAdd && exists) return refused(RefusalCode::kNexthopExists, text(object.id));
  if (verb == Verb::kChange && !exists) return refused(RefusalCode::kNexthopNotFound, text(object.id));
  if (exists && found->second.is_group() != object.is_group())
    return refused(RefusalCode::kKindChange, text(object.id),
                   std::string(found->second.is_group() ? "group" : "single"));
  if (const Status status = validate(object); !status.ok()) return invalid(name(object), status.error());
  if (object.is_group()) {
    const NexthopGroup& group = object.group();
    for (const GroupMember& member : group.members) {
      if (auto refusal = reserved(member.id)) return refusal;
      const auto at = state_.nexthops.find(member.id);
      if (at == state_.nexthops.end())
        return refused(RefusalCode::kMemberNotFound, text(object.id), text(member.id));
      if (at->second.is_group()) return refused(RefusalCode::kNestedGroup, text(object.id), text(member.id));
      if (at->second.nexthop().blackhole && group.members.size() > 1)
        return refused(RefusalCode::kBlackholeInGroup, text(object.id), text(member.id));
      if (at->second.nexthop().fdb != group.fdb)
        return refused(RefusalCode::kFdbMismatch, text(object.id), text(member.id));
    }
    // What the routes must bear is asked of the whole group: any IPv4 member, the first member's gateway.
    Nexthop as_whole = state_.nexthops.at(group.members.front().id).nexthop();
    as_whole.family = Family::kIpv6;
    for (const GroupMember& member : group.members)
      if (has_ipv4(member.id)) as_whole.family = Family::kIpv4;
    as_whole.fdb = group.fdb;
    if (exists)
      if (auto refusal = check_bearers(object.id, object.id, as_whole)) return refusal;
  } else if (exists) {
    const Nexthop& now = object.nexthop();
    if (auto refusal = check_bearers(object.id, object.id, now)) return refusal;
    for (NexthopId id : groups_of(object.id)) {
      const NexthopGroup& group = state_.nexthops.at(id).group();
      if (now.blackhole && group.members.size() > 1)
        return refused(RefusalCode::kBlackholeReplace, text(object.id), text(id));
      if (now.fdb != group.fdb) return refused(RefusalCode::kFdbMismatch, text(id), text(object.id));
      if (auto refusal = check_bearers(id, object.id, now)) return refusal;
    }
  }
  state_.nexthops[object.id] = object;
  return std::nullopt;
}

Oracle::Refused Oracle::run(const PutNexthop& command) {
  NexthopObject object = command.object;
  if (object.id == NexthopId()) {
    uint32_t id = 1;
    while (state_.nexthops.contains(NexthopId(id))) ++id;
    object.id = NexthopId(id);
    state_.assigned.push_back(object.id);
  }
  if (auto refusal = reserved(object.id)) return refusal;
  return write(object, command.verb);
}

Oracle::Refused Oracle::remove(NexthopId id, bool cascade) {
  if (auto refusal = reserved(id)) return refusal;
  if (!state_.nexthops.contains(id)) return refused(RefusalCode::kNexthopNotFound, text(id));
  const std::vector<Route> routes = routes_over(id);
  if (!routes.empty() && !cascade)
    return refused(RefusalCode::kNexthopInUse, text(id), std::to_string(routes.size()),
                   text(routes.front().key));
  const std::vector<NexthopId> groups = groups_of(id);
  for (NexthopId group : groups) {
    const std::vector<Route> over = routes_over(group);
    if (!cascade && state_.nexthops.at(group).group().members.size() == 1 && !over.empty())
      return refused(RefusalCode::kLastMemberInUse, text(id), text(group), std::to_string(over.size()),
                     text(over.front().key));
  }
  for (NexthopId group : groups) {
    auto& members = std::get<NexthopGroup>(state_.nexthops.at(group).body).members;
    std::erase_if(members, [id](const GroupMember& member) { return member.id == id; });
    if (!members.empty()) continue;
    for (const Route& route : routes_over(group)) state_.routes.erase(route.key);
    state_.nexthops.erase(group);
  }
  for (const Route& route : routes) state_.routes.erase(route.key);
  state_.nexthops.erase(id);
  return std::nullopt;
}

Oracle::Refused Oracle::run(const DeleteNexthop& command) {
  return remove(command.id, command.cascade);
}

Oracle::Refused Oracle::run(const GuardedNexthop& command) {
  if (auto refusal = reserved(command.id)) return refusal;
  const auto found = state_.nexthops.find(command.id);
  const bool exists = found != state_.nexthops.end();
  skipped_ = command.expected != (exists ? row_guard(encode_nexthop_value(found->second)) : 0);
  if (skipped_) return std::nullopt;
  if (!command.value) return exists ? remove(command.id, false) : std::nullopt;
  NexthopObject object = *command.value;
  object.id = command.id;
  return write(object, Verb::kReplace);
}

NexthopId Oracle::find_or_make(std::variant<Nexthop, NexthopGroup> body) {
  for (const auto& [id, object] : state_.nexthops)
    if (is_interned(id) && object.body == body) return id;
  while (state_.nexthops.contains(NexthopId(state_.cursor))) ++state_.cursor;
  const NexthopId id(state_.cursor++);
  state_.nexthops[id] = {.id = id, .protocol = 0, .body = std::move(body)};
  return id;
}

Oracle::Refused Oracle::intern(const RouteKey& key, std::vector<InlinePath> paths, NexthopId* id) {
  std::vector<InlinePath> distinct;
  for (InlinePath& path : paths) {
    if (!path.nexthop.gateway) path.nexthop.family = key.prefix.family();
    if (key.prefix.family() == Family::kIpv6 && path.nexthop.family == Family::kIpv4)
      return refused(RefusalCode::kInvalid, "route " + text(key),
                     std::string("an IPv6 route can not use an IPv4 gateway"),
                     std::string("use an IPv6 gateway"));
    if (const Status status = validate(NexthopObject{.id = {}, .protocol = 0, .body = path.nexthop}, true);
        !status.ok())
      return invalid("route " + text(key), status.error());
    const auto same = std::find_if(distinct.begin(), distinct.end(),
                                   [&](const InlinePath& other) { return other.nexthop == path.nexthop; });
    if (same == distinct.end())
      distinct.push_back(path);
    else if (key.prefix.family() == Family::kIpv6)
      return refused(RefusalCode::kDuplicatePath, text(key));
    else
      same->weight = static_cast<uint16_t>(same->weight + path.weight);
  }
  if (distinct.size() == 1) {
    *id = find_or_make(distinct.front().nexthop);
    return std::nullopt;
  }
  NexthopGroup group;
  for (const InlinePath& path : distinct)
    group.members.push_back({.id = find_or_make(path.nexthop), .weight = path.weight});
  *id = find_or_make(std::move(group));
  return std::nullopt;
}

std::vector<InlinePath> Oracle::paths_of(NexthopId id) const {
  const NexthopObject& object = state_.nexthops.at(id);
  if (!object.is_group()) return {{.nexthop = object.nexthop(), .weight = 1}};
  std::vector<InlinePath> paths;
  for (const GroupMember& member : object.group().members)
    paths.push_back({.nexthop = state_.nexthops.at(member.id).nexthop(), .weight = member.weight});
  return paths;
}

Oracle::Refused Oracle::check_over(const Route& route) const {
  const NexthopObject& object = state_.nexthops.at(route.nexthop);
  const Nexthop& first = first_path(route.nexthop);
  if (object.is_group() ? object.group().fdb : object.nexthop().fdb)
    return refused(RefusalCode::kRouteOnFdb, text(route.key), text(route.nexthop));
  if (route.key.prefix.family() == Family::kIpv6)
    return has_ipv4(route.nexthop)
               ? std::optional(refused(RefusalCode::kRouteFamily, text(route.key), text(route.nexthop)))
               : std::nullopt;
  const std::string words = "route " + text(route.key);
  const std::string hint = "leave scope out";
  if (route.scope == kScopeHost && object.is_group())
    return refused(RefusalCode::kInvalid, words, std::string("scope host can not have several paths"), hint);
  if (route.scope == kScopeHost && first.gateway) {
    if (is_interned(route.nexthop))
      return refused(RefusalCode::kInvalid, words, std::string("scope host can not go through a gateway"),
                     hint);
    return refused(RefusalCode::kRouteHostScope, text(route.key), text(route.nexthop));
  }
  if (route.scope >= kScopeLink && first.onlink)
    return refused(RefusalCode::kInvalid, words, std::string("its scope does not go with an onlink nexthop"),
                   hint);
  return std::nullopt;
}

Oracle::Refused Oracle::run(const PutRoute& command) {
  Route route = command.route;
  std::vector<InlinePath> paths = command.paths;
  Route shape = route;
  if (!paths.empty()) shape.nexthop = NexthopId(0x8000'0000);
  if (const Status status = validate(shape); !status.ok())
    return invalid("route " + text(route.key), status.error());
  const auto found = state_.routes.find(route.key);
  const bool exists = found != state_.routes.end();
  if (command.verb == Verb::kAdd && exists) return refused(RefusalCode::kRouteExists, text(route.key));
  if (command.verb == Verb::kChange && !exists) return refused(RefusalCode::kRouteNotFound, text(route.key));
  const bool joins = command.verb == Verb::kAppend || command.verb == Verb::kPrepend;
  if (joins && exists) {
    const Route& old = found->second;
    if (route.key.prefix.family() == Family::kIpv4)
      return refused(RefusalCode::kAppendTaken, text(route.key));
    if (old.nexthop != NexthopId() && !is_interned(old.nexthop))
      return refused(RefusalCode::kAppendOntoNexthopId, text(route.key), text(old.nexthop));
    if (paths.empty() || old.nexthop == NexthopId())
      return refused(RefusalCode::kRouteExists, text(route.key));
    std::vector<InlinePath> stored = paths_of(old.nexthop);
    if (command.verb == Verb::kAppend) std::swap(stored, paths);
    paths.insert(paths.end(), stored.begin(), stored.end());
    route = old;
  }
  if (!paths.empty()) {
    if (auto refusal = intern(route.key, paths, &route.nexthop)) return refusal;
  } else if (route.nexthop != NexthopId()) {
    if (auto refusal = reserved(route.nexthop)) return refusal;
    if (!state_.nexthops.contains(route.nexthop))
      return refused(RefusalCode::kRouteNexthopNotFound, text(route.key), text(route.nexthop));
  }
  if (route.nexthop != NexthopId())
    if (auto refusal = check_over(route)) return refusal;
  state_.routes[route.key] = route;
  return std::nullopt;
}

Oracle::Refused Oracle::run(const DeleteRoute& command) {
  for (const auto& [key, route] : state_.routes) {
    if (key.table != command.table || key.prefix != command.prefix || key.tos != command.tos) continue;
    if (command.metric && *command.metric != key.metric) continue;
    if (command.type && *command.type != route.type) continue;
    if (command.protocol && *command.protocol != route.protocol) continue;
    if (command.nexthop && *command.nexthop != route.nexthop) continue;
    if (!command.paths.empty()) {
      if (!is_interned(route.nexthop)) continue;
      const std::vector<InlinePath> stored = paths_of(route.nexthop);
      if (stored.size() != command.paths.size()) continue;
      const bool equal = std::equal(
          stored.begin(), stored.end(), command.paths.begin(), [](const auto& have, const auto& given) {
            return (!given.nexthop.gateway || given.nexthop.gateway == have.nexthop.gateway) &&
                   (given.nexthop.device.empty() || given.nexthop.device == have.nexthop.device) &&
                   (!given.nexthop.onlink || have.nexthop.onlink) &&
                   (given.weight == 1 || given.weight == have.weight);
          });
      if (!equal) continue;
    }
    state_.routes.erase(RouteKey(key));
    return std::nullopt;
  }
  RouteKey key{.table = command.table, .prefix = command.prefix, .tos = command.tos, .metric = 0};
  if (command.metric)
    key.metric = *command.metric;
  else if (key.prefix.family() == Family::kIpv6)
    key.metric = 1024;
  return refused(RefusalCode::kRouteNotFound, text(key));
}

Oracle::Refused Oracle::run(const GuardedRoute& command) {
  const auto found = state_.routes.find(command.key);
  const bool exists = found != state_.routes.end();
  skipped_ = command.expected != (exists ? row_guard(encode_route_value(found->second)) : 0);
  if (skipped_) return std::nullopt;
  if (!command.value) {
    if (exists) state_.routes.erase(found);
    return std::nullopt;
  }
  PutRoute put{.verb = Verb::kReplace, .route = *command.value, .paths = command.paths};
  put.route.key = command.key;
  return run(put);
}

std::string Oracle::dump() const {
  std::string out;
  for (const auto& [id, object] : state_.nexthops) {
    std::string key;
    append_nexthop_key(key, id);
    out += "nexthop " + hex(key) + " " + hex(encode_nexthop_value(object)) + "\n";
  }
  for (const auto& [route_key, route] : state_.routes) {
    std::string key;
    append_route_key(key, route_key);
    out += "route " + hex(key) + " " + hex(encode_route_value(route)) + "\n";
  }
  return out;
}

std::map<uint32_t, std::string> Oracle::nexthop_rows() const {
  std::map<uint32_t, std::string> rows;
  for (const auto& [id, object] : state_.nexthops) rows[id.value()] = encode_nexthop_value(object);
  return rows;
}

Hash128 Oracle::data_digest() const {
  Hash128 digest;
  const auto add = [&digest](char table, const std::string& key, const std::string& value) {
    std::string row(1, table);
    append_sized(row, key);
    digest += hash128(row + value);
  };
  for (const auto& [id, object] : state_.nexthops) {
    std::string key;
    append_nexthop_key(key, id);
    add('\1', key, encode_nexthop_value(object));
  }
  for (const auto& [route_key, route] : state_.routes) {
    std::string key;
    append_route_key(key, route_key);
    add('\2', key, encode_route_value(route));
  }
  return digest;
}

}  // namespace waypost::store
