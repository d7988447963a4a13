// A Kernel in memory for unit tests and the simulator: FakeFib's rules behind the seam, with an event queue
// and planted faults. One thread, except wake(). wait() never blocks: what is queued is what there is.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <span>

#include "kernel_sync/fake_fib.h"
#include "kernel_sync/kernel.h"

namespace waypost::kernel_sync {

// Each fault holds for the next n calls, then heals by itself.
struct FakeFaults {
  int torn_dumps = 0;    // kInterrupted, with half of the rows
  int failed_dumps = 0;  // kFailed, with half of the rows
  int short_dumps = 0;   // kComplete, with half of the rows (KERNEL.md K14, K15)
  // kComplete, with the first row once more at the end: the walk began again because the table changed, which
  // `amid_dump` does.
  int restarted_dumps = 0;
  std::function<void()> amid_dump;
  int failed_gets = 0;   // every get and match
  int lost_sockets = 0;  // execute(): after `lost_after` steps of the call the socket fails ...
  size_t lost_after = 0;
  size_t lost_but_done = 0;  // ... while this many more steps are carried out, unknown to the caller
  size_t event_limit =
      100'000;  // events queued beyond it are lost, and wait() says OverrunEvent (KERNEL.md K16)
  // The kernel's answer to a step instead of its own; nothing for its own.
  std::function<std::optional<FakeAnswer>(const KernelStep&)> refuse;
};

class FakeKernel final : public Kernel {
 public:
  FakeKernel();

  BatchOutcome execute(std::span<const KernelStep> steps) override;
  DumpOutcome dump_nexthops(const std::function<void(const KernelNexthop&)>& visit) override;
  DumpOutcome dump_routes(Family family, std::optional<TableId> table,
                          const std::function<void(const KernelRoute&)>& visit) override;
  DumpOutcome dump_addresses(const std::function<void(const KernelAddress&)>& visit) override;
  DumpOutcome dump_links(const std::function<void(const KernelLink&)>& visit) override;
  Result<std::optional<KernelNexthop>> get_nexthop(NexthopId id) override;
  Result<std::optional<KernelRoute>> match_route(const IpAddress& address, TableId table) override;
  Result<std::optional<KernelRoute>> lookup(const IpAddress& address) override;
  Result<std::optional<KernelRoute>> get_route(const RouteKey& key) override;
  Result<bool> has_route(const RouteKey& key) override;
  Result<std::optional<KernelLink>> get_link(std::string_view name) override;
  Result<std::optional<KernelLink>> get_link(uint32_t ifindex) override;
  std::vector<KernelEvent> wait(int timeout_ms) override;
  void wake() override;
  Result<int> compat_mode() override;
  Status set_compat_mode(int mode) override;
  Capabilities capabilities() override { return capabilities_value; }
  KernelCounters counters() const override;

  // What tests do behind the syncer's back, links and addresses above all.
  void change(const std::function<void(FakeFib&)>& act);
  FakeFib& fib() { return fib_; }
  const FakeFib& fib() const { return fib_; }
  // Another process's steps: announced to wait(), no faults, no observer.
  BatchOutcome foreign(std::span<const KernelStep> steps);
  // `ip route append` by another process.
  FakeAnswer foreign_append(const KernelRoute& route);
  // Where a packet to this address goes now, policy rules included; empty: dropped or unroutable.
  std::vector<KernelPath> forward(const IpAddress& address) const;

  FakeFaults faults;
  // Runs after each step that was carried out, with what the kernel answered: look at the FIB between any two
  // steps.
  std::function<void(const KernelStep& step, const FakeAnswer& answer)> after_step;
  Capabilities capabilities_value;
  // False: wait() returns at once whatever its timeout, for a simulator whose clock is virtual.
  bool wait_blocks = true;

 private:
  FakeAnswer apply(const KernelStep& step);
  void carry_out(const KernelStep& step, size_t index, BatchOutcome& outcome);
  template <typename Row>
  DumpOutcome dump(std::vector<Row> rows, const std::function<void(const Row&)>& visit, bool may_be_short);
  Status plant_failed_get();
  void queue(KernelEvent event);

  mutable std::recursive_mutex mutex_;  // after_step may look at the kernel
  std::condition_variable_any changed_;
  FakeFib fib_;
  bool by_us_ = false;  // the step running is execute()'s
  std::deque<KernelEvent> events_;
  bool overrun_ = false;
  bool woken_ = false;
  KernelCounters counters_;
};

}  // namespace waypost::kernel_sync
