// IP addresses and prefixes as values: network byte order, fixed size, ordered as the store orders
// them (family, address, length). Text is what iproute2 prints and takes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/result.h"

namespace waypost {

// The value is the byte in store keys and on the wire: never reused.
enum class Family : uint8_t { kIpv4 = 4, kIpv6 = 6 };

constexpr int address_bytes(Family family) {
  return family == Family::kIpv4 ? 4 : 16;
}
constexpr int address_bits(Family family) {
  return family == Family::kIpv4 ? 32 : 128;
}

struct IpAddress {
  Family family = Family::kIpv4;
  std::array<uint8_t, 16> bytes = {};  // IPv4 uses the first 4; the rest is zero

  auto operator<=>(const IpAddress&) const = default;

  std::span<const uint8_t> used() const { return {bytes.data(), static_cast<size_t>(address_bytes(family))}; }
  bool is_unspecified() const;  // 0.0.0.0 or ::
  bool is_multicast() const;    // 224.0.0.0/4 or ff00::/8
  bool is_link_local() const;   // fe80::/10 (IPv6 only)
  static IpAddress v4(uint32_t host_order);
};

// Shape: "192.0.2.1" or "2001:db8::1". IPv4 takes iproute2's short forms ("10.63" is 10.63.0.0)
// only in prefixes, see parse_prefix.
Result<IpAddress> parse_address(std::string_view text);
std::string to_string(const IpAddress& address);
// Writes at most 45 characters without a terminator and returns the end: for listings of millions.
char* write_address(const IpAddress& address, char* out);

struct Prefix {
  IpAddress address;   // bits behind length are zero
  uint8_t length = 0;  // 0..32 or 0..128

  auto operator<=>(const Prefix&) const = default;

  Family family() const { return address.family; }
  bool contains(const IpAddress& candidate) const;
};

// Zeroes the bits behind length. Precondition: length <= address_bits(family).
IpAddress masked(const IpAddress& address, uint8_t length);

// Shape: ADDRESS[/LENGTH], "default"/"any"/"all" (the family must then be given), IPv4 short forms as
// in iproute2 ("10.63/16"). Host bits: IPv4 refuses them, IPv6 masks them (KERNEL.md cases 49, 50).
// family_hint decides for words without an address; a given address of the other family is an error.
Result<Prefix> parse_prefix(std::string_view text, const Family* family_hint = nullptr);
// "10.0.0.0/8"; host routes and the default keep their length ("0.0.0.0/0").
std::string to_string(const Prefix& prefix);

}  // namespace waypost
