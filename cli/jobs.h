// Work that the asked node plans and runs as many bounded transactions: flushes, large cascades, rollbacks.
#pragma once

#include "cli/context.h"

namespace waypost::rpc {
class Request;
}

namespace waypost::cli {

int run_nexthop_flush(const Context& context, std::span<const Word> words);
int run_route_flush(const Context& context, std::span<const Word> words);
int run_cascade_delete(const Context& context, NexthopId id);
// The same without --wait=fib; *revision is where it ended.
int cascade_delete(const Context& context, NexthopId id, Revision* revision);
int run_rollback(const Context& context, Words words);

}  // namespace waypost::cli
