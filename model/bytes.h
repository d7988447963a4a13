// Bytes in and out, for every codec: big-endian integers (so that keys order as their numbers do), varints,
// and a reader that never reads behind its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace waypost {

inline void append_u8(std::string& out, uint8_t value) {
  out.push_back(static_cast<char>(value));
}

template <typename Integer>
void append_big_endian(std::string& out, Integer value) {
  char bytes[sizeof(Integer)];
  for (size_t i = 0; i < sizeof(Integer); ++i)
    bytes[i] = static_cast<char>(value >> (8 * (sizeof(Integer) - 1 - i)));
  out.append(bytes, sizeof(Integer));
}

inline void append_u16(std::string& out, uint16_t value) {
  append_big_endian(out, value);
}
inline void append_u32(std::string& out, uint32_t value) {
  append_big_endian(out, value);
}
inline void append_u64(std::string& out, uint64_t value) {
  append_big_endian(out, value);
}

// Little groups of 7 bits, the high bit says "more follows": 1 byte up to 127, 10 at most.
inline void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// varint length, then the bytes.
inline void append_sized(std::string& out, std::string_view bytes) {
  append_varint(out, bytes.size());
  out.append(bytes);
}

// Precondition: bytes has sizeof(Integer) bytes at least.
template <typename Integer>
Integer load_big_endian(const char* bytes) {
  Integer value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i)
    value = static_cast<Integer>(static_cast<uint64_t>(value) << 8 | static_cast<uint8_t>(bytes[i]));
  return value;
}

// Reads from the front. A read that would pass the end, or that finds a varint no encoder wrote, gives zero
// (or nothing) and sets failed() for good; callers may read on and ask once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t u8() { return integer<uint8_t>(); }
  uint16_t u16() { return integer<uint16_t>(); }
  uint32_t u32() { return integer<uint32_t>(); }
  uint64_t u64() { return integer<uint64_t>(); }

  // Only the shortest form is taken, so that equal values have equal bytes.
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = u8();
      const bool overflows = shift == 63 && byte > 1;
      const bool padded = byte == 0 && shift > 0;
      if (failed_ || overflows || padded) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view sized() { return take(varint()); }

  std::string_view rest() const { return rest_; }
  bool failed() const { return failed_; }
  // All was read, and nothing failed.
  bool done() const { return !failed_ && rest_.empty(); }

  void fail() {
    failed_ = true;
    rest_ = {};
  }

 private:
  template <typename Integer>
  Integer integer() {
    const std::string_view bytes = take(sizeof(Integer));
    return failed_ ? Integer{0} : load_big_endian<Integer>(bytes.data());
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace waypost
