#include "kernel_sync/netlink/query.h"

#include <linux/netlink.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "kernel_sync/netlink/encode.h"

namespace waypost::kernel_sync::netlink {

namespace {

constexpr size_t kDumpBufferBytes = 1u << 20;

Error lost(int error) {
  return Error{ErrorCode::kIo, std::string("netlink query: ") + strerrordesc_np(error), {}};
}

}  // namespace

Result<Query> Query::open() {
  auto socket = Socket::open(0, kDumpBufferBytes);
  if (!socket) return socket.error();
  Query query(std::move(*socket));
  if (const Status status = query.prime(); !status) return status.error();
  return query;
}

// One ordinary receive into a large buffer lifts the size of every later dump answer.
Status Query::prime() {
  const auto answer = get(encode_noop);
  return answer ? Status{} : Status{answer.error()};
}

// After a timeout a dump may still be running in the kernel: only a new socket is clean.
void Query::reopen() {
  auto fresh = open();
  if (fresh) *this = std::move(*fresh);
}

uint32_t Query::send(const EncodeRequest& encode, int& error) {
  request_.clear();
  if (next_sequence_ == UINT32_MAX) next_sequence_ = 1;
  const uint32_t sequence = next_sequence_++;
  encode(sequence, request_);
  error = socket_.send(request_);
  return sequence;
}

Query::DumpReport Query::dump(const EncodeRequest& encode, const std::function<bool(const Message&)>& visit) {
  int error = 0;
  const uint32_t sequence = send(encode, error);
  if (error != 0) return {DumpOutcome::kFailed, error};
  bool interrupted = false;
  bool sound = true;
  while (true) {
    const int got = socket_.receive(reply_);
    if (got == -ENOBUFS || got == -EMSGSIZE) {
      sound = false;
      continue;
    }
    if (got < 0) {
      reopen();
      return {DumpOutcome::kFailed, -got};
    }
    MessageReader reader({reply_.data(), static_cast<size_t>(got)});
    Message message;
    while (reader.next(message)) {
      if (message.sequence != sequence) continue;
      interrupted = interrupted || (message.flags & NLM_F_DUMP_INTR) != 0;
      if (message.type == NLMSG_ERROR || message.type == NLMSG_DONE) {
        ErrorReply reply = decode_done(message);  // an error begins with the same number
        if (reply.error != 0) return {DumpOutcome::kFailed, reply.error};
        if (!sound) return {DumpOutcome::kFailed, EBADMSG};
        return {interrupted ? DumpOutcome::kInterrupted : DumpOutcome::kComplete, 0};
      }
      if (message.type == NLMSG_OVERRUN) sound = false;
      if (sound && message.type >= NLMSG_MIN_TYPE) sound = visit(message);
    }
    if (reader.malformed()) sound = false;
  }
}

Result<Query::Answer> Query::get(const EncodeRequest& encode) {
  int error = 0;
  const uint32_t sequence = send(encode, error);
  if (error != 0) return lost(error);
  while (true) {
    const int got = socket_.receive(reply_);
    if (got < 0) {
      reopen();
      return lost(-got);
    }
    MessageReader reader({reply_.data(), static_cast<size_t>(got)});
    Message message;
    while (reader.next(message)) {
      if (message.sequence != sequence) continue;
      Answer answer;
      if (message.type != NLMSG_ERROR) {
        answer.message = message;
      } else if (!decode_error(message, answer.failure)) {
        return lost(EBADMSG);
      }
      return answer;
    }
    if (reader.malformed()) return lost(EBADMSG);
  }
}

}  // namespace waypost::kernel_sync::netlink
