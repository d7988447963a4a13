// A whole look at the kernel by dumps: at the start, after an overrun, and as the audit. Dumps are hints
// (KERNEL.md K14, K15): what one shows is taken, what it does not show is asked for by key before it counts
// as gone. A dump of a full table takes a second, in which other owners go on: events are taken while it
// runs, and rows they tell of are not compared with what the dump showed before or after.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel_sync/fib.h"
#include "kernel_sync/kernel.h"
#include "kernel_sync/learn.h"

namespace waypost::kernel_sync {

struct Observation {
  Status status;  // kUnavailable where a dump failed or stayed torn: nothing was concluded from it
  struct Count {
    uint64_t missing = 0;    // of ours, confirmed
    uint64_t extra = 0;      // of ours, not known before
    uint64_t different = 0;  // of ours

    uint64_t total() const { return missing + extra + different; }
  };
  Count nexthops;
  Count routes;
  uint64_t false_missing = 0;  // a dump did not show them, and they were there
};

// What events told of while a dump ran. Above limits::kMaxTouchedRoutes keys, or where a nexthop went, which
// takes routes along without a word, the dump is of no use.
struct Heard {
  std::set<RouteKey> routes;
  bool too_much = false;
};

class Observer {
 public:
  // `listen` takes the events that are there.
  Observer(Kernel& kernel, Fib& fib, Learner& learner, std::function<void(Heard&)> listen)
      : kernel_(kernel), fib_(fib), learner_(learner), listen_(std::move(listen)) {}

  Observation look();
  // Only nexthops: after link events.
  Observation look_at_nexthops();

 private:
  Status nexthops();
  Status routes(Family family);
  Status dump_routes(Family family);
  // Of ours or others', missing in the dump: asked for by key, or sampled where they are many.
  Status missing_routes(Side side, const std::vector<RouteKey>& keys, bool* short_dump);
  bool confirm(Side side, const RouteKey& key, Status* status);

  Kernel& kernel_;
  Fib& fib_;
  Learner& learner_;
  std::function<void(Heard&)> listen_;
  Heard heard_;
  std::vector<std::pair<RouteKey, SpecId>> twins_;  // shown a second time by this dump
  Observation seen_;
};

}  // namespace waypost::kernel_sync
