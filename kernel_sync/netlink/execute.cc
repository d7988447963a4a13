#include "kernel_sync/netlink/execute.h"

#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "kernel_sync/netlink/encode.h"
#include "model/limits.h"

namespace waypost::kernel_sync::netlink {

namespace {

constexpr size_t kSendBytes = 1u << 20;
constexpr size_t kReplyBytes = 4u << 20;
// What the kernel accounts for one short error with its text, rounded up.
constexpr size_t kAccountedPerError = 2'048;

static_assert(limits::kNetlinkBatchBytes + UINT16_MAX < kSendBytes,
              "the kernel refuses one send above the socket's send buffer");
static_assert(limits::kNetlinkBatch * kAccountedPerError <= kReplyBytes,
              "a batch that fails as a whole must find room for its answers");

Error lost(const char* what, int error) {
  return Error{ErrorCode::kIo, std::string("netlink: ") + what + ": " + strerrordesc_np(error),
               "the state of the steps behind is unknown: dump and compare"};
}

}  // namespace

Executor::Executor(Socket socket)
    : socket_(std::move(socket)),
      batch_(std::clamp<size_t>(socket_.receive_bytes() / kAccountedPerError, 1, limits::kNetlinkBatch)) {}

Result<Executor> Executor::open() {
  auto socket = Socket::open(kSendBytes, kReplyBytes);
  if (!socket) return socket.error();
  return Executor(std::move(*socket));
}

// Encodes steps from `first` on until the batch is full and returns how many.
size_t Executor::fill(std::span<const KernelStep> steps, size_t first) {
  request_.clear();
  // Zero is what the kernel's own notifications carry.
  if (next_sequence_ > UINT32_MAX - limits::kNetlinkBatch) next_sequence_ = 1;
  first_sequence_ = next_sequence_;
  size_t last_start = 0;
  size_t count = 0;
  while (count < batch_ && first + count < steps.size() && request_.size() < limits::kNetlinkBatchBytes) {
    last_start = request_.size();
    const KernelStep& step = steps[first + count];
    const auto* put = std::get_if<PutKernelRoute>(&step);
    if (put != nullptr && has_metrics_to_share(put->route)) separate_metrics();
    encode_step(step, plain_, next_sequence_++, request_);
    ++count;
  }
  request_acknowledgement(request_, last_start);
  return count;
}

// Reads answers until the last message of the batch is answered. Messages are carried out in order, so
// failures come in order.
Status Executor::collect(size_t first, size_t count, BatchOutcome& outcome) {
  const auto last_sequence = static_cast<uint32_t>(first_sequence_ + count - 1);
  while (true) {
    const int got = socket_.receive(reply_);
    if (got < 0) {
      socket_.drain(reply_);
      return lost("answers were lost", -got);
    }
    MessageReader reader({reply_.data(), static_cast<size_t>(got)});
    Message message;
    ErrorReply reply;
    while (reader.next(message)) {
      if (message.sequence - first_sequence_ >= count) continue;  // late answers to a batch given up
      if (message.type != NLMSG_ERROR || !decode_error(message, reply)) continue;
      if (reply.error != 0) {
        outcome.failures.push_back({first + (message.sequence - first_sequence_), reply.error, reply.words});
      }
      if (message.sequence == last_sequence) return {};
    }
    if (reader.malformed()) return lost("an answer makes no sense", EBADMSG);
  }
}

BatchOutcome Executor::run(std::span<const KernelStep> steps, KernelCounters& counters) {
  BatchOutcome outcome;
  while (outcome.executed < steps.size()) {
    const size_t count = fill(steps, outcome.executed);
    const size_t failures_before = outcome.failures.size();
    if (const int error = socket_.send(request_); error != 0) {
      outcome.transport = lost("the kernel took no messages", error);
      return outcome;
    }
    counters.messages_sent += count;
    ++counters.batches;
    outcome.transport = collect(outcome.executed, count, outcome);
    if (!outcome.transport) {
      outcome.failures.resize(failures_before);
      return outcome;
    }
    counters.errors += outcome.failures.size() - failures_before;
    outcome.executed += count;
  }
  return outcome;
}

Result<ErrorReply> Executor::ask(
    const std::function<void(uint32_t sequence, std::vector<uint8_t>&)>& encode) {
  request_.clear();
  if (next_sequence_ == UINT32_MAX) next_sequence_ = 1;
  first_sequence_ = next_sequence_++;
  encode(first_sequence_, request_);
  request_acknowledgement(request_, 0);
  if (const int error = socket_.send(request_); error != 0) return lost("the kernel took no message", error);
  BatchOutcome outcome;
  if (const Status status = collect(0, 1, outcome); !status) return status.error();
  if (outcome.failures.empty()) return ErrorReply{};
  return ErrorReply{outcome.failures[0].error, std::move(outcome.failures[0].words)};
}

}  // namespace waypost::kernel_sync::netlink
