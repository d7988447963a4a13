// One kernel_sync per network namespace: two would each sweep what the other installs. The lock is an
// abstract unix socket, which lives in the network namespace of the thread that takes it and goes with its
// process, however it ends.
#pragma once

#include <string>
#include <utility>

#include "model/result.h"

namespace waypost::kernel_sync {

class NamespaceLock {
 public:
  // Error: kFailedPrecondition, naming the process that has it.
  static Result<NamespaceLock> acquire();

  NamespaceLock(NamespaceLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  NamespaceLock& operator=(NamespaceLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~NamespaceLock();

 private:
  explicit NamespaceLock(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace waypost::kernel_sync
