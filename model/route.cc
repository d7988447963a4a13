#include "model/route.h"

#include "model/limits.h"

namespace waypost {
namespace {

constexpr uint8_t kEcnBits = 3;
constexpr uint8_t kPreferenceHigh = 1;
constexpr uint8_t kPreferenceLow = 3;

// RTAX_* of linux/rtnetlink.h.
constexpr uint8_t kRtaxLock = 1;
constexpr uint8_t kRtaxHoplimit = 10;
constexpr uint8_t kRtaxFeatures = 12;
constexpr uint8_t kRtaxCongestionControl = 16;
constexpr uint8_t kRtaxLast = 17;

Error invalid(std::string words, std::string hint = {}) {
  return {.code = ErrorCode::kInvalidArgument, .message = std::move(words), .hint = std::move(hint)};
}

Status validate_key(const RouteKey& key) {
  const bool ipv4 = key.prefix.family() == Family::kIpv4;
  if (key.prefix.length > address_bits(key.prefix.family()))
    return invalid("the prefix is longer than its address");
  if (masked(key.prefix.address, key.prefix.length) != key.prefix.address)  // KERNEL.md case 49
    return invalid("the prefix has bits set behind its length");
  if (key.table.value() == 0) return invalid("table 0 is no table", "254 is main");
  if (key.table == kLocalTable)
    return invalid("table 255 (local) belongs to each host's kernel", "use another table");
  if (!ipv4 && key.tos != 0) return invalid("IPv6 routes have no tos");
  if ((key.tos & kEcnBits) != 0)
    return invalid("the two low bits of tos belong to ECN", "give a multiple of 4");
  if (!ipv4 && key.metric == 0) return invalid("an IPv6 route has no metric 0", "1024 is the default");
  return {};
}

// The kernel cuts mtu, advmss and hoplimit at these bounds: a row beyond them would never equal what it
// holds.
Status validate_metric(uint8_t number, uint32_t value) {
  if (number <= kRtaxLock || number > kRtaxLast || number == kRtaxCongestionControl)
    return invalid("route metric " + std::to_string(number) + " is not known");
  if (value == 0) return invalid("a route metric of 0 is one that is not set", "leave it out");
  if (number == kRtaxMtu && value > kLargestMtu)
    return invalid("an mtu is at most " + std::to_string(kLargestMtu));
  if (number == kRtaxAdvmss && value > kLargestAdvmss)
    return invalid("an advmss is at most " + std::to_string(kLargestAdvmss));
  if (number == kRtaxHoplimit && value > 255) return invalid("a hoplimit is at most 255");
  if (number == kRtaxFeatures && (value & ~kFeatureEcn) != 0) return invalid("the only route feature is ecn");
  return {};
}

Status validate(const RouteMetrics& metrics) {
  uint8_t last = 0;
  for (const auto& [number, value] : metrics.values) {
    if (number <= last) return invalid("route metrics stand in ascending order, each once");
    last = number;
    if (Status status = validate_metric(number, value); !status.ok()) return status;
  }
  if ((metrics.lock & 1) != 0 || metrics.lock >> (kRtaxLast + 1) != 0)
    return invalid("a lock names no route metric");
  if (metrics.congestion_control.size() > kLongestCongestionControl)
    return invalid("the name of a congestion control has at most 15 characters");
  return {};
}

Status validate_attributes(const Route& route) {
  const Family family = route.key.prefix.family();
  const bool ipv4 = family == Family::kIpv4;
  if (!ipv4 && route.scope != kScopeGlobal) return invalid("IPv6 routes have no scope");
  if (ipv4 && route.preference != 0) return invalid("IPv4 routes have no router preference");
  if (route.scope > kScopeHost) return invalid("a route can not have the scope nowhere");
  if (route.preference != 0 && route.preference != kPreferenceHigh && route.preference != kPreferenceLow)
    return invalid("a router preference is low, medium or high");
  if (route.prefsrc && route.prefsrc->family != family) return invalid("src is not of the route's family");
  return validate(route.metrics);
}

// As `ip` writes tos, and as it reads it: always hexadecimal.
std::string hex_byte(uint8_t byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  return {'0', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

bool is_known(RouteType type) {
  switch (type) {
    case RouteType::kUnicast:
    case RouteType::kBlackhole:
    case RouteType::kUnreachable:
    case RouteType::kProhibit:
    case RouteType::kThrow:
      return true;
  }
  return false;
}

std::string_view to_string(RouteType type) {
  switch (type) {
    case RouteType::kUnicast:
      return "unicast";
    case RouteType::kBlackhole:
      return "blackhole";
    case RouteType::kUnreachable:
      return "unreachable";
    case RouteType::kProhibit:
      return "prohibit";
    case RouteType::kThrow:
      return "throw";
  }
  return "unknown";
}

Status validate(const Route& route) {
  if (Status status = validate_key(route.key); !status.ok()) return status;
  if (!is_known(route.type))
    return invalid("a route is unicast, blackhole, unreachable, prohibit or throw",
                   "local, broadcast and multicast routes belong to each host's kernel");
  if (route.type == RouteType::kUnicast && route.nexthop.value() == 0)
    return invalid("a unicast route needs a nexthop", "add `nhid ID`, `via ADDRESS` or `dev NAME`");
  return validate_attributes(route);
}

std::string to_string(const RouteKey& key) {
  std::string text = to_string(key.prefix);
  if (key.table != kMainTable) text += " table " + std::to_string(key.table.value());
  if (key.tos != 0) text += " tos " + hex_byte(key.tos);
  if (key.metric != usual_metric(key.prefix.family())) text += " metric " + std::to_string(key.metric);
  return text;
}

}  // namespace waypost
