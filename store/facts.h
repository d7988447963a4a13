// What the rules need to know of a nexthop or group without its whole row, and how many use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/nexthop.h"
#include "model/route.h"

namespace waypost::store {

struct NexthopFacts {
  bool group = false;
  bool blackhole = false;  // a single one
  bool fdb = false;
  bool has_ipv4 = false;  // itself, or a member; IPv6 routes can not use it
  bool has_ipv6 = false;
  bool has_gateway = false;  // of a group: its first member, as the kernel looks (fib_check_nexthop)
  bool onlink = false;       // likewise
  GroupType type = GroupType::kHashThreshold;
  uint16_t buckets = 0;
  uint32_t members = 0;  // 0 for a single one

  bool operator==(const NexthopFacts&) const = default;
};

NexthopFacts facts_of(const Nexthop& nexthop);

// Users of one nexthop or group: a row of the nexthop_users table, so that a count in a refusal, the last
// user of an interned object and an emptiness check cost one read, whatever was deleted before.
struct Users {
  uint64_t ipv4_routes = 0;
  uint64_t ipv6_routes = 0;
  uint64_t link_scope = 0;  // of the IPv4 routes: scope link
  uint64_t host_scope = 0;  // of the IPv4 routes: scope host
  uint64_t groups = 0;

  uint64_t routes() const { return ipv4_routes + ipv6_routes; }
  bool none() const { return routes() == 0 && groups == 0; }
  void count_route(Family family, uint8_t scope, int64_t difference);
  bool operator==(const Users&) const = default;
};

// users := ipv4:8 ipv6:8 link_scope:8 host_scope:8 groups:8
std::string encode(const Users& users);
Users decode_users(std::string_view bytes);

}  // namespace waypost::store
