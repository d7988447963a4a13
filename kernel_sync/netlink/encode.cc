#include "kernel_sync/netlink/encode.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "kernel_sync/netlink/address.h"
#include "kernel_sync/netlink/encap.h"
#include "model/check.h"

namespace waypost::kernel_sync::netlink {

namespace {

constexpr uint16_t kDumpFlags = NLM_F_REQUEST | NLM_F_DUMP;

// "Replace" needs both flags, or a missing object is an error (KERNEL.md K7).
uint16_t put_flags(bool exclusive) {
  return static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_CREATE | (exclusive ? NLM_F_EXCL : NLM_F_REPLACE));
}

void encode_group(const NexthopGroup& group, MessageWriter& writer) {
  const size_t members = writer.open_nest(NHA_GROUP);
  for (const GroupMember& member : group.members) {
    const uint32_t id = member.id.value();
    const auto weight = static_cast<uint16_t>(member.weight - 1);
    writer.append({reinterpret_cast<const uint8_t*>(&id), sizeof id});
    const uint8_t rest[4] = {static_cast<uint8_t>(weight & 0xff), static_cast<uint8_t>(weight >> 8), 0, 0};
    writer.append(rest);
  }
  writer.close_nest(members);
  if (group.fdb) writer.flag(NHA_FDB);
  if (group.type == GroupType::kHashThreshold) return;
  writer.integer<uint16_t>(NHA_GROUP_TYPE, static_cast<uint16_t>(group.type));
  const size_t nest = writer.open_nest(NHA_RES_GROUP | NLA_F_NESTED);
  if (group.resilient.buckets != 0) {
    writer.integer<uint16_t>(NHA_RES_GROUP_BUCKETS, group.resilient.buckets);
  }
  writer.integer<uint32_t>(NHA_RES_GROUP_IDLE_TIMER, group.resilient.idle_timer_cs);
  writer.integer<uint32_t>(NHA_RES_GROUP_UNBALANCED_TIMER, group.resilient.unbalanced_timer_cs);
  writer.close_nest(nest);
}

void encode_single(const Nexthop& nexthop, uint32_t ifindex, MessageWriter& writer) {
  if (nexthop.blackhole) writer.flag(NHA_BLACKHOLE);
  if (nexthop.fdb) writer.flag(NHA_FDB);
  if (ifindex != 0) writer.integer<uint32_t>(NHA_OIF, ifindex);
  if (nexthop.gateway) writer.attribute(NHA_GATEWAY, nexthop.gateway->used());
  encode_encap(nexthop.encap, writer);
}

void encode_put(const PutKernelNexthop& put, uint32_t sequence, std::vector<uint8_t>& out) {
  const NexthopObject& object = put.nexthop.object;
  nhmsg header = {};
  header.nh_protocol = object.protocol;
  if (!object.is_group()) {
    const Nexthop& nexthop = object.nexthop();
    header.nh_family = to_kernel(nexthop.gateway ? nexthop.gateway->family : nexthop.family);
    if (nexthop.onlink) header.nh_flags = RTNH_F_ONLINK;
  }
  MessageWriter writer(out);
  writer.begin(RTM_NEWNEXTHOP, put_flags(put.exclusive), sequence);
  writer.fixed(header);
  writer.integer<uint32_t>(NHA_ID, object.id.value());
  if (object.is_group()) {
    encode_group(object.group(), writer);
  } else {
    encode_single(object.nexthop(), put.nexthop.ifindex, writer);
  }
  writer.end();
}

void encode_delete(const DeleteKernelNexthop& erase, uint32_t sequence, std::vector<uint8_t>& out) {
  MessageWriter writer(out);
  writer.begin(RTM_DELNEXTHOP, NLM_F_REQUEST, sequence);
  writer.fixed(nhmsg{});
  writer.integer<uint32_t>(NHA_ID, erase.id.value());
  writer.end();
}

rtmsg key_header(const RouteKey& key) {
  rtmsg header = {};
  header.rtm_family = to_kernel(key.prefix.family());
  header.rtm_dst_len = key.prefix.length;
  header.rtm_tos = key.tos;
  header.rtm_table = key.table.value() <= UINT8_MAX ? static_cast<uint8_t>(key.table.value())
                                                    : static_cast<uint8_t>(RT_TABLE_UNSPEC);
  return header;
}

void encode_key(const RouteKey& key, MessageWriter& writer) {
  writer.attribute(RTA_DST, key.prefix.address.used());
  if (key.table.value() > UINT8_MAX) writer.integer<uint32_t>(RTA_TABLE, key.table.value());
  if (key.metric != 0) writer.integer<uint32_t>(RTA_PRIORITY, key.metric);
}

void encode_gateway(const KernelPath& path, Family route_family, MessageWriter& writer) {
  if (!path.gateway) return;
  if (path.gateway->family == route_family) {
    writer.attribute(RTA_GATEWAY, path.gateway->used());
    return;
  }
  const uint16_t family = to_kernel(path.gateway->family);
  const size_t nest = writer.open_nest(RTA_VIA);
  writer.append({reinterpret_cast<const uint8_t*>(&family), sizeof family});
  writer.append(path.gateway->used());
  writer.close_nest(nest);
}

void encode_paths(const KernelRoute& route, MessageWriter& writer) {
  const Family family = route.route.key.prefix.family();
  if (route.paths.size() == 1) {
    encode_gateway(route.paths[0], family, writer);
    if (route.paths[0].ifindex != 0) writer.integer<uint32_t>(RTA_OIF, route.paths[0].ifindex);
    return;
  }
  const size_t nest = writer.open_nest(RTA_MULTIPATH);
  for (const KernelPath& path : route.paths) {
    const size_t start = writer.size();
    rtnexthop header = {};
    header.rtnh_hops = static_cast<uint8_t>(path.weight - 1);
    header.rtnh_flags = static_cast<uint8_t>(path.flags & RTNH_F_ONLINK);
    header.rtnh_ifindex = static_cast<int>(path.ifindex);
    writer.append({reinterpret_cast<const uint8_t*>(&header), sizeof header});
    encode_gateway(path, family, writer);
    writer.patch_u16(start, static_cast<uint16_t>(writer.size() - start));
  }
  writer.close_nest(nest);
}

void encode_metrics(const RouteMetrics& metrics, MessageWriter& writer) {
  const size_t nest = writer.open_nest(RTA_METRICS | NLA_F_NESTED);
  if (metrics.lock != 0) writer.integer<uint32_t>(RTAX_LOCK, metrics.lock);
  for (const auto& [number, value] : metrics.values) writer.integer<uint32_t>(number, value);
  if (!metrics.congestion_control.empty()) writer.text(RTAX_CC_ALGO, metrics.congestion_control);
  writer.close_nest(nest);
}

void encode_put(const PutKernelRoute& put, PlainMetrics plain, uint32_t sequence, std::vector<uint8_t>& out) {
  const Route& route = put.route.route;
  rtmsg header = key_header(route.key);
  header.rtm_type = static_cast<uint8_t>(route.type);
  header.rtm_protocol = route.protocol;
  header.rtm_scope = route.scope;
  if (put.route.paths.size() == 1) header.rtm_flags = put.route.paths[0].flags & RTNH_F_ONLINK;
  MessageWriter writer(out);
  writer.begin(RTM_NEWROUTE, put_flags(put.exclusive), sequence);
  writer.fixed(header);
  encode_key(route.key, writer);
  if (route.nexthop.value() != 0) writer.integer<uint32_t>(RTA_NH_ID, route.nexthop.value());
  if (!put.route.paths.empty()) encode_paths(put.route, writer);
  if (route.prefsrc) writer.attribute(RTA_PREFSRC, route.prefsrc->used());
  if (route.preference != 0) writer.integer<uint8_t>(RTA_PREF, route.preference);
  const bool separate = plain == PlainMetrics::kSeparate && route.key.prefix.family() == Family::kIpv4 &&
                        route.nexthop.value() != 0;
  if (separate || !route.metrics.empty()) encode_metrics(route.metrics, writer);
  writer.end();
}

void encode_delete(const DeleteKernelRoute& erase, uint32_t sequence, std::vector<uint8_t>& out) {
  rtmsg header = key_header(erase.key);
  header.rtm_scope = RT_SCOPE_NOWHERE;  // any
  if (erase.type) header.rtm_type = static_cast<uint8_t>(*erase.type);
  if (erase.protocol) header.rtm_protocol = *erase.protocol;
  MessageWriter writer(out);
  writer.begin(RTM_DELROUTE, NLM_F_REQUEST, sequence);
  writer.fixed(header);
  encode_key(erase.key, writer);
  if (erase.nexthop.value() != 0) writer.integer<uint32_t>(RTA_NH_ID, erase.nexthop.value());
  writer.end();
}

}  // namespace

