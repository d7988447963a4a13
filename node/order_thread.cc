#include "node/order_thread.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

namespace waypost::node {

namespace asio = boost::asio;

struct OrderThread::Impl {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
};

OrderThread::OrderThread() : impl_(std::make_unique<Impl>()) {}
OrderThread::~OrderThread() = default;

asio::io_context& OrderThread::io() {
  return impl_->io;
}

void OrderThread::post(std::function<void()> work) {
  asio::post(impl_->io, std::move(work));
}

replication::Executor OrderThread::executor() {
  return [this](std::function<void()> work) { post(std::move(work)); };
}

void OrderThread::run() {
  impl_->io.run();
}

void OrderThread::quit() {
  impl_->io.stop();
}

void OrderThread::linger(uint64_t at_most_us, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(at_most_us);
  impl_->io.restart();
  while (!done() && std::chrono::steady_clock::now() < end) {
    if (impl_->io.run_one_until(end) == 0) return;
  }
}

bool OrderThread::run_until(const std::function<bool()>& done) {
  while (!done()) {
    if (impl_->io.run_one() == 0) return false;
  }
  return true;
}

uint64_t OrderThread::monotonic_us() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

uint64_t OrderThread::wall_us() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

void OrderThread::after(uint64_t delay_us, std::function<void()> work) {
  if (delay_us == 0) return post(std::move(work));
  auto timer = std::make_shared<asio::steady_timer>(impl_->io, std::chrono::microseconds(delay_us));
  timer->async_wait([timer, work = std::move(work)](const boost::system::error_code& error) {
    if (!error) work();
  });
}

}  // namespace waypost::node
