// Dumps and gets on a socket of their own. The socket is primed, so that the kernel fills answers of 32 KiB
// (KERNEL.md K14).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernel_sync/kernel.h"
#include "kernel_sync/netlink/socket.h"

namespace waypost::kernel_sync::netlink {

using EncodeRequest = std::function<void(uint32_t sequence, std::vector<uint8_t>&)>;

class Query {
 public:
  static Result<Query> open();

  struct DumpReport {
    DumpOutcome outcome = DumpOutcome::kFailed;
    int error = 0;  // the kernel's errno where it refused the dump
  };
  // Calls `visit` for each message of the dump; it returns false at bytes that make no sense, must not use
  // this object, and is called no more after that. The dump is always read to its end, so that the socket can
  // be used again.
  DumpReport dump(const EncodeRequest& encode, const std::function<bool(const Message&)>& visit);

  struct Answer {
    std::optional<Message> message;  // good until the next call
    ErrorReply failure;              // where there is no message
  };
  // One request with one answer. Error: the transport's.
  Result<Answer> get(const EncodeRequest& encode);

 private:
  explicit Query(Socket socket) : socket_(std::move(socket)) {}

  Status prime();
  void reopen();
  uint32_t send(const EncodeRequest& encode, int& error);

  Socket socket_;
  uint32_t next_sequence_ = 1;
  std::vector<uint8_t> request_;
  std::vector<uint8_t> reply_;
};

}  // namespace waypost::kernel_sync::netlink
