// Threads that run what they are given: one serial thread for each kind of disk work, and the small pool of
// readers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace waypost::node {

class Workers {
 public:
  // `name` is what `top -H` and a debugger show, at most 15 characters.
  Workers(std::string name, size_t threads);
  ~Workers();  // joins; what has not begun is dropped

  // In order; with one thread also one after the other. Dropped (false) behind join(). Who takes work from
  // clients asks waiting() first and holds a bound; every client's stream is one piece at a time.
  bool post(std::function<void()> work);

  // Finishes what runs; drops what has not begun unless `finish_queue`.
  void join(bool finish_queue = false);

  size_t waiting() const;
  // Pieces of work finished: a thread that hangs is seen by it.
  uint64_t finished() const { return finished_.load(std::memory_order_relaxed); }

 private:
  void run(const std::string& name);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::atomic<uint64_t> finished_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace waypost::node
