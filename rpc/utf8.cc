#include "rpc/utf8.h"

#include <cstdint>

namespace waypost::rpc {

namespace {

// Bytes of the sequence that starts here (RFC 3629: no overlong forms, no surrogates), 0 where there is none.
size_t sequence_bytes(std::string_view rest) {
  const auto at = [rest](size_t i) { return i < rest.size() ? static_cast<uint8_t>(rest[i]) : uint8_t{0}; };
  const auto continues = [at](size_t i) { return (at(i) & 0xc0) == 0x80; };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool too_high = first == 0xf4 && at(1) > 0x8f;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_high ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t bytes = sequence_bytes(text);
    if (bytes == 0) {
      out += '?';
      text.remove_prefix(1);
    } else {
      out += text.substr(0, bytes);
      text.remove_prefix(bytes);
    }
  }
  return out;
}

}  // namespace waypost::rpc
