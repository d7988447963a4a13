// The grammar of netlink bytes, without any meaning: messages and attributes, written and read. Pure
// functions of bytes; the readers trust no length and every step of theirs goes forward, so that no answer
// can make them loop or read beyond its end.
//
//   datagram  = *( message pad4 )
//   message   = length:u32 type:u16 flags:u16 sequence:u32 port:u32 fixed-header *( attribute pad4 )
//   attribute = length:u16 type:u16 payload          the two high bits of type are flags
//
// Lengths count their own header but not the padding behind. Everything is in host byte order unless said
// otherwise.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace waypost::kernel_sync::netlink {

using Bytes = std::span<const uint8_t>;

constexpr size_t kMessageHeaderBytes = 16;

// Appends messages to a buffer of the caller's.
class MessageWriter {
 public:
  explicit MessageWriter(std::vector<uint8_t>& buffer) : buffer_(buffer) {}

  void begin(uint16_t type, uint16_t flags, uint32_t sequence);
  // The fixed header of the message's type (nhmsg, rtmsg, ...).
  template <typename Header>
  void fixed(const Header& header) {
    append({reinterpret_cast<const uint8_t*>(&header), sizeof header});
    pad();
  }
  void attribute(uint16_t type, Bytes payload);
  template <typename Integer>
  void integer(uint16_t type, Integer value) {
    attribute(type, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
  }
  void flag(uint16_t type) { attribute(type, {}); }
  void text(uint16_t type, std::string_view value);  // with a terminating zero
  // Returns the place to hand to close_nest.
  size_t open_nest(uint16_t type);
  void close_nest(size_t start);
  void end();

  // For what is no attribute: raw bytes inside a nest, and lengths known only afterwards.
  size_t size() const { return buffer_.size(); }
  void append(Bytes bytes);
  void patch_u16(size_t offset, uint16_t value);

 private:
  void pad();

  std::vector<uint8_t>& buffer_;
  size_t message_start_ = 0;
};

struct Message {
  uint16_t type = 0;
  uint16_t flags = 0;
  uint32_t sequence = 0;
  uint32_t port = 0;  // the sender of the request this answers or announces; 0 is the kernel itself
  Bytes body;         // what follows the header
};

class MessageReader {
 public:
  explicit MessageReader(Bytes datagram) : rest_(datagram) {}
  // False at the end, and at bytes that are no message: malformed() tells.
  bool next(Message& message);
  bool malformed() const { return malformed_; }

 private:
  Bytes rest_;
  bool malformed_ = false;
};

struct Attribute {
  uint16_t type = 0;  // without the flag bits
  Bytes payload;

  // The payload as an integer of exactly this size.
  template <typename Integer>
  std::optional<Integer> integer() const {
    if (payload.size() != sizeof(Integer)) return std::nullopt;
    Integer value;
    std::memcpy(&value, payload.data(), sizeof value);
    return value;
  }
  // The payload up to its first zero.
  std::string_view text() const;
};

class AttributeReader {
 public:
  explicit AttributeReader(Bytes attributes) : rest_(attributes) {}
  bool next(Attribute& attribute);
  bool malformed() const { return malformed_; }

 private:
  Bytes rest_;
  bool malformed_ = false;
};

// Splits a message body into its fixed header and the attributes behind. False when it is too short.
template <typename Header>
bool split_fixed(Bytes body, Header& header, Bytes& attributes) {
  if (body.size() < sizeof header) return false;
  std::memcpy(&header, body.data(), sizeof header);
  const size_t padded = (sizeof header + 3) & ~size_t{3};
  attributes = body.subspan(padded < body.size() ? padded : body.size());
  return true;
}

}  // namespace waypost::kernel_sync::netlink
