// What this host's kernel can do, found out without disturbing anything: objects of the scratch range that
// are refused where their id is taken and removed at once, and deletes that can match nothing.
#pragma once

#include "kernel_sync/kernel.h"
#include "kernel_sync/netlink/execute.h"
#include "kernel_sync/netlink/query.h"

namespace waypost::kernel_sync::netlink {

Capabilities probe_capabilities(Executor& executor, Query& query, KernelCounters& counters);

}  // namespace waypost::kernel_sync::netlink
