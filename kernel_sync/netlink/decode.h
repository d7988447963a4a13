// Netlink messages to the nouns of kernel.h: pure functions of bytes, safe on any bytes
// (tests/fuzz/fz_netlink.cc). Where a foreign object holds what the nouns have no word for, the comment at
// the field says what becomes of it.
#pragma once

#include <string>

#include "kernel_sync/kernel.h"
#include "kernel_sync/netlink/wire.h"

namespace waypost::kernel_sync::netlink {

enum class Decoded {
  kOk,
  kSkipped,    // well formed, but nothing that kernel_sync keeps: the output is unspecified
  kMalformed,  // bytes that contradict themselves
};

// RTM_NEWNEXTHOP, RTM_DELNEXTHOP. An encap other than ip, ip6 and seg6 is left out.
Decoded decode_nexthop(const Message& message, KernelNexthop& out);

// RTM_NEWROUTE, RTM_DELROUTE. Skipped: cloned routes, multicast forwarding entries, and IPv6 routes with a
// source prefix, whose key has no place in RouteKey. Types outside RouteType's names (local, broadcast, ...)
// keep the kernel's number. Of a route by nexthop id the paths that compat mode repeats are dropped. An
// inline path's encap is left out.
Decoded decode_route(const Message& message, KernelRoute& out);

// RTM_NEWLINK, RTM_DELLINK. Skipped: messages of other families, which speak of bridge ports and leave the
// link alone.
Decoded decode_link(const Message& message, KernelLink& out);

// RTM_NEWADDR, RTM_DELADDR.
Decoded decode_address(const Message& message, KernelAddress& out);

struct ErrorReply {
  int error = 0;      // errno, positive; 0 is an acknowledgement
  std::string words;  // the extack text, or strerror; empty for an acknowledgement
};

// NLMSG_ERROR. False when it is too short to say anything.
bool decode_error(const Message& message, ErrorReply& out);
// NLMSG_DONE carries the dump's own error: 0 or a positive errno.
ErrorReply decode_done(const Message& message);

}  // namespace waypost::kernel_sync::netlink
