// Steps to the kernel: many messages per send, one acknowledgement per batch, failures mapped back by
// sequence number.
#pragma once

#include <span>
#include <vector>

#include "kernel_sync/kernel.h"
#include "kernel_sync/netlink/encode.h"
#include "kernel_sync/netlink/socket.h"

namespace waypost::kernel_sync::netlink {

class Executor {
 public:
  static Result<Executor> open();

  // Whose echo the monitor drops.
  uint32_t port() const { return socket_.port(); }

  // From here on plain routes are kept apart from those with metrics; run() notices by itself what it puts.
  void separate_metrics() { plain_ = PlainMetrics::kSeparate; }

  // See Kernel::execute. Counts into messages_sent, batches and errors.
  BatchOutcome run(std::span<const KernelStep> steps, KernelCounters& counters);

  // One request whose only answer is an error or an acknowledgement. Error: the transport's.
  Result<ErrorReply> ask(const std::function<void(uint32_t sequence, std::vector<uint8_t>&)>& encode);

 private:
  explicit Executor(Socket socket);

  size_t fill(std::span<const KernelStep> steps, size_t first);
  Status collect(size_t first, size_t count, BatchOutcome& outcome);

  Socket socket_;
  size_t batch_;  // messages per send, so that the answer to a batch of failures fits the receive buffer
  PlainMetrics plain_ = PlainMetrics::kShared;
  uint32_t next_sequence_ = 1;
  uint32_t first_sequence_ = 0;  // of the batch in flight
  std::vector<uint8_t> request_;
  std::vector<uint8_t> reply_;
};

}  // namespace waypost::kernel_sync::netlink
