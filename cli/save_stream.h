// The stream of `ip route save`: a magic number, then rtnetlink messages (RTM_NEWROUTE) one behind the other,
// without an end mark. Pure both ways; linux/rtnetlink.h stays in save_stream.cc and save_encap.cc.
//
//   stream  := magic:4 (0x45311224, of the host's byte order) message*
//   message := nlmsghdr:16 rtmsg:12 attribute*        padded to 4 bytes
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/nexthop.h"
#include "model/result.h"
#include "model/route.h"

namespace waypost::cli {

// One path as the stream has it: devices are indexes of the host that wrote it.
struct SavedPath {
  std::optional<IpAddress> gateway;
  uint32_t interface = 0;  // 0: none
  uint16_t weight = 1;
  bool onlink = false;
  Encap encap;
};

// One message, as it was read; nothing is judged yet.
struct SavedRoute {
  uint64_t offset = 0;  // of the message in the stream
  Family family = Family::kIpv4;
  uint8_t type = 1;  // RTN_*: others than the store's occur
  uint8_t protocol = 0;
  uint8_t scope = 0;
  uint8_t tos = 0;
  uint8_t source_length = 0;  // not 0: the route has a source prefix
  bool cloned = false;
  bool realms = false;
  uint32_t table = 254;
  Prefix prefix;
  uint32_t metric = 0;
  uint32_t nexthop_id = 0;  // 0: none
  uint32_t expires = 0;
  uint8_t preference = 0;
  std::optional<IpAddress> prefsrc;
  RouteMetrics metrics;
  std::vector<SavedPath> paths;  // inline, or the copy beside a nexthop id
};

// Feed it the stream in pieces of any size. Holds at most one message.
class SavedRouteReader {
 public:
  using Visitor = std::function<Status(SavedRoute& route)>;

  // Errors name the byte at which the stream is damaged; the visitor's own end the reading too.
  Status feed(std::string_view piece, const Visitor& visit);
  // kCorruption where the stream ends within a message.
  Status finish() const;

 private:
  Status take_message(std::string_view message, const Visitor& visit) const;

  std::string held_;
  uint64_t offset_ = 0;  // of held_'s first byte
  bool seen_magic_ = false;
};

std::string save_magic();
// Appends one message. A route over a nexthop id carries it alone (nexthop_compat_mode 0), which every kernel
// takes back.
void append_saved_route(std::string& out, const SavedRoute& route);

}  // namespace waypost::cli
