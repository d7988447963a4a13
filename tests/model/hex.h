// Hexadecimal text of bytes, for golden values.
#pragma once

#include <string>
#include <string_view>

namespace waypost::test {

inline std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace waypost::test
