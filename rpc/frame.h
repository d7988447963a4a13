// Frames on a byte stream: magic:4 "WPR1", length:4 big-endian, body. Pure, so that it can be fuzzed; the sockets are in
// connection.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/result.h"

namespace waypost::rpc {

constexpr size_t kFrameHeaderBytes = 8;

// Appends one frame; body is at most limits::kMaxFrameBytes.
void append_frame(std::string& out, std::string_view body);

// Feed it bytes as they come; takes whole frames out. Holds at most one frame beside the piece given.
class FrameDecoder {
 public:
  // kInvalidArgument where the bytes are not a frame ("this is not the waypost protocol") or a length lies above the
  // bound: the connection must be closed, the decoder stays in that state.
  Status feed(std::string_view piece);
  // True and one body while there is a complete frame.
  bool next(std::string* body);
  size_t held_bytes() const { return buffer_.size() - consumed_; }

 private:
  Status check_header() const;
  std::string buffer_;
  size_t consumed_ = 0;
};

}  // namespace waypost::rpc
