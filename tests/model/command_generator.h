// Random commands, such as lines can say: every field is used, values lie at and between their bounds.
#pragma once

#include <random>

#include "model/limits.h"
#include "model/transaction.h"
#include "tests/model/samples.h"

namespace waypost::test {

class CommandGenerator {
 public:
  explicit CommandGenerator(uint32_t seed) : random_(seed) {}

  Command next() {
    switch (below(6)) {
      case 0:
      case 1:
        return put_nexthop();
      case 2:
        return DeleteNexthop{.id = NexthopId(edge(1, UINT32_MAX)), .cascade = false};
      case 3:
        return delete_route();
      default:
        return put_route();
    }
  }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  // Often at the bounds, else anywhere.
  uint32_t edge(uint32_t first, uint32_t last) {
    switch (below(4)) {
      case 0:
        return first;
      case 1:
        return last;
      default:
        return first + static_cast<uint32_t>(random_() % (uint64_t{last} - first + 1));
    }
  }

  Family family() { return one_in(2) ? Family::kIpv4 : Family::kIpv6; }

  IpAddress address(Family family) {
    IpAddress made{.family = family};
    for (size_t i = 0; i < made.used().size(); ++i)
      made.bytes[i] = one_in(3) ? 0 : static_cast<uint8_t>(random_());
    if (made.is_unspecified()) made.bytes[0] = 1;
    return made;
  }

  std::string device() {
    static constexpr const char* kNames[] = {"e0",   "eth0.100",       "via",  "nexthop",
                                             "lock", "bond-uplink_15", "table"};
    return kNames[below(std::size(kNames))];
  }

  Encap encap() {
    if (!one_in(4)) return {};
    if (one_in(2)) {
      EncapSeg6 seg6{.mode = static_cast<uint8_t>(below(5)),
                     .segments = {},
                     .hmac = one_in(2) ? 0 : edge(1, UINT32_MAX)};
      for (size_t count = 1 + below(3); count > 0; --count) seg6.segments.push_back(address(Family::kIpv6));
      return seg6;
    }
    EncapIp ip;
    ip.family = family();
    ip.id = random_();
    ip.source = address(ip.family);
    ip.destination = address(ip.family);
    ip.ttl = static_cast<uint8_t>(random_());
    ip.tos = static_cast<uint8_t>(random_());
    if (one_in(2)) ip.flags |= 0x01;
    if (one_in(2)) ip.flags |= 0x04;
    if (one_in(2)) ip.flags |= 0x08;
    return ip;
  }

  // With a gateway of `gateways` or, without one, of `of`.
  Nexthop way(Family of, Family gateways) {
    Nexthop made;
    made.family = of;
    if (!one_in(4)) {
      made.family = gateways;
      made.gateway = address(gateways);
      made.onlink = one_in(4);
    }
    if (!made.gateway || !one_in(4)) made.device = device();
    made.encap = encap();
    return made;
  }

  Command put_nexthop() {
    PutNexthop put{.verb = static_cast<Verb>(1 + below(3)), .object = {}};
    put.object.id = NexthopId(one_in(8) ? 0 : edge(1, UINT32_MAX));
    put.object.protocol = static_cast<uint8_t>(edge(0, 255));
    const Family of = family();
    if (one_in(3))
      put.object.body = random_group();
    else if (one_in(5))
      put.object.body = blackhole(of);
    else
      put.object.body = way(of, of);
    if (!put.object.is_group() && one_in(8)) std::get<Nexthop>(put.object.body).fdb = true;
    return put;
  }

