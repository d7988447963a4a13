#include "kernel_sync/netlink/socket.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "model/limits.h"

namespace waypost::kernel_sync::netlink {

namespace {

Error socket_error(const char* action, int error) {
  Error result{ErrorCode::kIo, std::string("netlink socket: ") + action + ": " + strerrordesc_np(error), {}};
  if (error == EPERM || error == EACCES) {
    result.code = ErrorCode::kPermissionDenied;
    result.hint = "run as root or with CAP_NET_ADMIN in this network namespace";
  }
  return result;
}

void set_buffer(int fd, int forced, int plain, size_t bytes) {
  const int value = static_cast<int>(bytes);
  if (value == 0) return;
  if (setsockopt(fd, SOL_SOCKET, forced, &value, sizeof value) != 0) {
    setsockopt(fd, SOL_SOCKET, plain, &value, sizeof value);  // as much as the system's limit gives
  }
}

bool passes_by_itself(int error) {
  return error == EINTR || error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Result<Socket> Socket::open(size_t send_bytes, size_t receive_bytes) {
  Socket result;
  result.fd_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (result.fd_ < 0) return socket_error("open", errno);
  set_buffer(result.fd_, SO_SNDBUFFORCE, SO_SNDBUF, send_bytes);
  set_buffer(result.fd_, SO_RCVBUFFORCE, SO_RCVBUF, receive_bytes);

  const int on = 1;
  for (const int option : {NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK}) {
    // Kernels that have nexthop objects have all three; without strict checking a filter would be ignored
    // silently.
    if (setsockopt(result.fd_, SOL_NETLINK, option, &on, sizeof on) != 0) {
      return socket_error("set an option", errno);
    }
  }
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  if (bind(result.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return socket_error("bind", errno);
  }
  socklen_t length = sizeof address;
  if (getsockname(result.fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return socket_error("read the port id", errno);
  }
  result.port_ = address.nl_pid;
  int given = 0;
  length = sizeof given;
  getsockopt(result.fd_, SOL_SOCKET, SO_RCVBUF, &given, &length);
  result.receive_bytes_ = static_cast<size_t>(given);
  return result;
}

Socket::Socket(Socket&& other) noexcept {
  *this = std::move(other);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(port_, other.port_);
  std::swap(receive_bytes_, other.receive_bytes_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

int Socket::send(Bytes messages) {
  sockaddr_nl kernel = {};
  kernel.nl_family = AF_NETLINK;
  for (int attempt = 0;; ++attempt) {
    const ssize_t sent = sendto(fd_, messages.data(), messages.size(), 0,
                                reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
    if (sent == static_cast<ssize_t>(messages.size())) return 0;
    const int error = sent < 0 ? errno : EIO;
    if (!passes_by_itself(error) || attempt >= limits::kNetlinkRetries) return error;
    if (error != EINTR) poll(nullptr, 0, 1 << attempt);
  }
}

int Socket::receive(std::vector<uint8_t>& buffer) {
  buffer.resize(kReceiveBytes);
  for (int attempt = 0; attempt <= limits::kNetlinkRetries; ++attempt) {
    // With MSG_TRUNC the kernel says how long the datagram was, not how much of it fitted.
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), MSG_TRUNC | MSG_DONTWAIT);
    if (got >= 0) return static_cast<size_t>(got) > buffer.size() ? -EMSGSIZE : static_cast<int>(got);
    if (errno == EAGAIN) {
      pollfd wanted = {fd_, POLLIN, 0};
      if (poll(&wanted, 1, limits::kNetlinkTimeoutMs) == 0) return -ETIMEDOUT;
    } else if (errno != EINTR) {
      return -errno;
    }
  }
  return -EINTR;
}

void Socket::drain(std::vector<uint8_t>& buffer) {
  // A lost receive buffer holds at most its own size in datagrams of at least a header each.
  for (size_t i = 0; i < receive_bytes_ / kMessageHeaderBytes; ++i) {
    if (recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT) < 0 && errno != ENOBUFS) return;
  }
}

int Socket::join(unsigned group) {
  return setsockopt(fd_, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0 ? 0 : errno;
}

}  // namespace waypost::kernel_sync::netlink
