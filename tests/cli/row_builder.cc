#include "tests/cli/row_builder.h"

#include <map>
#include <stdexcept>

#include "model/limits.h"

namespace waypost::cli {
namespace {

IpAddress address(const std::string& text) {
  const Result<IpAddress> parsed = parse_address(text);
  if (!parsed.ok()) throw std::runtime_error("not an address: " + text);
  return *parsed;
}

uint32_t number_of(const NumberNames& names, const std::string& text) {
  if (const auto known = names.number(text)) return *known;
  return static_cast<uint32_t>(std::stoul(text, nullptr, 0));
}

bool has_flag(const JsonValue& json, const std::string& flag) {
  const JsonValue* flags = json.find("flags");
  if (flags == nullptr) return false;
  for (const JsonValue& item : flags->items)
    if (item.text == flag) return true;
  return false;
}

// `own` is how many keys of the same name the object itself has in front of the encap's ("id", "dst").
Encap encap_from_json(const JsonValue& json, int own_id, int own_dst) {
  const std::string& kind = json.string("encap");
  if (kind == "seg6") {
    static const std::map<std::string, uint8_t> modes = {
        {"inline", 0}, {"encap", 1}, {"l2encap", 2}, {"encap.red", 3}, {"l2encap.red", 4}};
    EncapSeg6 encap{.mode = modes.at(json.string("mode")), .segments = {}, .hmac = 0};
    for (const JsonValue& segment : json.find("segs")->items) encap.segments.push_back(address(segment.text));
    if (encap.mode == 0) encap.segments.pop_back();  // the slot of the packet's own destination
    if (json.has("hmac")) encap.hmac = static_cast<uint32_t>(std::stoul(json.string("hmac"), nullptr, 16));
    return encap;
  }
  if (kind.empty()) return {};
  EncapIp encap{.family = kind == "ip" ? Family::kIpv4 : Family::kIpv6,
                .id = json.number("id", own_id),
                .source = address(json.string("src")),
                .destination = address(json.string("dst", own_dst)),
                .ttl = static_cast<uint8_t>(json.number(kind == "ip" ? "ttl" : "hoplimit")),
                .tos = static_cast<uint8_t>(json.number(kind == "ip" ? "tos" : "tc"))};
  if (json.has("csum")) encap.flags |= 0x01;
  if (json.has("key")) encap.flags |= 0x04;
  if (json.has("seq")) encap.flags |= 0x08;
  return encap;
}

// The path in a route's row or in one element of its `nexthops`.
Nexthop path_from_json(const JsonValue& json, Family family, int own_id, int own_dst) {
  Nexthop path;
  path.family = family;
  if (json.has("gateway")) path.gateway = address(json.string("gateway"));
  if (const JsonValue* via = json.find("via")) path.gateway = address(via->string("host"));
  if (path.gateway) path.family = path.gateway->family;
  path.device = json.string("dev");
  path.onlink = has_flag(json, "onlink");
  path.encap = encap_from_json(json, own_id, own_dst);
  return path;
}

RouteMetrics metrics_from_json(const JsonValue& json) {
  static const std::map<std::string, std::pair<uint8_t, uint32_t>> known = {
      {"mtu", {2, 1}},       {"window", {3, 1}},
      {"rtt", {4, 8}},       {"rttvar", {5, 4}},
      {"ssthresh", {6, 1}},  {"cwnd", {7, 1}},
      {"advmss", {8, 1}},    {"reordering", {9, 1}},
      {"hoplimit", {10, 1}}, {"initcwnd", {11, 1}},
      {"rto_min", {13, 1}},  {"initrwnd", {14, 1}},
      {"quickack", {15, 1}}, {"fastopen_no_cookie", {17, 1}}};
  RouteMetrics metrics;
  for (const auto& [key, value] : json.members) {
    if (key == "congestion") {
      metrics.congestion_control = value.text;
    } else if (key == "ecn") {
      metrics.values.emplace_back(12, 1);
    } else {
      const auto& [number, factor] = known.at(key);
      metrics.values.emplace_back(number, static_cast<uint32_t>(std::stoul(value.text)) * factor);
    }
  }
  return metrics;
}

NexthopId intern(NexthopCache& cache, uint32_t& next, std::variant<Nexthop, NexthopGroup> body) {
  const NexthopId id{next++};
  cache.put({.id = id, .protocol = 0, .body = std::move(body)});
  return id;
}

NexthopId interned_paths(const JsonValue& json, Family family, NexthopCache& cache, uint32_t& next) {
  const JsonValue* paths = json.find("nexthops");
  if (paths == nullptr) return intern(cache, next, path_from_json(json, family, 0, 1));
  NexthopGroup group;
  for (const JsonValue& item : paths->items)
    group.members.push_back({.id = intern(cache, next, path_from_json(item, family, 0, 0)),
                             .weight = static_cast<uint16_t>(item.number("weight"))});
  return intern(cache, next, std::move(group));
}

}  // namespace

NexthopObject nexthop_from_json(const JsonValue& json, const NameTables& names) {
  NexthopObject object{.id = NexthopId(static_cast<uint32_t>(json.number("id"))),
                       .protocol = static_cast<uint8_t>(number_of(names.protocols, json.string("protocol"))),
                       .body = {}};
  const JsonValue* members = json.find("group");
  if (members == nullptr) {
    Nexthop nexthop = path_from_json(json, Family::kIpv4, 1, 0);
    // A bare device says its family by its scope: host is IPv4's.
    if (!nexthop.gateway && json.string("scope") == "link") nexthop.family = Family::kIpv6;
    nexthop.blackhole = json.has("blackhole");
    nexthop.fdb = json.has("fdb");
    object.body = std::move(nexthop);
    return object;
  }
  NexthopGroup group{.type = {}, .members = {}, .resilient = {}, .fdb = json.has("fdb")};
  for (const JsonValue& member : members->items)
    group.members.push_back(
        {.id = NexthopId(static_cast<uint32_t>(member.number("id"))),
         .weight = static_cast<uint16_t>(member.has("weight") ? member.number("weight") : 1)});
  if (const JsonValue* arguments = json.find("resilient_args")) {
    group.type = GroupType::kResilient;
    group.resilient = {
        .buckets = static_cast<uint16_t>(arguments->number("buckets")),
        .idle_timer_cs = static_cast<uint32_t>(arguments->number("idle_timer") * 100),
        .unbalanced_timer_cs = static_cast<uint32_t>(arguments->number("unbalanced_timer") * 100)};
  }
  object.body = std::move(group);
  return object;
}

std::string not_stored_reason(const JsonValue& json) {
  if (json.string("protocol") == "kernel") return "the kernel's own route";
  const std::string& type = json.string("type");
  if (type == "local" || type == "broadcast" || type == "multicast")
    return type + " routes belong to each host";
  if (json.has("expires")) return "expires is refused by name";
  if (json.has("from")) return "source prefixes are refused by name";
  return {};
}

Route route_from_json(const JsonValue& json, const NameTables& names, NexthopCache& cache,
                      uint32_t& next_interned) {
  static const std::map<std::string, RouteType> types = {{"unicast", RouteType::kUnicast},
                                                         {"blackhole", RouteType::kBlackhole},
                                                         {"unreachable", RouteType::kUnreachable},
                                                         {"prohibit", RouteType::kProhibit},
                                                         {"throw", RouteType::kThrow}};
  Route route;
  const bool ipv6 = json.has("pref");
  const Family family = ipv6 ? Family::kIpv6 : Family::kIpv4;
  const Result<Prefix> prefix = parse_prefix(json.string("dst"), &family);
  if (!prefix.ok()) throw std::runtime_error("not a prefix: " + json.string("dst"));
  const bool encap_ip = json.string("encap") == "ip";
  const std::string& tos = json.string("tos", encap_ip ? 1 : 0);
  route.key = {.table = TableId(number_of(names.tables, json.string("table"))),
               .prefix = *prefix,
               .tos = static_cast<uint8_t>(tos.empty() ? 0 : number_of(names.dsfields, tos)),
               .metric = static_cast<uint32_t>(json.number("metric"))};
  route.type = types.at(json.string("type"));
  route.protocol = static_cast<uint8_t>(number_of(names.protocols, json.string("protocol")));
  route.scope = static_cast<uint8_t>(number_of(names.scopes, json.string("scope")));
  route.preference = json.string("pref") == "high" ? 1 : json.string("pref") == "low" ? 3 : 0;
  if (json.has("prefsrc")) route.prefsrc = address(json.string("prefsrc"));
  if (const JsonValue* metrics = json.find("metrics"))
    route.metrics = metrics_from_json(metrics->items.at(0));
  if (json.has("nhid")) {
    route.nexthop = NexthopId(static_cast<uint32_t>(json.number("nhid")));
  } else if (route.type == RouteType::kUnicast) {
    route.nexthop = interned_paths(json, family, cache, next_interned);
  }
  return route;
}

}  // namespace waypost::cli
