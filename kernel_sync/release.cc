// `waypostd --release`: what is ours goes, nothing else, without a store.

#include <thread>

#include "kernel_sync/engine.h"
#include "kernel_sync/syncer_loop.h"

namespace waypost::kernel_sync {
namespace {

uint64_t ours_in(const Fib& fib) {
  uint64_t ours = fib.routes.count(Side::kOurs);
  fib.installed.walk(NexthopId(0), [&](NexthopId, const NexthopTable::Row& row) {
    ours += row.ours;
    return true;
  });
  return ours;
}

}  // namespace

Result<uint64_t> release_offline(const SyncerOptions& options, Kernel& kernel) {
  constexpr uint64_t kPatienceMs = 60'000;
  SyncerOptions quiet = options;
  quiet.compat_mode = CompatModePolicy::kLeave;
  quiet.audit_period_ms = 0;
  Engine engine(quiet, kernel, 0);
  if (Status status = engine.open(SyncerLoop::now_ms()); !status.ok()) return status.error();
  const uint64_t before = ours_in(engine.fib());
  engine.want_nothing();
  uint64_t last_progress_ms = SyncerLoop::now_ms();
  uint64_t left = before;
  while (!engine.settled()) {
    const uint64_t now = SyncerLoop::now_ms();
    engine.handle(kernel.wait(0), now);
    if (!engine.round(now)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (const uint64_t rest = ours_in(engine.fib()); rest != left) {
      left = rest;
      last_progress_ms = now;
    }
    if (now < last_progress_ms + kPatienceMs) continue;
    return Error{ErrorCode::kUnavailable,
                 std::to_string(left) + " of " + std::to_string(before) +
                     " objects could not be removed: " + engine.problem(),
                 "try again"};
  }
  return before - ours_in(engine.fib());
}

}  // namespace waypost::kernel_sync
