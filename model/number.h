// Numbers as iproute2 takes them: decimal, octal behind a leading 0, hexadecimal behind 0x.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace waypost {

// Nothing for an empty text, a sign, trailing bytes, or a number above `limit`.
inline std::optional<uint64_t> parse_number(std::string_view text, uint64_t limit = UINT64_MAX) {
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const bool hexadecimal = text[1] == 'x' || text[1] == 'X';
    base = hexadecimal ? 16 : 8;
    text.remove_prefix(hexadecimal ? 2 : 1);
  }
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end || number > limit) return std::nullopt;
  return number;
}

}  // namespace waypost
