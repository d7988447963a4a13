// How a nexthop of the store comes down to this host: its device to an interface index, or the reason why it
// cannot be in the kernel here (SEMANTICS.md A3, A8, B1-B3). Groups follow from their members and are judged
// by the planner.
#pragma once

#include "kernel_sync/fib.h"
#include "kernel_sync/host.h"
#include "kernel_sync/work.h"

namespace waypost::kernel_sync {

struct Resolution {
  bool usable = false;
  RowState state = RowState::kUnknown;
  Reason reason = Reason::kNone;
  uint32_t ifindex = 0;
};

// Of a single nexthop. A question to the kernel at most, and only for a device not seen before.
Resolution resolve(const Fib& fib, Host& host, NexthopId id, const NexthopTable::Row& row);

// Takes up to `limit` ids from work.unresolved; what is changed or new goes on to work.nexthops or
// work.groups.
void resolve_pending(Fib& fib, Work& work, Host& host, uint64_t now_ms, size_t limit);

// "device eth7 does not exist". Kernel words come from the failures.
std::string reason_words(const Fib& fib, NexthopId id, const NexthopTable::Row& row);

}  // namespace waypost::kernel_sync
