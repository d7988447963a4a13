#include "cli/save_stream.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

#include "cli/save_encap.h"

namespace waypost::cli {
namespace {

constexpr uint32_t kMagic = 0x45311224;
// A route of 128 paths with encapsulations stays well below it.
constexpr size_t kLargestMessage = 64u << 10;
constexpr size_t kSmallestMessage = NLMSG_LENGTH(sizeof(rtmsg));

template <typename Integer>
std::string_view as_bytes(const Integer& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename Integer>
bool read_integer(std::string_view bytes, Integer* out) {
  if (bytes.size() != sizeof *out) return false;
  std::memcpy(out, bytes.data(), sizeof *out);
  return true;
}

Error damaged(uint64_t offset, const std::string& words) {
  return {ErrorCode::kCorruption,
          "the saved routes are damaged at byte " + std::to_string(offset) + ": " + words,
          "save them again; nothing was restored"};
}

// What one message says of its only path, before it is known whether there is one.
struct OnlyPath {
  SavedPath path;
  uint16_t encap_type = 0;
  std::string_view encap;
};

// Interface 0 is none, and what else is said of a path that has neither means nothing.
bool leads_somewhere(const SavedPath& path) {
  return path.interface != 0 || path.gateway.has_value();
}

bool read_gateway(Family family, std::string_view payload, SavedPath& path) {
  const auto gateway = address_of(family, payload);
  if (gateway) path.gateway = *gateway;
  return gateway.has_value();
}

// rtvia := family:2 address
bool read_via(std::string_view payload, SavedPath& path) {
  uint16_t family = 0;
  if (payload.size() < sizeof family || !read_integer(payload.substr(0, 2), &family)) return false;
  if (family != AF_INET && family != AF_INET6) return false;
  return read_gateway(family == AF_INET ? Family::kIpv4 : Family::kIpv6, payload.substr(2), path);
}

bool read_path_attribute(uint16_t number, std::string_view payload, Family family, OnlyPath& only) {
  switch (number) {
    case RTA_GATEWAY:
      return read_gateway(family, payload, only.path);
    case RTA_VIA:
      return read_via(payload, only.path);
    case RTA_ENCAP_TYPE:
      return read_integer(payload, &only.encap_type);
    case RTA_ENCAP:
      only.encap = payload;
      return true;
    default:
      return true;
  }
}

bool finish_path(OnlyPath& only) {
  if (only.encap_type == 0) return true;
  const auto encap = decode_saved_encap(only.encap_type, only.encap);
  if (encap) only.path.encap = *encap;
  return encap.has_value();
}

// rtnexthop:8 attribute*, one behind the other
bool read_multipath(std::string_view bytes, Family family, std::vector<SavedPath>& paths) {
  while (!bytes.empty()) {
    rtnexthop header;
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.rtnh_len < sizeof header || header.rtnh_len > bytes.size()) return false;
    OnlyPath only;
    if (header.rtnh_ifindex < 0) return false;
    only.path.interface = static_cast<uint32_t>(header.rtnh_ifindex);
    only.path.weight = static_cast<uint16_t>(header.rtnh_hops + 1);
    only.path.onlink = (header.rtnh_flags & RTNH_F_ONLINK) != 0;
    AttributeWalk walk(bytes.substr(sizeof header, header.rtnh_len - sizeof header));
    uint16_t number;
    std::string_view payload;
    while (walk.next(&number, &payload))
      if (!read_path_attribute(number, payload, family, only)) return false;
    if (walk.damaged() || !finish_path(only)) return false;
    paths.push_back(std::move(only.path));
    bytes.remove_prefix(std::min<size_t>(RTNH_ALIGN(header.rtnh_len), bytes.size()));
  }
  return true;
}

bool read_metrics(std::string_view bytes, RouteMetrics& metrics) {
  AttributeWalk walk(bytes);
  uint16_t number;
  std::string_view payload;
  while (walk.next(&number, &payload)) {
    uint32_t value = 0;
    if (number == RTAX_CC_ALGO) {
      metrics.congestion_control = payload.substr(0, payload.find('\0'));
    } else if (!read_integer(payload, &value) || number > RTAX_MAX) {
      return false;
    } else if (number == RTAX_LOCK) {
      metrics.lock = value;
    } else if (!metrics.values.empty() && metrics.values.back().first >= number) {
      return false;
    } else {
      metrics.values.emplace_back(static_cast<uint8_t>(number), value);
    }
  }
  return !walk.damaged();
}

bool read_attribute(uint16_t number, std::string_view payload, SavedRoute& route, OnlyPath& only) {
  switch (number) {
    case RTA_DST: {
      const auto address = address_of(route.family, payload);
      if (address) route.prefix.address = masked(*address, route.prefix.length);
      return address.has_value() && route.prefix.address == *address;
    }
    case RTA_OIF:
      return read_integer(payload, &only.path.interface);
    case RTA_PRIORITY:
      return read_integer(payload, &route.metric);
    case RTA_PREFSRC: {
      const auto address = address_of(route.family, payload);
      route.prefsrc = address;
      return address.has_value();
    }
    case RTA_TABLE:
      return read_integer(payload, &route.table);
    case RTA_NH_ID:
      return read_integer(payload, &route.nexthop_id);
    case RTA_PREF:
      return read_integer(payload, &route.preference);
    case RTA_METRICS:
      return read_metrics(payload, route.metrics);
    case RTA_MULTIPATH:
      return read_multipath(payload, route.family, route.paths);
    case RTA_FLOW:
      route.realms = true;
      return true;
    case RTA_CACHEINFO: {
      rta_cacheinfo info;
      if (payload.size() < sizeof info) return false;
      std::memcpy(&info, payload.data(), sizeof info);
      route.expires = static_cast<uint32_t>(info.rta_expires);
      return true;
    }
    default:
      return read_path_attribute(number, payload, route.family, only);
  }
}

Status read_header(const rtmsg& header, SavedRoute& route) {
  if (header.rtm_family != AF_INET && header.rtm_family != AF_INET6)
    return damaged(route.offset, "address family " + std::to_string(header.rtm_family));
  route.family = header.rtm_family == AF_INET ? Family::kIpv4 : Family::kIpv6;
  if (header.rtm_dst_len > address_bits(route.family))
    return damaged(route.offset, "a prefix of " + std::to_string(header.rtm_dst_len) + " bits");
  route.type = header.rtm_type;
  route.protocol = header.rtm_protocol;
  route.scope = route.family == Family::kIpv4 ? header.rtm_scope : kScopeGlobal;
  route.tos = header.rtm_tos;
  route.source_length = header.rtm_src_len;
  route.cloned = (header.rtm_flags & RTM_F_CLONED) != 0;
  route.table = header.rtm_table;
  route.prefix = {.address = {.family = route.family}, .length = header.rtm_dst_len};
  return {};
}

}  // namespace

Status SavedRouteReader::take_message(std::string_view message, const Visitor& visit) const {
  SavedRoute route;
  route.offset = offset_;
  rtmsg header;
  std::memcpy(&header, message.data() + NLMSG_HDRLEN, sizeof header);
  if (Status status = read_header(header, route); !status.ok()) return status;
  OnlyPath only;
  only.path.onlink = (header.rtm_flags & RTNH_F_ONLINK) != 0;
  AttributeWalk walk(message.substr(kSmallestMessage));
  uint16_t number;
  std::string_view payload;
  while (walk.next(&number, &payload))
    if (!read_attribute(number, payload, route, only))
      return damaged(offset_, "attribute " + std::to_string(number) + " cannot be read");
  if (walk.damaged()) return damaged(offset_, "an attribute is longer than its message");
  if (only.encap_type != 0 && !is_known_encap(only.encap_type))
    return Error{ErrorCode::kUnsupported,
                 "the route at byte " + std::to_string(offset_) + " has an encapsulation of type " +
                     std::to_string(only.encap_type) + ", which is not stored",
                 "encap ip, ip6 and seg6 are"};
  if (!finish_path(only)) return damaged(offset_, "its encapsulation cannot be read");
  if (leads_somewhere(only.path) && route.paths.empty()) route.paths.push_back(std::move(only.path));
  return visit(route);
}

Status SavedRouteReader::feed(std::string_view piece, const Visitor& visit) {
  held_.append(piece);
  size_t at = 0;
  if (!seen_magic_ && held_.size() >= sizeof kMagic) {
    uint32_t magic;
    std::memcpy(&magic, held_.data(), sizeof magic);
    if (magic != kMagic)
      return Error{ErrorCode::kCorruption,
                   "this is not what `ip route save` writes: it begins with other bytes",
                   "ip route save >FILE, or waypost route save >FILE"};
    seen_magic_ = true;
    at = sizeof kMagic;
    offset_ = at;
  }
  while (seen_magic_ && held_.size() - at >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, held_.data() + at, sizeof header);
    if (header.nlmsg_type != RTM_NEWROUTE)
      return damaged(offset_, "message type " + std::to_string(header.nlmsg_type) + " is not a route");
    if (header.nlmsg_len < kSmallestMessage || header.nlmsg_len > kLargestMessage)
      return damaged(offset_, "a message of " + std::to_string(header.nlmsg_len) + " bytes");
    const size_t whole = NLMSG_ALIGN(header.nlmsg_len);
    if (held_.size() - at < whole) break;
    if (Status status = take_message(std::string_view(held_).substr(at, header.nlmsg_len), visit);
        !status.ok())
      return status;
    at += whole;
    offset_ += whole;
  }
  held_.erase(0, at);
  return {};
}

