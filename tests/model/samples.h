// One of everything: rows and commands that use every field, for codecs and printers.
#pragma once

#include <vector>

#include "model/transaction.h"

namespace waypost::test {

inline IpAddress address(const char* text) {
  return parse_address(text).value();
}
inline Prefix prefix(const char* text) {
  return parse_prefix(text).value();
}

inline Nexthop via(const char* gateway, const char* device) {
  Nexthop nexthop;
  nexthop.gateway = address(gateway);
  nexthop.family = nexthop.gateway->family;
  nexthop.device = device;
  return nexthop;
}

inline NexthopObject object(uint32_t id, std::variant<Nexthop, NexthopGroup> body, uint8_t protocol = 0) {
  return {.id = NexthopId(id), .protocol = protocol, .body = std::move(body)};
}

inline Nexthop blackhole(Family family = Family::kIpv4) {
  Nexthop nexthop;
  nexthop.family = family;
  nexthop.blackhole = true;
  return nexthop;
}

inline Nexthop fdb(const char* gateway) {
  Nexthop nexthop = via(gateway, "");
  nexthop.fdb = true;
  return nexthop;
}

inline Nexthop device_only(const char* device, Family family) {
  Nexthop nexthop;
  nexthop.family = family;
  nexthop.device = device;
  return nexthop;
}

inline Nexthop with_encap_ip() {
  Nexthop nexthop = via("192.0.2.1", "veth1");
  nexthop.onlink = true;
  nexthop.encap = EncapIp{.family = Family::kIpv6,
                          .id = 0x0102030405060708,
                          .source = address("2001:db8::1"),
                          .destination = address("2001:db8::2"),
                          .ttl = 64,
                          .tos = 8,
                          .flags = 5};
  return nexthop;
}

inline Nexthop with_encap_seg6() {
  Nexthop nexthop = via("2001:db8::1", "veth1");
  nexthop.encap = EncapSeg6{.mode = 3, .segments = {address("fc00::1"), address("fc00::2")}, .hmac = 7};
  return nexthop;
}

inline NexthopGroup group(std::vector<GroupMember> members) {
  NexthopGroup group;
  group.members = std::move(members);
  return group;
}

inline NexthopGroup resilient(std::vector<GroupMember> members, ResilientParameters parameters) {
  NexthopGroup made = group(std::move(members));
  made.type = GroupType::kResilient;
  made.resilient = parameters;
  return made;
}

inline std::vector<NexthopObject> sample_nexthops() {
  NexthopGroup fdb_group = group({{NexthopId(13), 1}});
  fdb_group.fdb = true;
  return {object(1, via("192.0.2.1", "veth1")),
          object(2, via("2001:db8::1", "eth0.100"), 186),
          object(3, via("fe80::1", "veth1")),
          object(4, blackhole()),
          object(5, blackhole(Family::kIpv6), 4),
          object(6, device_only("veth1", Family::kIpv4)),
          object(7, device_only("veth1", Family::kIpv6)),
          object(13, fdb("192.0.2.13")),
          object(16, with_encap_ip()),
          object(17, with_encap_seg6()),
          object(100, group({{NexthopId(1), 1}, {NexthopId(2), 65535}}), 99),
          object(105, fdb_group),
          object(107, resilient({{NexthopId(1), 3}, {NexthopId(2), 1}},
                                {.buckets = 128, .idle_timer_cs = 6000, .unbalanced_timer_cs = 30000})),
          object(4294967295, via("192.0.2.7", "veth1"))};
}

inline Route route(const char* prefix_text, uint32_t nexthop, uint32_t table = 254, uint32_t metric = 0) {
  Route made;
  made.key = {.table = TableId(table), .prefix = prefix(prefix_text), .tos = 0, .metric = metric};
  made.nexthop = NexthopId(nexthop);
  if (made.key.prefix.family() == Family::kIpv6 && metric == 0) made.key.metric = 1024;
  return made;
}

inline std::vector<Route> sample_routes() {
  Route error = route("10.1.9.0/24", 0, 200, 50);
  error.type = RouteType::kUnreachable;
  Route full = route("10.1.14.0/24", 7, 4294967295, 4294967295);
  full.key.tos = 0x10;
  full.protocol = 186;
  full.scope = kScopeLink;
  full.prefsrc = address("192.0.2.9");
  full.metrics.values = {{2, 1400}, {4, 160}, {12, 1}, {15, 1}};
  full.metrics.lock = 1u << 2 | 1u << 16;
  full.metrics.congestion_control = "cubic";
  Route ipv6 = route("2001:db8:10b::/64", 9);
  ipv6.preference = 1;
  ipv6.prefsrc = address("2001:db8::9");
  return {route("10.0.0.0/8", 1),
          route("0.0.0.0/0", 4294967295),
          route("10.1.1.1/32", 2, 100, 20),
          route("::/0", 3),
          route("2001:db8::1/128", 3, 1000, 1),
          error,
          full,
          ipv6};
}

inline std::vector<Command> sample_commands() {
  std::vector<Command> commands;
  for (NexthopObject& each : sample_nexthops()) {
    commands.push_back(PutNexthop{.verb = Verb::kReplace, .object = each});
    commands.push_back(GuardedNexthop{.id = each.id, .expected = 0x1122334455667788, .value = each});
  }
  for (Route& each : sample_routes()) {
    commands.push_back(PutRoute{.verb = Verb::kAdd, .route = each, .paths = {}});
    commands.push_back(GuardedRoute{.key = each.key, .expected = 5, .value = each, .paths = {}});
  }
  Route inline_route = route("10.2.0.0/16", 0);
  const std::vector<InlinePath> paths = {{.nexthop = via("192.0.2.1", "veth1"), .weight = 10},
                                         {.nexthop = via("192.0.2.2", ""), .weight = 65535}};
  commands.push_back(PutRoute{.verb = Verb::kAppend, .route = inline_route, .paths = paths});
  commands.push_back(GuardedNexthop{.id = NexthopId(1), .expected = 0, .value = {}});
  commands.push_back(GuardedRoute{.key = inline_route.key, .expected = 7, .value = {}, .paths = {}});
  commands.push_back(
      GuardedRoute{.key = inline_route.key, .expected = 0, .value = inline_route, .paths = paths});
  commands.push_back(DeleteNexthop{.id = NexthopId(9), .cascade = true});
  commands.push_back(DeleteNexthop{.id = NexthopId(9), .cascade = false});
  DeleteRoute plain;
  plain.prefix = prefix("10.0.0.0/8");
  commands.push_back(plain);
  DeleteRoute picky;
  picky.table = TableId(100);
  picky.prefix = prefix("10.0.0.0/8");
  picky.tos = 16;
  picky.metric = 0;
  picky.type = RouteType::kUnicast;
  picky.protocol = 0;
  picky.scope = 0;
  picky.nexthop = NexthopId(0);
  picky.prefsrc = address("192.0.2.9");
  picky.paths = paths;
  commands.push_back(picky);
  return commands;
}

}  // namespace waypost::test
