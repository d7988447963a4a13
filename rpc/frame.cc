#include "rpc/frame.h"

#include <algorithm>

#include "model/check.h"

namespace waypost::rpc {

namespace {

constexpr std::string_view kMagic = "WPR1";

uint32_t read_length(std::string_view header) {
  uint32_t length = 0;
  for (size_t i = kMagic.size(); i < kFrameHeaderBytes; ++i) {
    length = (length << 8) | static_cast<uint8_t>(header[i]);
  }
  return length;
}

Error not_the_protocol() {
  return {ErrorCode::kInvalidArgument, "the bytes are not the waypost protocol",
          "is this the client port of a waypostd, and the other side a waypost client?"};
}

}  // namespace

void append_frame_header(std::string& out, size_t body_bytes) {
  WAYPOST_CHECK(body_bytes <= limits::kMaxFrameBytes, "a frame above the bound");
  out += kMagic;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((body_bytes >> shift) & 0xff);
}

void append_frame(std::string& out, std::string_view body) {
  append_frame_header(out, body.size());
  out += body;
}

Status FrameDecoder::feed(std::string_view piece) {
  if (!state_.ok()) return state_;
  if (consumed_ > 0) {
    buffer_.erase(0, consumed_);
    checked_ -= consumed_;
    consumed_ = 0;
  }
  buffer_ += piece;
  state_ = check_headers();
  return state_;
}

Status FrameDecoder::check_headers() {
  while (checked_ < buffer_.size()) {
    const std::string_view rest = std::string_view(buffer_).substr(checked_);
    const size_t magic_bytes = std::min(rest.size(), kMagic.size());
    if (rest.substr(0, magic_bytes) != kMagic.substr(0, magic_bytes)) return not_the_protocol();
    if (rest.size() < kFrameHeaderBytes) return {};
    const uint32_t length = read_length(rest);
    if (length > max_body_bytes_) {
      return Error{ErrorCode::kInvalidArgument,
                   "a frame says it is " + std::to_string(length) + " bytes long; at most " +
                       std::to_string(max_body_bytes_) + " are taken",
                   "send less in one request"};
    }
    if (rest.size() < kFrameHeaderBytes + length) return {};
    checked_ += kFrameHeaderBytes + length;
  }
  return {};
}

bool FrameDecoder::next(std::string* body) {
  if (consumed_ >= checked_) return false;
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  const uint32_t length = read_length(rest);
  body->assign(rest.substr(kFrameHeaderBytes, length));
  consumed_ += kFrameHeaderBytes + length;
  return true;
}

}  // namespace waypost::rpc
