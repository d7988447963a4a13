// Questions about routes. The kernel answers "which entry do the policy rules choose for this address" at the
// cost of a lookup; it has no question for one key or for one table. What stands in for them, and what it
// costs, is said at each function.
#pragma once

#include <functional>
#include <optional>

#include "kernel_sync/kernel.h"
#include "kernel_sync/netlink/query.h"

namespace waypost::kernel_sync::netlink {

DumpOutcome dump_routes(Query& query, Family family, std::optional<TableId> table,
                        const std::function<void(const KernelRoute&)>& visit);

// A lookup where the rules choose `table` for the address; else (other table first, no answer, an IPv4 error
// route, an IPv6 route by nexthop id) a dump of that table.
Result<std::optional<KernelRoute>> match_route(Query& query, const IpAddress& address, TableId table);

// A lookup. IPv4 answers error routes with an errno only: their row is then looked for in the main table.
// IPv6 routes by nexthop id are looked for in the table of the answer.
Result<std::optional<KernelRoute>> lookup(Query& query, const IpAddress& address);

// Whether the key is taken at all: one question (encode_probe_key).
Result<bool> has_route(Query& query, const RouteKey& key);

// A lookup where the answer is the wanted row; else one more question, whether the key is taken at all,
// which settles "missing"; else, for a row that a more specific prefix, another metric,
// tos or table hides, a dump of its table. IPv6 is dear in bulk: the kernel writes a line to its log for each
// key that is not taken, and its lookups rarely find a route by nexthop id that shares its nexthop with
// others.
Result<std::optional<KernelRoute>> get_route(Query& query, const RouteKey& key);

}  // namespace waypost::kernel_sync::netlink
