#include "store/facts.h"

#include "model/bytes.h"
#include "model/check.h"

namespace waypost::store {

NexthopFacts facts_of(const Nexthop& nexthop) {
  NexthopFacts facts;
  facts.blackhole = nexthop.blackhole;
  facts.fdb = nexthop.fdb;
  facts.has_ipv4 = nexthop.family == Family::kIpv4;
  facts.has_ipv6 = !facts.has_ipv4;
  facts.has_gateway = nexthop.gateway.has_value();
  facts.onlink = nexthop.onlink;
  return facts;
}

void Users::count_route(Family family, uint8_t scope, int64_t difference) {
  const auto step = static_cast<uint64_t>(difference);
  if (family == Family::kIpv6) {
    ipv6_routes += step;
    return;
  }
  ipv4_routes += step;
  if (scope == kScopeLink) link_scope += step;
  if (scope == kScopeHost) host_scope += step;
}

std::string encode(const Users& users) {
  std::string bytes;
  bytes.reserve(40);
  append_u64(bytes, users.ipv4_routes);
  append_u64(bytes, users.ipv6_routes);
  append_u64(bytes, users.link_scope);
  append_u64(bytes, users.host_scope);
  append_u64(bytes, users.groups);
  return bytes;
}

Users decode_users(std::string_view bytes) {
  ByteReader reader(bytes);
  Users users;
  users.ipv4_routes = reader.u64();
  users.ipv6_routes = reader.u64();
  users.link_scope = reader.u64();
  users.host_scope = reader.u64();
  users.groups = reader.u64();
  WAYPOST_CHECK(reader.done(), "a users row has five counts");
  return users;
}

}  // namespace waypost::store
