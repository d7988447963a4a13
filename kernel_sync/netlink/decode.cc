#include "kernel_sync/netlink/decode.h"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <cstring>

#include "kernel_sync/netlink/address.h"
#include "kernel_sync/netlink/encap.h"

namespace waypost::kernel_sync::netlink {

namespace {

// What rtm_flags and nh_flags say of a path, as opposed to the route.
constexpr uint32_t kPathFlags = 0x7f;

bool decode_members(Bytes payload, std::vector<GroupMember>& out) {
  if (payload.empty() || payload.size() % sizeof(nexthop_grp) != 0) return false;
  out.resize(payload.size() / sizeof(nexthop_grp));
  for (size_t i = 0; i < out.size(); ++i) {
    const uint8_t* entry = payload.data() + i * sizeof(nexthop_grp);
    uint32_t id;
    std::memcpy(&id, entry, sizeof id);
    // The weight is stored minus one; its high byte is a field of its own (KERNEL.md K4).
    const uint32_t weight = (uint32_t{entry[5]} << 8 | entry[4]) + 1;
    out[i] = {NexthopId(id), static_cast<uint16_t>(std::min<uint32_t>(weight, UINT16_MAX))};
  }
  return true;
}

bool decode_resilient(Bytes payload, ResilientParameters& out) {
  AttributeReader reader(payload);
  Attribute attribute;
  while (reader.next(attribute)) {
    switch (attribute.type) {
      case NHA_RES_GROUP_BUCKETS:
        out.buckets = attribute.integer<uint16_t>().value_or(0);
        break;
      case NHA_RES_GROUP_IDLE_TIMER:
        out.idle_timer_cs = attribute.integer<uint32_t>().value_or(0);
        break;
      case NHA_RES_GROUP_UNBALANCED_TIMER:
        out.unbalanced_timer_cs = attribute.integer<uint32_t>().value_or(0);
        break;
      default:
        break;
    }
  }
  return !reader.malformed();
}

// The attributes of a nexthop message, gathered before it is known whether they describe a group.
struct NexthopParts {
  uint32_t id = 0;
  uint32_t ifindex = 0;
  bool is_group = false;
  uint16_t encap_type = 0;
  Bytes encap;
  Nexthop single;
  NexthopGroup group;
};

bool gather(const Attribute& attribute, NexthopParts& parts) {
  switch (attribute.type) {
    case NHA_ID:
      parts.id = attribute.integer<uint32_t>().value_or(0);
      return parts.id != 0;
    case NHA_GROUP:
      parts.is_group = true;
      return decode_members(attribute.payload, parts.group.members);
    case NHA_GROUP_TYPE: {
      const auto type = attribute.integer<uint16_t>();
      if (type) parts.group.type = static_cast<GroupType>(*type);
      return type.has_value();
    }
    case NHA_RES_GROUP:
      return decode_resilient(attribute.payload, parts.group.resilient);
    case NHA_BLACKHOLE:
      parts.single.blackhole = true;
      return true;
    case NHA_FDB:
      parts.single.fdb = parts.group.fdb = true;
      return true;
    case NHA_OIF: {
      const auto ifindex = attribute.integer<uint32_t>();
      if (ifindex) parts.ifindex = *ifindex;
      return ifindex.has_value();
    }
    case NHA_GATEWAY:
      parts.single.gateway = to_address(attribute.payload);
      return parts.single.gateway.has_value();
    case NHA_ENCAP_TYPE:
      parts.encap_type = attribute.integer<uint16_t>().value_or(0);
      return true;
    case NHA_ENCAP:
      parts.encap = attribute.payload;
      return true;
    default:
      return true;
  }
}

bool decode_metrics(Bytes payload, RouteMetrics& out) {
  AttributeReader reader(payload);
  Attribute attribute;
  while (reader.next(attribute)) {
    if (attribute.type == RTAX_CC_ALGO) {
      out.congestion_control = attribute.text();
      continue;
    }
    const auto value = attribute.integer<uint32_t>();
    if (!value) return false;
    if (attribute.type == RTAX_LOCK) {
      out.lock = *value;
    } else if (attribute.type <= UINT8_MAX) {
      out.values.emplace_back(static_cast<uint8_t>(attribute.type), *value);
    }
  }
  return !reader.malformed();
}

std::optional<IpAddress> decode_via(Bytes payload) {
  uint16_t kernel_family;
  if (payload.size() < sizeof kernel_family) return std::nullopt;
  std::memcpy(&kernel_family, payload.data(), sizeof kernel_family);
  const auto family = to_family(kernel_family);
  return family ? to_address(*family, payload.subspan(sizeof kernel_family)) : std::nullopt;
}

// RTA_GATEWAY or RTA_VIA into a path; true for anything else.
bool decode_gateway(const Attribute& attribute, KernelPath& path) {
  if (attribute.type != RTA_GATEWAY && attribute.type != RTA_VIA) return true;
  path.gateway = attribute.type == RTA_VIA ? decode_via(attribute.payload) : to_address(attribute.payload);
  return path.gateway.has_value();
}

// multipath = *( length:u16 flags:u8 hops:u8 ifindex:u32 *attribute ); hops is the weight minus one.
bool decode_multipath(Bytes payload, std::vector<KernelPath>& out) {
  while (payload.size() >= sizeof(rtnexthop)) {
    rtnexthop header;
    std::memcpy(&header, payload.data(), sizeof header);
    if (header.rtnh_len < sizeof header || header.rtnh_len > payload.size()) return false;
    KernelPath path;
    path.ifindex = static_cast<uint32_t>(header.rtnh_ifindex);
    path.weight = static_cast<uint16_t>(header.rtnh_hops + 1);
    path.flags = header.rtnh_flags;
    AttributeReader reader(payload.subspan(sizeof header, header.rtnh_len - sizeof header));
    Attribute attribute;
    while (reader.next(attribute)) {
      if (!decode_gateway(attribute, path)) return false;
    }
    if (reader.malformed()) return false;
    out.push_back(path);
    payload = payload.subspan(std::min<size_t>(RTNH_ALIGN(header.rtnh_len), payload.size()));
  }
  return payload.empty();
}

// The kernel's negative errno as a positive one; what no errno can be is an I/O error.
int to_errno(int32_t error) {
  constexpr int32_t kMaxErrno = 4'095;  // MAX_ERRNO
  if (error >= 0) return 0;
  return error >= -kMaxErrno ? -error : EIO;
}

// A route message on its way to a KernelRoute.
struct RouteParts {
  Family family = Family::kIpv4;
  std::optional<IpAddress> destination;
  KernelPath path;  // of RTA_OIF and RTA_GATEWAY
  bool has_path = false;
};

bool gather(const Attribute& attribute, RouteParts& parts, KernelRoute& out) {
  Route& route = out.route;
  switch (attribute.type) {
    case RTA_DST:
      parts.destination = to_address(parts.family, attribute.payload);
      return parts.destination.has_value();
    case RTA_TABLE: {
      const auto table = attribute.integer<uint32_t>();
      if (table) route.key.table = TableId(*table);
      return table.has_value();
    }
    case RTA_PRIORITY: {
      const auto metric = attribute.integer<uint32_t>();
      if (metric) route.key.metric = *metric;
      return metric.has_value();
    }
    case RTA_NH_ID: {
      const auto id = attribute.integer<uint32_t>();
      if (id) route.nexthop = NexthopId(*id);
      return id.has_value();
    }
    case RTA_PREFSRC:
      route.prefsrc = to_address(parts.family, attribute.payload);
      return route.prefsrc.has_value();
    case RTA_PREF:
      route.preference = attribute.integer<uint8_t>().value_or(0);
      return true;
    case RTA_METRICS:
      return decode_metrics(attribute.payload, route.metrics);
    case RTA_OIF: {
      const auto ifindex = attribute.integer<uint32_t>();
      parts.has_path = true;
      if (ifindex) parts.path.ifindex = *ifindex;
      return ifindex.has_value();
    }
    case RTA_GATEWAY:
    case RTA_VIA:
      parts.has_path = true;
      return decode_gateway(attribute, parts.path);
    case RTA_MULTIPATH:
      return decode_multipath(attribute.payload, out.paths);
    default:
      return true;
  }
}

}  // namespace

Decoded decode_nexthop(const Message& message, KernelNexthop& out) {
  nhmsg header;
  Bytes attributes;
  if (!split_fixed(message.body, header, attributes)) return Decoded::kMalformed;
  NexthopParts parts;
  AttributeReader reader(attributes);
  Attribute attribute;
  while (reader.next(attribute)) {
    if (!gather(attribute, parts)) return Decoded::kMalformed;
  }
  if (reader.malformed() || parts.id == 0) return Decoded::kMalformed;

  out.object.id = NexthopId(parts.id);
  out.object.protocol = header.nh_protocol;
  out.flags = header.nh_flags & ~uint32_t{RTNH_F_ONLINK};
  out.ifindex = parts.is_group ? 0 : parts.ifindex;
  if (parts.is_group) {
    if (parts.group.type != GroupType::kResilient) parts.group.resilient = {};
    out.object.body = std::move(parts.group);
    return Decoded::kOk;
  }
  const auto family = to_family(header.nh_family);
  if (!family) return Decoded::kSkipped;
  parts.single.family = *family;
  parts.single.onlink = (header.nh_flags & RTNH_F_ONLINK) != 0;
  if (parts.encap_type != 0 &&
      decode_encap(parts.encap_type, parts.encap, parts.single.encap) == Decoded::kMalformed) {
    return Decoded::kMalformed;
  }
  out.object.body = std::move(parts.single);
  return Decoded::kOk;
}

Decoded decode_route(const Message& message, KernelRoute& out) {
  rtmsg header;
  Bytes attributes;
  if (!split_fixed(message.body, header, attributes)) return Decoded::kMalformed;
  const auto family = to_family(header.rtm_family);
  if (!family || (header.rtm_flags & RTM_F_CLONED) != 0 || header.rtm_src_len != 0) return Decoded::kSkipped;
  if (header.rtm_dst_len > address_bits(*family)) return Decoded::kMalformed;

  out = {};
  out.route.key.table = TableId(header.rtm_table);
  RouteParts parts;
  parts.family = *family;
  AttributeReader reader(attributes);
  Attribute attribute;
  while (reader.next(attribute)) {
    if (!gather(attribute, parts, out)) return Decoded::kMalformed;
  }
  if (reader.malformed() || (!parts.destination && header.rtm_dst_len != 0)) return Decoded::kMalformed;

  const IpAddress any{*family, {}};
  out.route.key.prefix = {masked(parts.destination.value_or(any), header.rtm_dst_len), header.rtm_dst_len};
  out.route.key.tos = header.rtm_tos;
  out.route.type = static_cast<RouteType>(header.rtm_type);
  out.route.protocol = header.rtm_protocol;
  out.route.scope = header.rtm_scope;
  out.flags = header.rtm_flags;
  const bool error_type = header.rtm_type >= RTN_BLACKHOLE && header.rtm_type <= RTN_THROW;
  if (out.route.nexthop.value() != 0 || error_type) {
    out.paths.clear();
  } else if (parts.has_path && out.paths.empty()) {
    parts.path.flags = header.rtm_flags & kPathFlags;
    out.paths.push_back(parts.path);
  }
  return Decoded::kOk;
}

Decoded decode_link(const Message& message, KernelLink& out) {
  ifinfomsg header;
  Bytes attributes;
  if (!split_fixed(message.body, header, attributes)) return Decoded::kMalformed;
  if (header.ifi_family != AF_UNSPEC) return Decoded::kSkipped;
  out = {};
  out.ifindex = static_cast<uint32_t>(header.ifi_index);
  out.up = (header.ifi_flags & IFF_UP) != 0;
  out.carrier = (header.ifi_flags & IFF_LOWER_UP) != 0;
  out.loopback = (header.ifi_flags & IFF_LOOPBACK) != 0;
  AttributeReader reader(attributes);
  Attribute attribute;
  while (reader.next(attribute)) {
    if (attribute.type == IFLA_IFNAME) out.name = attribute.text();
  }
  return reader.malformed() || header.ifi_index <= 0 ? Decoded::kMalformed : Decoded::kOk;
}

Decoded decode_address(const Message& message, KernelAddress& out) {
  ifaddrmsg header;
  Bytes attributes;
  if (!split_fixed(message.body, header, attributes)) return Decoded::kMalformed;
  const auto family = to_family(header.ifa_family);
  if (!family) return Decoded::kSkipped;
  if (header.ifa_prefixlen > address_bits(*family)) return Decoded::kMalformed;
  std::optional<IpAddress> address;  // of a point-to-point link this is the peer's
  std::optional<IpAddress> local;
  AttributeReader reader(attributes);
  Attribute attribute;
  while (reader.next(attribute)) {
    if (attribute.type == IFA_ADDRESS) address = to_address(*family, attribute.payload);
    if (attribute.type == IFA_LOCAL) local = to_address(*family, attribute.payload);
  }
  if (reader.malformed() || (!address && !local)) return Decoded::kMalformed;
  out.ifindex = header.ifa_index;
  out.prefix = {address ? *address : *local, header.ifa_prefixlen};
  out.local = local ? *local : *address;
  return Decoded::kOk;
}

// error = error:i32 request-header [ request ] *( attribute ); the request is left out where NLM_F_CAPPED
// says so.
bool decode_error(const Message& message, ErrorReply& out) {
  nlmsgerr header;
  Bytes rest;
  if (!split_fixed(message.body, header, rest)) return false;
  out.error = to_errno(header.error);
  out.words.clear();
  if (out.error == 0) return true;
  if ((message.flags & NLM_F_ACK_TLVS) != 0) {
    if ((message.flags & NLM_F_CAPPED) == 0) {
      const size_t request = header.msg.nlmsg_len < sizeof header.msg
                                 ? 0
                                 : NLMSG_ALIGN(size_t{header.msg.nlmsg_len}) - sizeof header.msg;
      rest = rest.subspan(std::min(request, rest.size()));
    }
    AttributeReader reader(rest);
    Attribute attribute;
    while (reader.next(attribute)) {
      if (attribute.type == NLMSGERR_ATTR_MSG) out.words = attribute.text();
    }
  }
  if (out.words.empty())
    out.words = strerrordesc_np(out.error) ? strerrordesc_np(out.error) : "unknown error";
  return true;
}

ErrorReply decode_done(const Message& message) {
  int32_t error = 0;
  if (message.body.size() >= sizeof error) std::memcpy(&error, message.body.data(), sizeof error);
  ErrorReply reply;
  reply.error = to_errno(error);
  if (reply.error != 0) {
    if ((message.flags & NLM_F_ACK_TLVS) != 0) {
      AttributeReader reader(message.body.subspan(sizeof error));
      Attribute attribute;
      while (reader.next(attribute)) {
        if (attribute.type == NLMSGERR_ATTR_MSG) reply.words = attribute.text();
      }
    }
    if (reply.words.empty()) reply.words = strerrordesc_np(reply.error) ? strerrordesc_np(reply.error) : "";
  }
  return reply;
}

}  // namespace waypost::kernel_sync::netlink
