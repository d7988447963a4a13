// Frames on a byte stream: magic:4 "WPR1", length:4 big-endian, body. Pure, so that it can be fuzzed; the
// sockets are in connection.cc and client_wire.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/limits.h"
#include "model/result.h"

namespace waypost::rpc {

constexpr size_t kFrameHeaderBytes = 8;

// Appends one frame; body is at most limits::kMaxFrameBytes.
void append_frame(std::string& out, std::string_view body);
// The header alone, for a body that is written behind it.
void append_frame_header(std::string& out, size_t body_bytes);

// Feed it bytes as they come; takes whole frames out. Holds at most one frame beside the pieces given since
// the last next().
class FrameDecoder {
 public:
  explicit FrameDecoder(size_t max_body_bytes = limits::kMaxFrameBytes) : max_body_bytes_(max_body_bytes) {}

  // kInvalidArgument where the bytes are not a frame ("this is not the waypost protocol") or a length lies
  // above the bound: the connection must be closed, the decoder stays in that state. Frames before the bad
  // one can still be taken.
  Status feed(std::string_view piece);
  // True and one body while there is a complete frame.
  bool next(std::string* body);
  size_t held_bytes() const { return buffer_.size() - consumed_; }

 private:
  Status check_headers();

  size_t max_body_bytes_;
  std::string buffer_;
  size_t consumed_ = 0;  // bytes of buffer_ already taken; consumed_ <= checked_
  size_t checked_ = 0;   // where the first frame begins that is not yet complete
  Status state_;
};

}  // namespace waypost::rpc