bool has_metrics_to_share(const KernelRoute& route) {
  return route.route.nexthop.value() != 0 && route.route.key.prefix.family() == Family::kIpv4 &&
         !route.route.metrics.empty();
}

void encode_step(const KernelStep& step, PlainMetrics plain, uint32_t sequence, std::vector<uint8_t>& out) {
  if (const auto* put_nexthop = std::get_if<PutKernelNexthop>(&step)) encode_put(*put_nexthop, sequence, out);
  if (const auto* put_route = std::get_if<PutKernelRoute>(&step))
    encode_put(*put_route, plain, sequence, out);
  if (const auto* nexthop = std::get_if<DeleteKernelNexthop>(&step)) encode_delete(*nexthop, sequence, out);
  if (const auto* route = std::get_if<DeleteKernelRoute>(&step)) encode_delete(*route, sequence, out);
}

void request_acknowledgement(std::vector<uint8_t>& buffer, size_t message_start) {
  const size_t offset = message_start + offsetof(nlmsghdr, nlmsg_flags);
  uint16_t flags;
  std::memcpy(&flags, buffer.data() + offset, sizeof flags);
  flags |= NLM_F_ACK;
  std::memcpy(buffer.data() + offset, &flags, sizeof flags);
}

void encode_noop(uint32_t sequence, std::vector<uint8_t>& out) {
  MessageWriter writer(out);
  writer.begin(NLMSG_NOOP, NLM_F_REQUEST | NLM_F_ACK, sequence);
  writer.end();
}

