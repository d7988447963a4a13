// The real kernel behind the Kernel interface: rtnetlink over raw sockets, in the network namespace of the
// thread that opens it.
//
//   execute socket   steps out, failures and one acknowledgement per batch back
//   query socket     dumps and gets; primed, so that dumps do not stop at large groups (KERNEL.md K14)
//   event socket     notifications, without the echo of the execute socket (KERNEL.md K17)
#pragma once

#include <cstddef>
#include <memory>

#include "kernel_sync/kernel.h"
#include "model/limits.h"
#include "model/result.h"

namespace waypost::kernel_sync {

struct NetlinkOptions {
  size_t event_buffer_bytes = 32u << 20;  // the kernel accounts what is queued, about 1 KiB per event
  bool watch = true;                      // false: wait() sees only wake()
  // Keep IPv4 routes without metrics apart from those with (PlainMetrics in encode.h) from the start, and not
  // only once one with metrics was put or dumped here.
  bool separate_metrics = false;
};

// Errors: kPermissionDenied without CAP_NET_ADMIN, kUnsupported where the kernel has no nexthop objects or an
// option is missing.
Result<std::unique_ptr<Kernel>> open_netlink_kernel(const NetlinkOptions& options = {});

}  // namespace waypost::kernel_sync
