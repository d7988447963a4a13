#include "cli/saved_route.h"

#include <algorithm>

#include "model/limits.h"

namespace waypost::cli {
namespace {

// RTPROT_* and RTN_* of routes that a host makes for itself.
constexpr uint8_t kProtocolRedirect = 1;
constexpr uint8_t kProtocolKernel = 2;
constexpr uint8_t kProtocolRouterAdvertisement = 9;
constexpr uint8_t kTypeLocal = 2;
constexpr uint8_t kTypeMulticast = 5;
constexpr uint16_t kLargestSavedWeight = 256;

std::string name_of(const SavedRoute& saved) {
  return "the route " + to_string(saved.prefix) + " at byte " + std::to_string(saved.offset);
}

Error refuse(const SavedRoute& saved, std::string words, std::string hint,
             ErrorCode code = ErrorCode::kUnsupported) {
  return {code, name_of(saved) + " " + std::move(words), std::move(hint)};
}

std::string_view skip_reason(const SavedRoute& saved) {
  if (saved.protocol == kProtocolKernel) return "proto kernel";
  if (saved.protocol == kProtocolRedirect) return "proto redirect";
  if (saved.protocol == kProtocolRouterAdvertisement) return "proto ra";
  if (saved.table == kLocalTable.value()) return "table local";
  if (saved.cloned) return "cloned";
  if (saved.type >= kTypeLocal && saved.type <= kTypeMulticast)
    return "type local, broadcast, anycast or multicast";
  return {};
}

bool is_stored_type(uint8_t type) {
  return type == static_cast<uint8_t>(RouteType::kUnicast) ||
         (type >= static_cast<uint8_t>(RouteType::kBlackhole) &&
          type <= static_cast<uint8_t>(RouteType::kThrow));
}

Result<std::vector<InlinePath>> inline_paths_from(const SavedRoute& saved, const Links& links) {
  std::vector<InlinePath> paths;
  for (const SavedPath& path : saved.paths) {
    InlinePath& inline_path = paths.emplace_back();
    Nexthop& nexthop = inline_path.nexthop;
    inline_path.weight = path.weight;
    nexthop.family = path.gateway ? path.gateway->family : saved.family;
    nexthop.gateway = path.gateway;
    nexthop.onlink = path.onlink;
    nexthop.encap = path.encap;
    if (path.interface == 0) continue;
    const std::string* name = links.name(path.interface);
    if (name == nullptr)
      return refuse(
          saved, "leads over interface " + std::to_string(path.interface) + ", which this host does not have",
          "restore on the host that saved it, or give --links FILE with that host's `ip -j link`",
          ErrorCode::kNotFound);
    nexthop.device = *name;
  }
  return paths;
}

Status check_attributes(const SavedRoute& saved) {
  if (!is_stored_type(saved.type)) return refuse(saved, "is of type " + std::to_string(saved.type), "");
  if (saved.source_length != 0)
    return refuse(saved, "has a source prefix, which is not stored", "take it out, or set it on each host");
  if (saved.expires != 0)
    return refuse(saved, "expires, and stored routes do not", "take it out, or set it on each host");
  if (saved.realms) return refuse(saved, "has realms, which are not stored", "take them out");
  return {};
}

}  // namespace

Result<std::variant<PutRoute, Skipped>> restore_command(const SavedRoute& saved, const Links& links,
                                                        bool inline_paths) {
  using Taken = std::variant<PutRoute, Skipped>;
  if (const std::string_view reason = skip_reason(saved); !reason.empty()) return Taken(Skipped{reason});
  if (Status status = check_attributes(saved); !status.ok()) return status.error();
  PutRoute put;
  Route& route = put.route;
  const bool ipv6 = saved.family == Family::kIpv6;
  route.key = {.table = TableId(saved.table == 0 ? kMainTable.value() : saved.table),
               .prefix = saved.prefix,
               .tos = saved.tos,
               .metric = ipv6 && saved.metric == 0 ? usual_metric(Family::kIpv6) : saved.metric};
  route.type = static_cast<RouteType>(saved.type);
  route.protocol = saved.protocol;
  route.scope = saved.scope;
  route.preference = saved.preference;
  route.prefsrc = saved.prefsrc;
  route.metrics = saved.metrics;
  const bool error_type = route.type != RouteType::kUnicast;
  if (saved.nexthop_id != 0 && !inline_paths) {
    route.nexthop = NexthopId(saved.nexthop_id);
  } else if (!error_type) {
    Result<std::vector<InlinePath>> paths = inline_paths_from(saved, links);
    if (!paths.ok()) return paths.error();
    if (paths->empty())
      return refuse(saved, "has no copy of nexthop " + std::to_string(saved.nexthop_id) + " beside the id",
                    "make that nexthop first and restore without --inline", ErrorCode::kNotFound);
    put.paths = std::move(*paths);
  }
  Route checked = route;
  // The store gives inline paths an id of their own.
  if (!put.paths.empty()) checked.nexthop = NexthopId(limits::kFirstInternedId);
  if (Status status = validate(checked); !status.ok())
    return refuse(saved, "cannot be stored: " + status.error().message, status.error().hint,
                  ErrorCode::kInvalidArgument);
  return Taken(std::move(put));
}

std::vector<InlinePath> inline_paths_of(NexthopId id, const NexthopCache& nexthops) {
  std::vector<InlinePath> paths;
  const NexthopObject* object = is_interned(id) ? nexthops.find(id) : nullptr;
  if (object == nullptr) return paths;
  if (!object->is_group()) return {{.nexthop = object->nexthop(), .weight = 1}};
  for (const GroupMember& member : object->group().members) {
    const NexthopObject* single = nexthops.find(member.id);
    if (single != nullptr && !single->is_group())
      paths.push_back({.nexthop = single->nexthop(), .weight = member.weight});
  }
  return paths;
}

bool is_same_route(const Route& stored, const NexthopCache& nexthops, const PutRoute& wanted) {
  Route like = wanted.route;
  like.nexthop = wanted.paths.empty() ? wanted.route.nexthop : stored.nexthop;
  if (like != stored) return false;
  if (wanted.paths.empty()) return true;
  // The order of paths means nothing, and equal IPv4 paths were merged.
  std::vector<InlinePath> merged;
  for (const InlinePath& path : wanted.paths) {
    const auto twin = std::find_if(merged.begin(), merged.end(),
                                   [&](const InlinePath& m) { return m.nexthop == path.nexthop; });
    if (twin == merged.end()) {
      merged.push_back(path);
    } else {
      twin->weight = static_cast<uint16_t>(twin->weight + path.weight);
    }
  }
  std::vector<InlinePath> have = inline_paths_of(stored.nexthop, nexthops);
  // The weight of a single path means nothing.
  if (merged.size() == 1 && have.size() == 1) return merged[0].nexthop == have[0].nexthop;
  return merged.size() == have.size() && std::is_permutation(merged.begin(), merged.end(), have.begin());
}

Result<SavedRoute> saved_route(const Route& route, const NexthopCache& nexthops, const Links& links) {
  SavedRoute saved;
  saved.family = route.key.prefix.family();
  saved.type = static_cast<uint8_t>(route.type);
  saved.protocol = route.protocol;
  saved.scope = route.scope;
  saved.tos = route.key.tos;
  saved.table = route.key.table.value();
  saved.prefix = route.key.prefix;
  saved.metric = route.key.metric;
  saved.preference = route.preference;
  saved.prefsrc = route.prefsrc;
  saved.metrics = route.metrics;
  if (route.nexthop.value() != 0 && !is_interned(route.nexthop)) {
    saved.nexthop_id = route.nexthop.value();
    return saved;
  }
  for (const InlinePath& path : inline_paths_of(route.nexthop, nexthops)) {
    SavedPath& out = saved.paths.emplace_back();
    out.gateway = path.nexthop.gateway;
    out.onlink = path.nexthop.onlink;
    out.encap = path.nexthop.encap;
    out.weight = path.weight;
    if (path.weight > kLargestSavedWeight)
      return Error{ErrorCode::kUnsupported,
                   "route " + to_string(route.key) + " has a path of weight " + std::to_string(path.weight) +
                       ", and the stream carries at most 256",
                   "use a nexthop group: its weights go to 65535"};
    if (path.nexthop.device.empty()) continue;
    const auto index = links.index(path.nexthop.device);
    if (!index)
      return Error{ErrorCode::kNotFound,
                   "route " + to_string(route.key) + " leads over device " + path.nexthop.device +
                       ", which this host does not have",
                   "save on a host that has it, or give --links FILE with such a host's `ip -j link`"};
    out.interface = *index;
  }
  return saved;
}

}  // namespace waypost::cli
