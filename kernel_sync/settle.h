// What became of a plan: failed steps are taken back out of `installed`, classified, and put on the work list
// or among the failures with the kernel's words. No I/O.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "kernel_sync/learn.h"
#include "kernel_sync/plan.h"

namespace waypost::kernel_sync {

struct Settled {
  uint64_t done = 0;
  uint64_t refused = 0;
  std::string first_refusal;          // "route 10.0.0.0/8: Nexthop id does not exist." for the log
  bool passing = false;               // ENOMEM and the like: pause, then go on
  std::string problem;                // the socket, or no permission: pause longer
  bool resync = false;                // what is in the kernel is not known any more
  std::set<uint32_t> doubtful_links;  // the kernel contradicted what was known of these
};

Settled settle(Fib& fib, Work& work, Plan& plan, const BatchOutcome& outcome, Questions& questions,
               uint64_t now_ms);

}  // namespace waypost::kernel_sync