Status SavedRouteReader::finish() const {
  if (!seen_magic_)
    return Error{ErrorCode::kCorruption,
                 "this is not what `ip route save` writes: it ends before its magic number",
                 "ip route save >FILE"};
  if (held_.empty()) return {};
  return damaged(offset_,
                 "the stream ends within a message, after " + std::to_string(held_.size()) + " bytes of it");
}

std::string save_magic() {
  return std::string(as_bytes(kMagic));
}

namespace {

void append_gateway(std::string& out, const IpAddress& gateway, Family family) {
  if (gateway.family == family) return append_attribute(out, RTA_GATEWAY, bytes_view(gateway));
  const uint16_t number = gateway.family == Family::kIpv4 ? AF_INET : AF_INET6;
  append_attribute(out, RTA_VIA, std::string(as_bytes(number)) + std::string(bytes_view(gateway)));
}

std::string encode_multipath(const SavedRoute& route) {
  std::string paths;
  for (const SavedPath& path : route.paths) {
    std::string attributes;
    if (path.gateway) append_gateway(attributes, *path.gateway, route.family);
    append_saved_encap(attributes, path.encap);
    const rtnexthop header{.rtnh_len = static_cast<uint16_t>(sizeof header + attributes.size()),
                           .rtnh_flags = static_cast<uint8_t>(path.onlink ? RTNH_F_ONLINK : 0),
                           .rtnh_hops = static_cast<uint8_t>(path.weight - 1),
                           .rtnh_ifindex = static_cast<int>(path.interface)};
    paths.append(as_bytes(header));
    paths.append(attributes);
  }
  return paths;
}

std::string encode_metrics(const RouteMetrics& metrics) {
  std::string nested;
  if (metrics.lock != 0) append_attribute(nested, RTAX_LOCK, as_bytes(metrics.lock));
  for (const auto& [number, value] : metrics.values) append_attribute(nested, number, as_bytes(value));
  if (!metrics.congestion_control.empty())
    append_attribute(nested, RTAX_CC_ALGO, metrics.congestion_control + std::string(1, '\0'));
  return nested;
}

void append_paths(std::string& out, const SavedRoute& route) {
  if (route.nexthop_id != 0) return append_attribute(out, RTA_NH_ID, as_bytes(route.nexthop_id));
  if (route.paths.size() > 1) return append_attribute(out, RTA_MULTIPATH, encode_multipath(route));
  if (route.paths.empty() || !leads_somewhere(route.paths[0])) return;
  const SavedPath& path = route.paths[0];
  if (path.gateway) append_gateway(out, *path.gateway, route.family);
  if (path.interface != 0) append_attribute(out, RTA_OIF, as_bytes(path.interface));
  append_saved_encap(out, path.encap);
}

}  // namespace

