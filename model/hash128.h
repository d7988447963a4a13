// A 128-bit hash as a value: entry hashes, chain hashes, digests. Computed with XXH3-128.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace waypost {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const Hash128&) const = default;
  // Addition and subtraction modulo 2^128: order-independent digests add a row's hash when the row comes and
  // subtract it when it goes.
  Hash128& operator+=(const Hash128& other);
  Hash128& operator-=(const Hash128& other);
};

Hash128 hash128(std::string_view bytes);
// 32 hex digits.
std::string to_string(const Hash128& hash);

}  // namespace waypost