void encode_dump_nexthops(uint32_t sequence, std::vector<uint8_t>& out) {
  MessageWriter writer(out);
  writer.begin(RTM_GETNEXTHOP, kDumpFlags, sequence);
  writer.fixed(nhmsg{});
  writer.end();
}

void encode_dump_routes(Family family, std::optional<TableId> table, uint32_t sequence,
                        std::vector<uint8_t>& out) {
  rtmsg header = {};
  header.rtm_family = to_kernel(family);
  MessageWriter writer(out);
  writer.begin(RTM_GETROUTE, kDumpFlags, sequence);
  writer.fixed(header);
  if (table) writer.integer<uint32_t>(RTA_TABLE, table->value());
  writer.end();
}

void encode_dump_addresses(uint32_t sequence, std::vector<uint8_t>& out) {
  MessageWriter writer(out);
  writer.begin(RTM_GETADDR, kDumpFlags, sequence);
  writer.fixed(ifaddrmsg{});
  writer.end();
}

void encode_dump_links(uint32_t sequence, std::vector<uint8_t>& out) {
  MessageWriter writer(out);
  writer.begin(RTM_GETLINK, kDumpFlags, sequence);
  writer.fixed(ifinfomsg{});
  // Virtual functions and statistics make answers of tens of kilobytes; only the names and flags are wanted.
  writer.integer<uint32_t>(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  writer.end();
}

void encode_get_nexthop(NexthopId id, uint32_t sequence, std::vector<uint8_t>& out) {
  MessageWriter writer(out);
  writer.begin(RTM_GETNEXTHOP, NLM_F_REQUEST, sequence);
  writer.fixed(nhmsg{});
  writer.integer<uint32_t>(NHA_ID, id.value());
  writer.end();
}

void encode_get_link(std::string_view name, uint32_t sequence, std::vector<uint8_t>& out) {
  MessageWriter writer(out);
  writer.begin(RTM_GETLINK, NLM_F_REQUEST, sequence);
  writer.fixed(ifinfomsg{});
  writer.text(IFLA_IFNAME, name);
  writer.integer<uint32_t>(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  writer.end();
}

void encode_get_link(uint32_t ifindex, uint32_t sequence, std::vector<uint8_t>& out) {
  ifinfomsg header = {};
  header.ifi_index = static_cast<int>(ifindex);
  MessageWriter writer(out);
  writer.begin(RTM_GETLINK, NLM_F_REQUEST, sequence);
  writer.fixed(header);
  writer.integer<uint32_t>(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  writer.end();
}

void encode_match(const IpAddress& address, uint8_t tos, uint32_t sequence, std::vector<uint8_t>& out) {
  rtmsg header = {};
  header.rtm_family = to_kernel(address.family);
  header.rtm_dst_len = static_cast<uint8_t>(address_bits(address.family));
  header.rtm_flags = RTM_F_FIB_MATCH;
  if (address.family == Family::kIpv4) {
    header.rtm_tos = tos;
    header.rtm_flags |= RTM_F_LOOKUP_TABLE;  // IPv6 refuses the flag and always names the table
  }
  MessageWriter writer(out);
  writer.begin(RTM_GETROUTE, NLM_F_REQUEST, sequence);
  writer.fixed(header);
  writer.attribute(RTA_DST, address.used());
  writer.end();
}

void encode_probe_key(const RouteKey& key, uint32_t sequence, std::vector<uint8_t>& out) {
  rtmsg header = key_header(key);
  header.rtm_type = RTN_BLACKHOLE;  // needs no nexthop, so that only the key is judged
  header.rtm_protocol = RTPROT_BOOT;
  // IPv4 looks at EXCL and CREATE alone. IPv6 creates unless REPLACE without CREATE forbids it, and looks at
  // EXCL first.
  const int replace = key.prefix.family() == Family::kIpv6 ? NLM_F_REPLACE : 0;
  MessageWriter writer(out);
  writer.begin(RTM_NEWROUTE, static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_EXCL | replace), sequence);
  writer.fixed(header);
  encode_key(key, writer);
  writer.end();
}

void encode_probe_encap(uint16_t type, uint32_t sequence, std::vector<uint8_t>& out) {
  rtmsg header = {};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = 32;
  header.rtm_scope = RT_SCOPE_NOWHERE;
  const uint8_t reserved[4] = {240, 0, 0, 1};  // no route to it can be in a table that is not there
  MessageWriter writer(out);
  writer.begin(RTM_DELROUTE, NLM_F_REQUEST | NLM_F_ACK, sequence);
  writer.fixed(header);
  writer.attribute(RTA_DST, reserved);
  writer.integer<uint32_t>(RTA_TABLE, UINT32_MAX - 1);
  writer.integer<uint16_t>(RTA_ENCAP_TYPE, type);
  writer.end();
}

}  // namespace waypost::kernel_sync::netlink
