// One log under test with the nodes that use it, whatever the engine: local, simulated, or a real etcd.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "replication/log.h"

namespace waypost::replication {

class LogBench {
 public:
  virtual ~LogBench() = default;
  // Node 0 or 1. The local engine has one node, which is both.
  virtual Log& log(size_t node) = 0;
  // Runs work on the order thread (in the event heap).
  virtual void post(std::function<void()> work) = 0;
  // Runs until `done` holds; false after about ten seconds.
  virtual bool wait(const std::function<bool()>& done) = 0;
  virtual bool shared() const { return true; }  // several nodes can be told apart

  // Starts a verb and waits for its answer.
  template <typename T>
  std::optional<T> ask(const std::function<void(std::function<void(T)>)>& start) {
    struct Slot {
      std::mutex mutex;
      std::optional<T> value;
    };
    const auto slot = std::make_shared<Slot>();
    post([slot, start] {
      start([slot](T value) {
        const std::lock_guard lock(slot->mutex);
        slot->value.emplace(std::move(value));
      });
    });
    wait([&] {
      const std::lock_guard lock(slot->mutex);
      return slot->value.has_value();
    });
    const std::lock_guard lock(slot->mutex);
    return slot->value;
  }
};

std::unique_ptr<LogBench> make_local_bench();
std::unique_ptr<LogBench> make_sim_bench();
std::unique_ptr<LogBench> make_etcd_bench();

// Polls, for engines with threads of their own.
inline bool poll_until(const std::function<bool()>& done) {
  for (int i = 0; i < 50'000; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return done();
}

}  // namespace waypost::replication
