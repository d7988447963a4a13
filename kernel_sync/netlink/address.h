// Addresses and families between the kernel's forms and the model's.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "kernel_sync/netlink/wire.h"
#include "model/ip.h"

namespace waypost::kernel_sync::netlink {

inline uint8_t to_kernel(Family family) {
  return static_cast<uint8_t>(family == Family::kIpv4 ? AF_INET : AF_INET6);
}

inline std::optional<Family> to_family(int kernel_family) {
  if (kernel_family == AF_INET) return Family::kIpv4;
  if (kernel_family == AF_INET6) return Family::kIpv6;
  return std::nullopt;
}

// None where the payload has another size than an address of the family.
inline std::optional<IpAddress> to_address(Family family, Bytes payload) {
  if (payload.size() != static_cast<size_t>(address_bytes(family))) return std::nullopt;
  IpAddress address;
  address.family = family;
  std::copy(payload.begin(), payload.end(), address.bytes.begin());
  return address;
}

// An address whose family only its size tells (RTA_GATEWAY, NHA_GATEWAY).
inline std::optional<IpAddress> to_address(Bytes payload) {
  if (payload.size() == 4) return to_address(Family::kIpv4, payload);
  if (payload.size() == 16) return to_address(Family::kIpv6, payload);
  return std::nullopt;
}

}  // namespace waypost::kernel_sync::netlink
