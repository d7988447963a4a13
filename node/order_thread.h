// The one thread that owns sessions and the order of things: an io_context, with the replica's clock and
// timers on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "replication/replica.h"

namespace boost::asio {
class io_context;
}

namespace waypost::node {

class OrderThread final : public replication::Clock {
 public:
  OrderThread();
  ~OrderThread() override;

  boost::asio::io_context& io();
  // Any thread. Work posted before run() waits for it.
  void post(std::function<void()> work);
  replication::Executor executor();

  // Runs on the calling thread until quit(). What was posted and is not run by then is dropped.
  void run();
  void quit();
  // Behind quit(), on the same thread: goes on until `done` says so, for at most that long.
  void linger(uint64_t at_most_us, const std::function<bool()>& done);
  // Before run(), on the thread that will run it: goes on until `done` says so. False where quit() came
  // first.
  bool run_until(const std::function<bool()>& done);

  uint64_t monotonic_us() const override;
  uint64_t wall_us() const override;
  void after(uint64_t delay_us, std::function<void()> work) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace waypost::node
