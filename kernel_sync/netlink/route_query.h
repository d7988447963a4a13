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
// route) a dump of that table.
Result<std::optional<KernelRoute>> match_route(Query& query, const IpAddress& address, TableId table);

// A lookup. IPv4 answers error routes with an errno only: their row is then looked for in the main table.
Result<std::optional<KernelRoute>> lookup(Query& query, const IpAddress& address);

// A lookup where the row is the one its own network address takes; else one more question, whether the key is
// taken at all (encode_probe_key), which settles "missing"; else, for a row that a more specific prefix,
// another metric, tos or table hides, a dump of its table.
Result<std::optional<KernelRoute>> get_route(Query& query, const RouteKey& key);

}  // namespace waypost::kernel_sync::netlink
