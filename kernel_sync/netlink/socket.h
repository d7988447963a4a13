// One rtnetlink socket: strict checking, error texts, short errors (KERNEL.md K18), real buffer sizes. Used
// by the thread of its owner.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernel_sync/netlink/decode.h"
#include "kernel_sync/netlink/wire.h"
#include "model/result.h"

namespace waypost::kernel_sync::netlink {

class Socket {
 public:
  // Buffer sizes in bytes, beyond the system's limits where the process may (SO_RCVBUFFORCE); 0 leaves the
  // default.
  static Result<Socket> open(size_t send_bytes, size_t receive_bytes);

  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int fd() const { return fd_; }
  uint32_t port() const { return port_; }
  // What the kernel really gave; it accounts about twice the payload.
  size_t receive_bytes() const { return receive_bytes_; }

  // Sends one buffer of whole messages. The kernel has carried all of them out when it returns. Error: a
  // positive errno, after bounded retries of those that pass by themselves (nothing was carried out then); 0
  // is success.
  int send(Bytes messages);

  // Receives one datagram into `buffer` (kReceiveBytes). Error: negative errno, -EMSGSIZE when it was cut
  // off; otherwise its size. Waits at most limits::kNetlinkTimeoutMs, then -ETIMEDOUT.
  int receive(std::vector<uint8_t>& buffer);

  // Throws away what is queued.
  void drain(std::vector<uint8_t>& buffer);

  int join(unsigned group);  // 0 or a positive errno

 private:
  Socket() = default;

  int fd_ = -1;
  uint32_t port_ = 0;
  size_t receive_bytes_ = 0;
};

// The kernel fills dump answers up to 32 KiB once it has seen a receive buffer of that size (KERNEL.md K14).
constexpr size_t kReceiveBytes = 256u << 10;

}  // namespace waypost::kernel_sync::netlink
