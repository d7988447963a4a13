// What kernel_sync says of itself and of single rows, as values: for the node to serve and the CLI to print.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel_sync/kernel.h"
#include "model/hash128.h"
#include "model/named_type.h"
#include "model/route.h"

namespace waypost::kernel_sync {

// SEMANTICS.md B1. Numbers are sent: never reused.
enum class RowState : uint8_t {
  kInstalled = 1,
  kPending = 2,  // the device is absent, down or without carrier; no connected route; its nexthop is pending
  kLocalHere = 3,  // its gateway is an address of this host
  kDegraded = 4,   // a group with some members out, and installed
  kRefused = 5,    // by the kernel, with its text
  kConflict = 6,   // another owner has the key or the id
  kUnknown = 7,    // not looked at yet, or a link event made it doubtful
};
const char* to_string(RowState state);

struct RowReport {
  bool is_route = false;
  NexthopId nexthop;  // where !is_route
  RouteKey route;     // where is_route
  RowState state = RowState::kUnknown;
  std::string reason;  // "device eth7 does not exist", the kernel's words, "route of proto static in the way"
};

struct StateCounts {
  uint64_t installed = 0, pending = 0, local_here = 0, degraded = 0, refused = 0, conflict = 0, unknown = 0;
};

struct FibStatus {
  bool enabled = true;
  Revision store_revision;   // newest in the store when this was written
  Revision synced_revision;  // everything up to it is in one of the states
  Hash128 history;
  bool in_sync = false;
  bool clean = false;
  StateCounts nexthops;
  StateCounts routes;
  std::vector<RowReport> examples;  // of what is not installed, at most 32 of each state
  std::string hold;                 // why sweeping is held and what to do; empty: not held
  uint64_t held_objects = 0;        // that would go
  uint64_t kernel_nexthops = 0;     // ours, as last known
  uint64_t kernel_routes = 0;
  uint64_t foreign_nexthops = 0;
  uint64_t foreign_routes = 0;
  uint64_t repaired_nexthops = 0;  // drift repaired since the start
  uint64_t repaired_routes = 0;
  std::string last_drift;           // "3 routes missing after link eth0 went down, repaired"
  std::vector<std::string> fights;  // objects that someone keeps changing, damped
  uint64_t audits = 0;
  uint64_t last_audit_us = 0;  // wall clock; 0: none yet
  uint64_t last_audit_took_us = 0;
  std::string last_audit_result;
  uint64_t false_missing = 0;  // rows that a dump did not show and that were there (KERNEL.md K15)
  int compat_mode = -1;
  Capabilities capabilities;
  KernelCounters kernel;
  uint64_t trie_bytes = 0;
  uint64_t agent_bytes = 0;  // desired and installed, everything
  std::string problem;       // the kernel side is down: namespace gone, no permission; empty: none
};

struct WaitReport {
  bool reached = false;  // in sync at the revision asked for, within the deadline
  Revision synced_revision;
  std::vector<RowReport> not_installed;  // of the rows asked about, at most 32
  uint64_t not_installed_count = 0;
};

// `fib get ADDR`: the longest match in the trie beside the kernel's own answer.
struct FibGetReport {
  std::optional<Route> desired;
  RowState desired_state = RowState::kUnknown;
  std::string reason;
  std::optional<KernelRoute> kernel;  // match_route in that table
  std::string kernel_device;          // name for the answer's first path
};

// One line of `fib diff`.
struct FibDifference {
  enum class Kind : uint8_t { kMissing = 1, kExtra = 2, kDifferent = 3 } kind = Kind::kMissing;
  RowReport row;       // state and reason say why a missing one is missing
  std::string wanted;  // iproute2's words, empty for extra
  std::string found;   // empty for missing
};

}  // namespace waypost::kernel_sync
