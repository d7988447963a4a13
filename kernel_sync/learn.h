// What the kernel shows, taken into `installed`: rows of dumps, answers of gets, notifications. Whatever no
// longer is as wanted goes on the work list. No I/O.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kernel_sync/fib.h"
#include "kernel_sync/kernel.h"
#include "kernel_sync/work.h"

namespace waypost::kernel_sync {

// Questions that a notification or a failed step leaves, to be asked of the kernel one by one.
struct Questions {
  // What the notification showed, to tell a twin from a replacement (KERNEL.md K11).
  std::map<RouteKey, std::optional<RouteSpec>> routes;
  IdSet nexthops;

  bool empty() const { return routes.empty() && nexthops.empty(); }
};

// Objects of ours that others changed or took: told in the status, and counted as repaired once they are
// right again.
struct Drift {
  uint64_t nexthops = 0;
  uint64_t routes = 0;
  std::string cause;  // of the last: "nexthop 7 deleted by another process"
};

class Learner {
 public:
  // `hold`: what the store lacks is not swept for now (SEMANTICS.md B4).
  Learner(Fib& fib, Work& work, Questions& questions, bool hold, uint64_t now_ms)
      : fib_(fib), work_(work), questions_(questions), hold_(hold), now_ms_(now_ms) {}

  // False for rows that are never ours nor in our way: table local, cloned and multicast routes.
  static bool concerns_us(const KernelRoute& route);
  // The row's spec; one of ours over a blackhole nexthop reads back as a blackhole whatever was asked for.
  SpecId spec_of(const KernelRoute& route);

  void nexthop(const KernelNexthop& found);
  // The object is gone, and with it what the kernel takes along in silence (KERNEL.md K9, K12).
  void nexthop_gone(NexthopId id);
  // What a get of this key answered: its first row, or none.
  void route(const RouteKey& key, const std::optional<KernelRoute>& found,
             const std::optional<RouteSpec>& shown);
  void ours(const RouteKey& key, SpecId spec);
  void foreign(const RouteKey& key, SpecId spec);
  void gone(Side side, const RouteKey& key);
  // A row of ours behind the first of its key.
  void twin(const RouteKey& key, SpecId spec) { work_.twins[key].push_back(fib_.routes.specs()[spec]); }

  void event(const NexthopEvent& event);
  void event(const RouteEvent& event);

  Drift drift;
  // A connected route came or went: "resolve here" and refused gateways have to be looked at again.
  bool connected_changed = false;

 private:
  void lost_nexthop(NexthopId id);
  void let_go(NexthopId id);
  void let_go_members(NexthopId id);
  // Ours was changed or taken by others: watched, and put off where that happens again and again.
  void count_drift(const RouteKey& key);
  void count_drift(NexthopId id);
  Fib& fib_;
  Work& work_;
  Questions& questions_;
  bool hold_;
  uint64_t now_ms_;
};

}  // namespace waypost::kernel_sync
