#include "kernel_sync/namespace_lock.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace waypost::kernel_sync {

namespace {

constexpr char kName[] = "\0waypost/kernel_sync";  // the leading zero makes it abstract

socklen_t make_address(sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, kName, sizeof kName - 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sizeof kName - 1);
}

int open_socket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// " (process 4711)", or nothing where it is already going.
std::string holder() {
  const int fd = open_socket();
  if (fd < 0) return {};
  sockaddr_un address;
  const socklen_t length = make_address(address);
  ucred peer = {};
  socklen_t size = sizeof peer;
  const bool known = connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  close(fd);
  return known ? " (process " + std::to_string(peer.pid) + ")" : std::string();
}

}  // namespace

Result<NamespaceLock> NamespaceLock::acquire() {
  NamespaceLock lock(open_socket());
  if (lock.fd_ < 0) return Error{ErrorCode::kIo, std::string("unix socket: ") + strerrordesc_np(errno), {}};
  sockaddr_un address;
  const socklen_t length = make_address(address);
  if (bind(lock.fd_, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (errno != EADDRINUSE) {
      return Error{ErrorCode::kIo, std::string("kernel_sync lock: ") + strerrordesc_np(errno), {}};
    }
    return Error{ErrorCode::kFailedPrecondition,
                 "another kernel_sync runs in this network namespace" + holder(),
                 "stop it, switch kernel_sync off here, or run this node in a network namespace of its own"};
  }
  listen(lock.fd_, 1);  // so that the next one can ask who holds it
  return lock;
}

NamespaceLock::~NamespaceLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace waypost::kernel_sync
