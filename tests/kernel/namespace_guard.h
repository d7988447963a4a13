// Puts the calling thread into a fresh network namespace and back into its own at the end. The namespace goes
// when the last socket in it is closed.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace waypost::kernel_sync {

class NamespaceGuard {
 public:
  NamespaceGuard() : own_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (own_ < 0 || unshare(CLONE_NEWNET) != 0) {
      throw std::runtime_error(std::string("cannot make a network namespace (kernel tests need root): ") +
                               strerror(errno));
    }
  }
  NamespaceGuard(const NamespaceGuard&) = delete;
  NamespaceGuard& operator=(const NamespaceGuard&) = delete;
  ~NamespaceGuard() {
    if (setns(own_, CLONE_NEWNET) != 0) std::terminate();  // later tests would run in the wrong place
    close(own_);
  }

 private:
  int own_;
};

}  // namespace waypost::kernel_sync
