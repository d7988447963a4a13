#include "node/workers.h"

#include <pthread.h>

#include <utility>

namespace waypost::node {

Workers::Workers(std::string name, size_t threads) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this, name] { run(name); });
  }
}

Workers::~Workers() {
  join();
}

bool Workers::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void Workers::run(const std::string& name) {
  pthread_setname_np(pthread_self(), name.c_str());
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before the lock comes
    finished_.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
  }
}

void Workers::join(bool finish_queue) {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (!finish_queue) dropped.swap(queue_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

size_t Workers::waiting() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace waypost::node
