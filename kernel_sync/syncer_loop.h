// The syncer's thread: what waits for it and in which order it is served. Commands and notifications come
// from any thread; all else happens on the one that runs open() and run().
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "kernel_sync/engine.h"
#include "kernel_sync/syncer.h"
#include "store/store.h"

namespace waypost::kernel_sync {

class SyncerLoop {
 public:
  SyncerLoop(SyncerOptions options, const store::Store& store)
      : options_(std::move(options)), store_(store) {}

  Status open(const KernelFactory& factory);
  // Until stop(). Commands that are still queued then are called with false.
  void run();

  // Any thread.
  void stop();
  void notify();
  using Command = std::function<void(bool running)>;
  void post(Command command);
  FibStatus status() const;
  static uint64_t now_ms();

  // From commands.
  struct Wait {
    Revision revision;
    std::vector<NexthopId> nexthops;
    std::vector<RouteKey> routes;
    uint64_t deadline_ms = 0;
    std::function<void(WaitReport)> done;
  };
  void add_wait(Wait wait) { waits_.push_back(std::move(wait)); }
  void give_up_waits();
  void when_settled(std::function<void(Status)> done) { settled_calls_.push_back(std::move(done)); }
  void release(std::function<void(Result<uint64_t>)> done);
  Status audit_now();
  Engine& engine() { return *engine_; }
  const store::Store& store() const { return store_; }

 private:
  void wake();
  void run_commands(bool running);
  void take_changes(uint64_t now);
  void load();
  int patience_ms(uint64_t now) const;
  void answer(uint64_t now);
  WaitReport report_of(const Wait& wait, bool reached) const;
  void publish(uint64_t now, bool idle);

  const SyncerOptions options_;
  const store::Store& store_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Engine> engine_;
  std::atomic<Kernel*> to_wake_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> notified_ = true;

  std::mutex commands_mutex_;
  std::deque<Command> commands_;
  bool finished_ = false;  // with commands_mutex_: nobody serves commands any more

  std::vector<Wait> waits_;
  std::vector<std::function<void(Status)>> settled_calls_;
  std::function<void(Result<uint64_t>)> release_done_;
  uint64_t release_from_ = 0;
  bool released_ = false;
  bool busy_ = true;
  bool behind_ = false;
  uint64_t last_change_ms_ = 0;
  Revision synced_revision_;

  mutable std::mutex status_mutex_;
  FibStatus status_;
  uint64_t published_ms_ = 0;
  uint64_t publishing_took_ms_ = 0;
  bool stale_ = true;
};

}  // namespace waypost::kernel_sync
