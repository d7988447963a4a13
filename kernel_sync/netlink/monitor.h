// The notification socket: links, addresses, nexthops and routes of both families, as other processes and the
// kernel itself change them. What the execute socket changed is dropped in the kernel by a classic BPF filter
// on nlmsg_pid (KERNEL.md K17).
#pragma once

#include <cstdint>
#include <vector>

#include "kernel_sync/kernel.h"
#include "kernel_sync/netlink/socket.h"
#include "model/result.h"

namespace waypost::kernel_sync::netlink {

class Monitor {
 public:
  // `own_port` is the port id of the socket whose changes are not announced.
  static Result<Monitor> open(uint32_t own_port, size_t buffer_bytes);

  int fd() const { return socket_.fd(); }

  // Appends what is queued, at most limits::kMaxEventsPerWait. Never waits. An overrun, a cut off or an
  // unreadable datagram becomes an OverrunEvent: what was in it is unknown (KERNEL.md K16).
  void read(std::vector<KernelEvent>& events);

 private:
  explicit Monitor(Socket socket) : socket_(std::move(socket)), buffer_(kReceiveBytes) {}

  Socket socket_;
  std::vector<uint8_t> buffer_;
};

// The events of one datagram; false when it is unreadable.
bool decode_events(Bytes datagram, std::vector<KernelEvent>& events);

}  // namespace waypost::kernel_sync::netlink