  NexthopGroup random_group() {
    NexthopGroup made;
    for (size_t count = 1 + below(one_in(10) ? limits::kMaxGroupMembers : 4); count > 0; --count)
      made.members.push_back(
          {NexthopId(edge(1, UINT32_MAX)), static_cast<uint16_t>(edge(1, limits::kMaxWeight))});
    made.fdb = one_in(6);
    if (!one_in(2)) return made;
    made.type = GroupType::kResilient;
    made.resilient.buckets = static_cast<uint16_t>(edge(0, UINT16_MAX));
    made.resilient.idle_timer_cs = edge(0, 4'294'967'199);
    made.resilient.unbalanced_timer_cs = edge(0, 4'294'967'199);
    return made;
  }

  Prefix random_prefix(Family of) {
    const auto length = static_cast<uint8_t>(edge(0, static_cast<uint32_t>(address_bits(of))));
    return {masked(address(of), length), length};
  }

  RouteMetrics metrics() {
    RouteMetrics made;
    for (uint8_t number = 2; number <= 17; ++number) {
      if (number == 16 || !one_in(5)) continue;
      uint32_t value = edge(1, UINT32_MAX);
      if (number == 2) value = edge(1, 65'520);
      if (number == 8) value = edge(1, 65'495);
      if (number == 10) value = edge(1, 255);
      if (number == 12 || number == 15 || number == 17) value = 1;
      made.values.emplace_back(number, value);
      const bool lockable = number != 12 && number != 15 && number != 17;
      if (number == 13 || (lockable && one_in(3))) made.lock |= 1u << number;
    }
    if (one_in(4)) {
      made.congestion_control = "cubic";
      if (one_in(2)) made.lock |= 1u << 16;
    }
    return made;
  }

  std::vector<InlinePath> paths(Family of) {
    std::vector<InlinePath> made;
    for (size_t count = 1 + below(one_in(20) ? limits::kMaxGroupMembers : 3); count > 0; --count) {
      const Family gateways = of == Family::kIpv4 ? family() : Family::kIpv6;
      made.push_back(
          {.nexthop = way(of, gateways), .weight = static_cast<uint16_t>(edge(1, limits::kMaxWeight))});
    }
    return made;
  }

  RouteType type() {
    static constexpr RouteType kTypes[] = {RouteType::kBlackhole, RouteType::kUnreachable,
                                           RouteType::kProhibit, RouteType::kThrow};
    return one_in(4) ? kTypes[below(4)] : RouteType::kUnicast;
  }

  RouteKey key(Family of) {
    RouteKey made;
    made.prefix = random_prefix(of);
    made.table = TableId(edge(1, UINT32_MAX));
    if (one_in(2) || made.table == kLocalTable) made.table = kMainTable;
    if (of == Family::kIpv4 && one_in(3)) made.tos = static_cast<uint8_t>(random_() & 0xfc);
    made.metric = one_in(2) ? (of == Family::kIpv4 ? 0 : 1024) : edge(1, UINT32_MAX);
    return made;
  }

  Command put_route() {
    const Family of = family();
    const bool ipv4 = of == Family::kIpv4;
    PutRoute put{.verb = static_cast<Verb>(1 + below(5)), .route = {}, .paths = {}};
    Route& route = put.route;
    route.key = key(of);
    route.type = type();
    if (route.type == RouteType::kUnicast && one_in(2))
      put.paths = paths(of);
    else if (route.type == RouteType::kUnicast || one_in(3))
      route.nexthop = NexthopId(edge(1, UINT32_MAX));
    if (ipv4 && put.paths.size() == 1) put.paths[0].weight = 1;
    route.protocol = static_cast<uint8_t>(one_in(2) ? kProtocolBoot : edge(0, 255));
    if (ipv4) route.scope = static_cast<uint8_t>(one_in(2) ? kScopeGlobal : edge(0, 255));
    static constexpr uint8_t kPreferences[] = {0, 1, 3};
    if (!ipv4) route.preference = kPreferences[below(3)];
    if (one_in(4)) route.prefsrc = address(of);
    if (one_in(2)) route.metrics = metrics();
    return put;
  }

  Command delete_route() {
    const Family of = family();
    const RouteKey wanted = key(of);
    DeleteRoute made;
    made.table = wanted.table;
    made.prefix = wanted.prefix;
    made.tos = wanted.tos;
    if (one_in(2)) made.metric = wanted.metric;
    if (one_in(3)) made.type = type();
    if (one_in(3)) made.protocol = static_cast<uint8_t>(edge(0, 255));
    if (of == Family::kIpv4 && one_in(3)) made.scope = static_cast<uint8_t>(edge(0, 255));
    if (one_in(3)) made.nexthop = NexthopId(edge(1, UINT32_MAX));
    if (one_in(4)) made.prefsrc = address(of);
    if (!made.nexthop && one_in(2)) made.paths = paths(of);
    return made;
  }

  std::mt19937_64 random_;
};

}  // namespace waypost::test
