// A thread that runs what is posted to it, one after the other, also later: the executor and the clock of the
// tests that use real engines.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "replication/replica.h"

namespace waypost::replication {

class SerialThread final : public Clock {
 public:
  SerialThread() : thread_([this] { run(); }) {}
  ~SerialThread() override { join(); }

  Executor executor() {
    return [this](std::function<void()> work) { post(0, std::move(work)); };
  }

  uint64_t monotonic_us() const override {
    return micros(std::chrono::steady_clock::now().time_since_epoch());
  }
  uint64_t wall_us() const override { return micros(std::chrono::system_clock::now().time_since_epoch()); }
  void after(uint64_t delay_us, std::function<void()> work) override { post(delay_us, std::move(work)); }

  // Runs `work` on the thread and waits for it.
  void call(const std::function<void()>& work) {
    std::promise<void> done;
    post(0, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Runs what is due, then ends the thread; what is due later is dropped.
  void join() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  static uint64_t micros(std::chrono::nanoseconds time) {
    return static_cast<uint64_t>(time.count() / 1'000);
  }

  void post(uint64_t delay_us, std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      due_.emplace(std::pair(monotonic_us() + delay_us, next_++), std::move(work));
    }
    wake_.notify_all();
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const uint64_t now_us = monotonic_us();
      if (!due_.empty() && due_.begin()->first.first <= now_us) {
        const auto work = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        lock.unlock();
        work();
        lock.lock();
      } else if (ending_) {
        return;
      } else if (due_.empty()) {
        wake_.wait(lock);
      } else {
        wake_.wait_for(lock, std::chrono::microseconds(due_.begin()->first.first - now_us));
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::pair<uint64_t, uint64_t>, std::function<void()>> due_;
  uint64_t next_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace waypost::replication
