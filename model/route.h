// Routes: (table, prefix, tos, metric) -> type and nexthop id, with the attributes of `ip route`.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/ip.h"
#include "model/named_type.h"

namespace waypost {

// The values are the kernel's RTN_*.
enum class RouteType : uint8_t { kUnicast = 1, kBlackhole = 6, kUnreachable = 7, kProhibit = 8, kThrow = 9 };

// False for a byte that is none of the types above (RTN_LOCAL, RTN_MULTICAST, ...).
bool is_known(RouteType type);
// iproute2's word: "unicast", "blackhole", ...
std::string_view to_string(RouteType type);

// What `ip route` calls the metric when none is given (KERNEL.md K2).
constexpr uint32_t usual_metric(Family family) {
  return family == Family::kIpv4 ? 0 : 1024;
}

// What names a route (KERNEL.md K2); ordered as the store orders it.
struct RouteKey {
  TableId table = kMainTable;
  Prefix prefix;
  uint8_t tos = 0;      // IPv4 only, its two ECN bits 0
  uint32_t metric = 0;  // IPv6: 0 is never stored, an absent metric is the usual one

  auto operator<=>(const RouteKey&) const = default;
};

// RTAX_* numbers with bounds of their own, and the largest values the kernel keeps of them.
constexpr uint8_t kRtaxMtu = 2;
constexpr uint8_t kRtaxAdvmss = 8;
constexpr uint32_t kLargestMtu = 65'535 - 15;
constexpr uint32_t kLargestAdvmss = 65'535 - 40;
constexpr uint32_t kFeatureEcn = 1;
constexpr size_t kLongestCongestionControl = 15;

// RTAX_* number and value, in ascending order of the number; congestion control is text.
struct RouteMetrics {
  std::vector<std::pair<uint8_t, uint32_t>> values;  // mtu, window, rtt, ..., without lock and cc_algo
  uint32_t lock = 0;                                 // bit n: RTAX n is locked
  std::string congestion_control;

  bool empty() const { return values.empty() && lock == 0 && congestion_control.empty(); }
  bool operator==(const RouteMetrics&) const = default;
};

constexpr uint8_t kProtocolBoot = 3;
constexpr uint8_t kScopeGlobal = 0;
constexpr uint8_t kScopeLink = 253;
constexpr uint8_t kScopeHost = 254;

struct Route {
  RouteKey key;
  RouteType type = RouteType::kUnicast;
  NexthopId nexthop;                 // none (0) only where type is an error type
  uint8_t protocol = kProtocolBoot;  // as its writer named it
  uint8_t scope = kScopeGlobal;      // IPv6: always global
  uint8_t preference = 0;            // IPv6 router preference, ICMPV6_ROUTER_PREF_*: 0 medium, 1 high, 3 low
  std::optional<IpAddress> prefsrc;
  RouteMetrics metrics;

  bool operator==(const Route&) const = default;
};

// The rules that need nothing but the route itself: family-specific bounds, table 255 and tos bits, type
// against nexthop.
Status validate(const Route& route);

// "10.0.0.0/8 table 100 metric 20": the object's name in every error. Main table, tos 0 and the family's
// default metric are left out.
std::string to_string(const RouteKey& key);

}  // namespace waypost
