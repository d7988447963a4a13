// What `show`, `list`, `flush`, `save` and `get` ask for, in iproute2's words. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/route_printer.h"
#include "model/parse.h"

namespace waypost::cli {

struct NexthopQuery {
  std::optional<NexthopId> id;
  std::optional<uint32_t> protocol;
  std::optional<std::string> device;
  bool groups = false;
  bool fdb = false;
  std::optional<Family> family;
};

struct RouteQuery {
  enum class Selector : uint8_t { kAll, kExact, kMatch, kRoot };
  Selector selector = Selector::kAll;
  Prefix prefix;                 // unless kAll
  std::optional<Family> family;  // none: both
  std::optional<TableId> table;  // none: all tables
  std::optional<uint32_t> protocol;
  std::optional<NexthopId> nexthop;
  std::optional<RouteType> type;
  std::optional<uint32_t> scope;
  std::optional<uint8_t> tos;
  std::optional<uint32_t> metric;
  std::optional<std::string> device;
  std::optional<IpAddress> via;
  std::optional<IpAddress> prefsrc;

  HiddenFields hidden() const;
};

// `words` stand behind object and verb.
Result<NexthopQuery> parse_nexthop_query(std::span<const Word> words, const ParseContext& context);

// As `ip` does: table main and IPv4 where nothing else is said; `table all` and no family means both.
Result<RouteQuery> parse_route_query(std::span<const Word> words, const ParseContext& context);

// The key behind which a page begins, from the value of --after. A route's is written as `list` prints it:
// "PREFIX [table T] [metric N] [tos T]", where no table means that of `query` and no metric what `ip` takes.
Result<NexthopId> parse_nexthop_after(std::string_view text);
Result<RouteKey> parse_route_after(std::string_view text, const RouteQuery& query,
                                   const ParseContext& context);

// `route get [to] [fibmatch] ADDRESS [table T]`
struct RouteLookup {
  IpAddress address;
  TableId table = kMainTable;
};
Result<RouteLookup> parse_route_lookup(std::span<const Word> words, const ParseContext& context);

// A number or a name; `what` is "table" and so on.
Result<uint32_t> parse_named(std::string_view text, const NumberNames& names, std::string_view what,
                             uint32_t largest);

}  // namespace waypost::cli
