// What is said of single rows and of all of them together: pure looks at the engine's state.
#pragma once

#include <string>

#include "kernel_sync/engine.h"
#include "kernel_sync/status.h"

namespace waypost::kernel_sync {

// A row of the store, or of the kernel where the store lacks it ("held by foreign route ...").
RowReport report(const Fib& fib, NexthopId id);
RowReport report(const Fib& fib, const RouteKey& key);

StateCounts count_nexthops(const Fib& fib);
StateCounts count_routes(const Fib& fib);
// Examples of what is not installed, at most limits::kMaxReportedRows of each state.
std::vector<RowReport> examples(const Fib& fib);
std::vector<std::string> fights(const Fib& fib, uint64_t now_ms);
FibStatus make_status(const Engine& engine, uint64_t now_ms);

// iproute2's words for what the kernel shows.
std::string kernel_words(const KernelNexthop& nexthop, Host& host);
std::string kernel_words(const KernelRoute& route, Host& host);

}  // namespace waypost::kernel_sync
