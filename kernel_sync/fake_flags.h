// The kernel's RTNH_F_* numbers that the fake sets, without the kernel's headers.
#pragma once

#include <cstdint>

namespace waypost::kernel_sync {

constexpr uint32_t kDead = 1;
constexpr uint32_t kOnlink = 4;
constexpr uint32_t kLinkdown = 16;

// RTPROT_KERNEL, and the types of the local table, which RouteType has no names for.
constexpr uint8_t kProtocolKernel = 2;
constexpr uint8_t kTypeLocal = 2;
constexpr uint8_t kTypeBroadcast = 3;
constexpr uint32_t kConnectedMetric6 = 256;

}  // namespace waypost::kernel_sync
