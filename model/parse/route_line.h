// What the words of one route line say, before it is known whether they go together.
#pragma once

#include <optional>
#include <vector>

#include "model/parse/cursor.h"

namespace waypost::parse {

struct RouteLine {
  std::optional<Family> family;  // the first address decides it, as in `ip`
  const Word* prefix_word = nullptr;
  bool is_default = false;  // `default`, whose family may be decided later
  Prefix prefix;
  std::optional<RouteType> type;
  uint32_t table = kMainTable.value();
  uint8_t tos = 0;
  const Word* tos_word = nullptr;
  std::optional<uint32_t> metric;
  std::optional<uint8_t> protocol;
  std::optional<uint8_t> scope;
  uint8_t preference = 0;
  std::optional<uint32_t> nexthop;
  const Word* nexthop_word = nullptr;
  std::optional<IpAddress> prefsrc;
  const Word* prefsrc_word = nullptr;
  RouteMetrics metrics;
  const Word* metrics_word = nullptr;
  Nexthop single;  // `via`, `dev`, `onlink` and `encap` outside of `nexthop`
  const Word* single_word = nullptr;
  bool has_via = false;
  std::vector<InlinePath> paths;
  const Word* paths_word = nullptr;
};

inline bool goes_nowhere(const Nexthop& nexthop) {
  return !nexthop.gateway && nexthop.device.empty();
}

// The words behind the verb, to the end of the line.
bool read_route_words(Cursor& cursor, const ParseContext& context, RouteLine& line);

}  // namespace waypost::parse