void append_saved_route(std::string& out, const SavedRoute& route) {
  std::string attributes;
  append_attribute(attributes, RTA_TABLE, as_bytes(route.table));
  if (route.prefix.length > 0) append_attribute(attributes, RTA_DST, bytes_view(route.prefix.address));
  if (route.metric != 0) append_attribute(attributes, RTA_PRIORITY, as_bytes(route.metric));
  if (route.prefsrc) append_attribute(attributes, RTA_PREFSRC, bytes_view(*route.prefsrc));
  if (!route.metrics.empty()) append_attribute(attributes, RTA_METRICS, encode_metrics(route.metrics));
  append_paths(attributes, route);
  if (route.family == Family::kIpv6) append_attribute(attributes, RTA_PREF, as_bytes(route.preference));
  const bool onlink = route.nexthop_id == 0 && route.paths.size() == 1 && route.paths[0].onlink &&
                      leads_somewhere(route.paths[0]);
  const nlmsghdr header{.nlmsg_len = static_cast<uint32_t>(kSmallestMessage + attributes.size()),
                        .nlmsg_type = RTM_NEWROUTE,
                        .nlmsg_flags = NLM_F_MULTI,
                        .nlmsg_seq = 0,
                        .nlmsg_pid = 0};
  const rtmsg message{.rtm_family = static_cast<uint8_t>(route.family == Family::kIpv4 ? AF_INET : AF_INET6),
                      .rtm_dst_len = route.prefix.length,
                      .rtm_src_len = 0,
                      .rtm_tos = route.tos,
                      .rtm_table = static_cast<uint8_t>(route.table < 256 ? route.table : RT_TABLE_COMPAT),
                      .rtm_protocol = route.protocol,
                      .rtm_scope = route.scope,
                      .rtm_type = route.type,
                      .rtm_flags = onlink ? static_cast<unsigned>(RTNH_F_ONLINK) : 0};
  out.append(as_bytes(header));
  out.append(as_bytes(message));
  out.append(attributes);
}

}  // namespace waypost::cli
