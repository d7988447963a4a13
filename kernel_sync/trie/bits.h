// Addresses as integers: bit 0 of the network order is the highest bit, so integer order is address order.
#pragma once

#include <cstdint>
#include <type_traits>

namespace waypost::kernel_sync::trie {

__extension__ typedef unsigned __int128 Uint128;

// kBits is 32 or 128 everywhere.
template <int kBits>
using Address = std::conditional_t<kBits == 32, uint32_t, Uint128>;

// The byte behind the first `level` bits.
template <int kBits>
constexpr uint8_t byte_at(Address<kBits> address, int level) {
  return static_cast<uint8_t>(address >> (kBits - 8 - level));
}

// The byte moved to where byte_at finds it.
template <int kBits>
constexpr Address<kBits> byte_at_level(uint8_t byte, int level) {
  return Address<kBits>{byte} << (kBits - 8 - level);
}

// The first `length` bits, the others zero.
template <int kBits>
constexpr Address<kBits> first_bits(Address<kBits> address, int length) {
  return length == 0 ? 0 : address >> (kBits - length) << (kBits - length);
}

// The level of the node in which a prefix of this length lives.
constexpr int level_of(int length) {
  return length == 0 ? 0 : (length - 1) & ~7;
}

}  // namespace waypost::kernel_sync::trie
