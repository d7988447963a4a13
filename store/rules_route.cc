#include "model/check.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "store/intern.h"
#include "store/keys.h"
#include "store/refuse.h"
#include "store/rules.h"

namespace waypost::store {
namespace {

std::string words_of(const RouteKey& key) {
  return "route " + to_string(key);
}

bool is_ipv6(const RouteKey& key) {
  return key.prefix.family() == Family::kIpv6;
}

std::optional<Refusal> check_shape(const Route& route, bool inline_paths) {
  if (!inline_paths) {
    const Status status = validate(route);
    return status.ok() ? std::nullopt : std::optional(refuse_invalid(words_of(route.key), status.error()));
  }
  if (route.nexthop != NexthopId())  // KERNEL.md case 40
    return refuse_invalid(words_of(route.key), "a nexthop id and paths exclude each other", "leave one out");
  if (route.type != RouteType::kUnicast)
    return refuse_invalid(words_of(route.key), "a route of an error type has no gateway, device or paths",
                          "leave the paths out");
  Route with_nexthop = route;
  with_nexthop.nexthop = NexthopId(limits::kFirstInternedId);
  return check_shape(with_nexthop, false);
}

// Puts the nexthop id into `route`, from the paths or as named by the client.
std::optional<Refusal> resolve_nexthop(WorkingState& state, std::span<const InlinePath> paths, Route* route) {
  if (!paths.empty()) {
    if (auto refusal = intern(state, route->key, paths, &route->nexthop)) return refusal;
    return check_route_over(*route, *state.facts(route->nexthop));
  }
  if (route->nexthop == NexthopId()) return std::nullopt;
  if (auto refusal = refuse_reserved(route->nexthop)) return refusal;
  const auto facts = state.facts(route->nexthop);
  if (!facts) return refuse(RefusalCode::kRouteNexthopNotFound, route->key, route->nexthop);
  return check_route_over(*route, *facts);
}

// IPv6 append and prepend of inline paths onto what is stored: one multipath route with the stored
// attributes.
std::optional<Refusal> join_paths(WorkingState& state, const PutRoute& command, const Route& old,
                                  std::vector<InlinePath>* paths) {
  if (!is_ipv6(old.key)) return refuse(RefusalCode::kAppendTaken, old.key);
  if (old.nexthop != NexthopId() && !is_interned(old.nexthop))
    return refuse(RefusalCode::kAppendOntoNexthopId, old.key, old.nexthop);
  if (command.paths.empty() || old.nexthop == NexthopId()) return refuse(RefusalCode::kRouteExists, old.key);
  const std::vector<InlinePath> stored = paths_of(state, old.nexthop);
  *paths = command.paths;
  paths->insert(command.verb == Verb::kAppend ? paths->begin() : paths->end(), stored.begin(), stored.end());
  return std::nullopt;
}

std::optional<Refusal> put_route(WorkingState& state, const PutRoute& command) {
  const RouteKey& key = command.route.key;
  if (auto refusal = check_shape(command.route, !command.paths.empty())) return refusal;
  const std::string key_bytes = route_key_bytes(key);
  const auto old = state.route(key, key_bytes);
  if (old && command.verb == Verb::kAdd) return refuse(RefusalCode::kRouteExists, key);
  if (!old && command.verb == Verb::kChange) return refuse(RefusalCode::kRouteNotFound, key);

  const bool joins = command.verb == Verb::kAppend || command.verb == Verb::kPrepend;
  Route route = command.route;
  std::vector<InlinePath> joined;
  if (old && joins) {
    if (auto refusal = join_paths(state, command, *old, &joined)) return refusal;
    route = *old;
    route.nexthop = {};
  }
  if (auto refusal = resolve_nexthop(state, joined.empty() ? command.paths : joined, &route)) return refusal;
  state.put_route(key_bytes, route, old);
  return std::nullopt;
}

// Fields that the command gives; a path given without device matches one with (as `ip route del P via A`
// does).
bool path_matches(const InlinePath& given, const InlinePath& stored) {
  if (given.nexthop.gateway && given.nexthop.gateway != stored.nexthop.gateway) return false;
  if (!given.nexthop.device.empty() && given.nexthop.device != stored.nexthop.device) return false;
  if (given.nexthop.onlink && !stored.nexthop.onlink) return false;
  if (given.nexthop.encap.index() != 0 && !(given.nexthop.encap == stored.nexthop.encap)) return false;
  return given.weight == 1 || given.weight == stored.weight;
}

bool paths_match(WorkingState& state, const std::vector<InlinePath>& given, const Route& stored) {
  if (given.empty()) return true;
  if (!is_interned(stored.nexthop)) return false;  // KERNEL.md case 45
  const std::vector<InlinePath> paths = paths_of(state, stored.nexthop);
  if (paths.size() != given.size()) return false;
  for (size_t i = 0; i < paths.size(); ++i)
    if (!path_matches(given[i], paths[i])) return false;
  return true;
}

bool matches(WorkingState& state, const DeleteRoute& given, const Route& stored) {
  return (!given.type || *given.type == stored.type) &&
         (!given.protocol || *given.protocol == stored.protocol) &&
         (!given.scope || *given.scope == stored.scope) &&
         (!given.nexthop || *given.nexthop == stored.nexthop) &&
         (!given.prefsrc || given.prefsrc == stored.prefsrc) && paths_match(state, given.paths, stored);
}

// The stored route with the lowest metric that is at least that of `from` and matches.
std::optional<Route> find_match(WorkingState& state, const DeleteRoute& command, const RouteKey& from) {
  std::string seek = route_key_bytes(from);
  const std::string until = behind_prefix(without_metric(seek));
  for (size_t looked_at = 0; looked_at < limits::kMaxChangesPerTransaction; ++looked_at) {
    std::optional<Route> route;
    state.overlay().scan(Table::kRoute, seek, until, [&](std::string_view key, std::string_view value) {
      auto decoded = decode_route_value(*decode_route_key(key), value);
      WAYPOST_CHECK(decoded.ok(), "a stored row follows its grammar");
      route = std::move(decoded).value();
      seek.assign(key).push_back('\0');
      return false;
    });
    if (!route || matches(state, command, *route)) return route;
  }
  return std::nullopt;
}

std::optional<Refusal> delete_route(WorkingState& state, const DeleteRoute& command) {
  RouteKey key{.table = command.table, .prefix = command.prefix, .tos = command.tos, .metric = 0};
  // IPv6 stores no metric 0, so there it means "not given" (KERNEL.md case 51).
  const bool metric_given = command.metric && !(is_ipv6(key) && *command.metric == 0);
  if (metric_given) key.metric = *command.metric;
  const std::string key_bytes = route_key_bytes(key);
  // The row at exactly this key: the one asked for, or metric 0, which is the lowest there can be.
  std::optional<Route> route = state.route(key, key_bytes);
  if (route && !matches(state, command, *route)) route.reset();
  if (!route && !metric_given) route = find_match(state, command, key);
  if (!route) {
    if (!metric_given && is_ipv6(key))
      key.metric = usual_metric(Family::kIpv6);  // so that the words leave it out
    return refuse(RefusalCode::kRouteNotFound, key);
  }
  state.erase_route(route_key_bytes(route->key), *route);
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_route_over(const Route& route, const NexthopFacts& facts) {
  const bool named = !is_interned(route.nexthop);
  if (facts.fdb) return refuse(RefusalCode::kRouteOnFdb, route.key, route.nexthop);
  if (is_ipv6(route.key)) {
    if (facts.has_ipv4) return refuse(RefusalCode::kRouteFamily, route.key, route.nexthop);
    return std::nullopt;
  }
  if (route.scope >= kScopeHost && facts.group)
    return refuse_invalid(words_of(route.key), "scope host can not have several paths", "leave scope out");
  if (route.scope >= kScopeHost && facts.has_gateway) {
    if (named) return refuse(RefusalCode::kRouteHostScope, route.key, route.nexthop);
    return refuse_invalid(words_of(route.key), "scope host can not go through a gateway", "leave scope out");
  }
  if (route.scope >= kScopeLink && facts.onlink)
    return refuse_invalid(words_of(route.key), "its scope does not go with an onlink nexthop",
                          "leave scope out");
  return std::nullopt;
}

CommandResult execute(WorkingState& state, const PutRoute& command) {
  return {.refusal = put_route(state, command), .skipped = false, .assigned = {}};
}

CommandResult execute(WorkingState& state, const DeleteRoute& command) {
  return {.refusal = delete_route(state, command), .skipped = false, .assigned = {}};
}

CommandResult execute(WorkingState& state, const GuardedRoute& command) {
  CommandResult result;
  const std::string key_bytes = route_key_bytes(command.key);
  const auto stored = state.overlay().get(Table::kRoute, key_bytes);
  if (command.expected != (stored ? row_guard(*stored) : 0)) {
    result.skipped = true;
    return result;
  }
  if (command.value) {
    PutRoute put{.verb = Verb::kReplace, .route = *command.value, .paths = command.paths};
    put.route.key = command.key;
    result.refusal = put_route(state, put);
  } else if (stored) {
    state.erase_route(key_bytes, *state.route(command.key, key_bytes));
  }
  return result;
}

}  // namespace waypost::store
