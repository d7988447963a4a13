// Short ways to say the objects that kernel tests put.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernel_sync/kernel.h"

namespace waypost::kernel_sync {

constexpr uint8_t kOurs = 87;
constexpr uint8_t kTheirs = 186;

inline IpAddress address(const std::string& text) {
  return parse_address(text).value();
}

// "192.0.2.0/24"; host bits are kept as written.
inline Prefix prefix(const std::string& text) {
  const size_t slash = text.find('/');
  return {address(text.substr(0, slash)), static_cast<uint8_t>(std::stoi(text.substr(slash + 1)))};
}

inline KernelNexthop via(uint32_t id, const std::string& gateway, uint32_t ifindex, bool onlink = false) {
  KernelNexthop result;
  Nexthop nexthop;
  nexthop.gateway = address(gateway);
  nexthop.family = nexthop.gateway->family;
  nexthop.onlink = onlink;
  result.object = {NexthopId(id), kOurs, nexthop};
  result.ifindex = ifindex;
  return result;
}

inline KernelNexthop on_device(uint32_t id, uint32_t ifindex, Family family = Family::kIpv4) {
  KernelNexthop result;
  Nexthop nexthop;
  nexthop.family = family;
  result.object = {NexthopId(id), kOurs, nexthop};
  result.ifindex = ifindex;
  return result;
}

inline KernelNexthop blackhole(uint32_t id, Family family = Family::kIpv4) {
  KernelNexthop result = on_device(id, 0, family);
  std::get<Nexthop>(result.object.body).blackhole = true;
  return result;
}

inline KernelNexthop fdb(uint32_t id, const std::string& gateway) {
  KernelNexthop result = via(id, gateway, 0);
  std::get<Nexthop>(result.object.body).fdb = true;
  return result;
}

inline KernelNexthop group(uint32_t id, const std::vector<std::pair<uint32_t, uint16_t>>& members) {
  KernelNexthop result;
  NexthopGroup body;
  for (const auto& [member, weight] : members) body.members.push_back({NexthopId(member), weight});
  result.object = {NexthopId(id), kOurs, body};
  return result;
}

inline KernelNexthop resilient(uint32_t id, const std::vector<uint32_t>& members, uint16_t buckets) {
  KernelNexthop result = group(id, {});
  auto& body = std::get<NexthopGroup>(result.object.body);
  for (const uint32_t member : members) body.members.push_back({NexthopId(member), 1});
  body.type = GroupType::kResilient;
  body.resilient.buckets = buckets;
  return result;
}

inline KernelNexthop with_protocol(KernelNexthop nexthop, uint8_t protocol) {
  nexthop.object.protocol = protocol;
  return nexthop;
}

inline RouteKey key(const std::string& to, uint32_t metric = 0, uint32_t table = 254, uint8_t tos = 0) {
  RouteKey result{TableId(table), prefix(to), tos, metric};
  if (result.prefix.family() == Family::kIpv6 && metric == 0) result.metric = 1024;
  return result;
}

inline KernelRoute route(const RouteKey& route_key, uint32_t nexthop, uint8_t protocol = kOurs) {
  KernelRoute result;
  result.route.key = route_key;
  result.route.nexthop = NexthopId(nexthop);
  result.route.protocol = protocol;
  return result;
}

inline KernelRoute error_route(const RouteKey& route_key, RouteType type, uint32_t nexthop = 0) {
  KernelRoute result = route(route_key, nexthop);
  result.route.type = type;
  return result;
}

inline KernelRoute classic(const RouteKey& route_key, const std::vector<KernelPath>& paths) {
  KernelRoute result = route(route_key, 0, kTheirs);
  result.paths = paths;
  return result;
}

inline KernelStep put(KernelNexthop nexthop) {
  return PutKernelNexthop{std::move(nexthop), false};
}
inline KernelStep put(KernelRoute row) {
  return PutKernelRoute{std::move(row), false};
}
inline KernelStep add(KernelNexthop nexthop) {
  return PutKernelNexthop{std::move(nexthop), true};
}
inline KernelStep add(KernelRoute row) {
  return PutKernelRoute{std::move(row), true};
}
inline KernelStep del(uint32_t id) {
  return DeleteKernelNexthop{NexthopId(id)};
}
inline KernelStep del(const RouteKey& route_key, uint32_t nexthop = 0) {
  return DeleteKernelRoute{route_key, std::nullopt, std::nullopt, NexthopId(nexthop)};
}

}  // namespace waypost::kernel_sync
