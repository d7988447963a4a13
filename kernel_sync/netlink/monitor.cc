#include "kernel_sync/netlink/monitor.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "model/limits.h"

namespace waypost::kernel_sync::netlink {

namespace {

constexpr unsigned kGroups[] = {RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,  RTNLGRP_NEXTHOP};

// drop where nlmsg_pid == own_port, else keep. Loads of classic BPF read big-endian.
int drop_own_echo(int fd, uint32_t own_port) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(own_port), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 ? 0 : errno;
}

template <typename Event, typename Object>
bool add(Decoded decoded, Object&& object, bool deleted, std::vector<KernelEvent>& events) {
  if (decoded == Decoded::kMalformed) return false;
  if (decoded == Decoded::kOk) events.push_back(Event{std::forward<Object>(object), deleted});
  return true;
}

bool decode_event(const Message& message, std::vector<KernelEvent>& events) {
  switch (message.type) {
    case RTM_NEWNEXTHOP:
    case RTM_DELNEXTHOP: {
      KernelNexthop nexthop;
      const Decoded decoded = decode_nexthop(message, nexthop);
      return add<NexthopEvent>(decoded, std::move(nexthop), message.type == RTM_DELNEXTHOP, events);
    }
    case RTM_NEWROUTE:
    case RTM_DELROUTE: {
      KernelRoute route;
      const Decoded decoded = decode_route(message, route);
      return add<RouteEvent>(decoded, std::move(route), message.type == RTM_DELROUTE, events);
    }
    case RTM_NEWLINK:
    case RTM_DELLINK: {
      KernelLink link;
      const Decoded decoded = decode_link(message, link);
      return add<LinkEvent>(decoded, std::move(link), message.type == RTM_DELLINK, events);
    }
    case RTM_NEWADDR:
    case RTM_DELADDR: {
      KernelAddress address;
      const Decoded decoded = decode_address(message, address);
      return add<AddressEvent>(decoded, std::move(address), message.type == RTM_DELADDR, events);
    }
    default:
      return true;
  }
}

}  // namespace

bool decode_events(Bytes datagram, std::vector<KernelEvent>& events) {
  MessageReader reader(datagram);
  Message message;
  while (reader.next(message)) {
    if (!decode_event(message, events)) return false;
  }
  return !reader.malformed();
}

Result<Monitor> Monitor::open(uint32_t own_port, size_t buffer_bytes) {
  auto socket = Socket::open(0, buffer_bytes);
  if (!socket) return socket.error();
  // The filter comes before the groups, so that no echo slips through between.
  int error = drop_own_echo(socket->fd(), own_port);
  for (const unsigned group : kGroups) {
    if (error == 0) error = socket->join(group);
  }
  if (error != 0) {
    return Error{ErrorCode::kUnsupported, std::string("netlink event socket: ") + strerrordesc_np(error),
                 "nexthop objects need Linux 5.3 or newer"};
  }
  return Monitor(std::move(*socket));
}

void Monitor::read(std::vector<KernelEvent>& events) {
  while (events.size() < limits::kMaxEventsPerWait) {
    const ssize_t got = recv(socket_.fd(), buffer_.data(), buffer_.size(), MSG_TRUNC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0 || static_cast<size_t>(got) > buffer_.size() ||
        !decode_events({buffer_.data(), static_cast<size_t>(got)}, events)) {
      events.push_back(OverrunEvent{});
      if (got < 0 && errno != ENOBUFS) return;
    }
  }
}

}  // namespace waypost::kernel_sync::netlink
