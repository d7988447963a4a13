// kernel_sync: follows the local store and makes the kernel's FIB hold what it says, and keeps it so.
//
//   store changes ─▶ desired ─┐
//                             ├─ diff ─▶ make_plan ─▶ Kernel::execute ─▶ installed, states
//   kernel events ─▶ installed┘
//
// The syncer has one thread of its own, which alone uses the Kernel. Public functions may be called from any
// thread; callbacks run on the syncer's thread and must not block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kernel_sync/kernel.h"
#include "kernel_sync/status.h"
#include "store/store.h"

namespace waypost::kernel_sync {

enum class CompatModePolicy { kSetZero, kLeave };

struct SyncerOptions {
  uint8_t protocol = 87;       // rtm_protocol and nh_protocol of every object of ours
  std::string data_directory;  // owner numbers ever used are kept here (SEMANTICS.md B7)
  std::string mark_path;       // the proof of SEMANTICS.md B4, in a directory that a reboot empties
  CompatModePolicy compat_mode = CompatModePolicy::kSetZero;
  uint64_t audit_period_ms = 300'000;  // +-20 %
  double audit_core_share = 0.05;
  uint64_t link_settle_ms = 100;                   // link events are coalesced over this
  uint64_t sweep_objects = 1'000;                  // hold when more than this many and more than
  double sweep_share = 0.10;                       // this share of our objects would go unproven
  std::map<TableId, bool> unreachable_on_pending;  // on_pending = "unreachable" per table
};

// Called on the syncer's thread, once, before anything else: the Kernel of that thread's network namespace.
using KernelFactory = std::function<Result<std::unique_ptr<Kernel>>()>;

class Syncer {
 public:
  Syncer(SyncerOptions options, const store::Store& store, KernelFactory open_kernel);
  ~Syncer();

  // Starts the thread and waits until the kernel is open (error: kPermissionDenied, kFailedPrecondition for a
  // second kernel_sync in this namespace, ...).
  Status start();
  // Leaves the FIB as it is.
  void stop();

  // The store has a newer revision: cheap, any thread.
  void notify();

  FibStatus status() const;
  // Row keys (row_codec.h) of a transaction: `done` runs when in sync at `revision`, or at the deadline.
  struct Rows {
    std::vector<NexthopId> nexthops;
    std::vector<RouteKey> routes;
  };
  void wait(Revision revision, Rows rows, std::chrono::milliseconds deadline,
            std::function<void(WaitReport)> done);
  void get(const IpAddress& address, TableId table, std::function<void(Result<FibGetReport>)> done);
  // The difference between the store and the kernel now, line by line; `done` after the last. `visit`
  // returns false to stop. It is a look like an audit's: what differs is mended behind it.
  void diff(std::function<bool(const FibDifference&)> visit, std::function<void(Status)> done);
  void audit(std::function<void(Status)> done);
  // Goes on with a held sweep.
  void sweep(std::function<void(Status)> done);
  // Removes our routes, groups and nexthops and nothing else, then stays idle until the restart.
  void release(std::function<void(Result<uint64_t>)> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// `waypostd --release`: as Syncer::release without a store. Owner numbers come from options.data_directory.
Result<uint64_t> release_offline(const SyncerOptions& options, Kernel& kernel);

}  // namespace waypost::kernel_sync
