#include "model/nexthop.h"

#include <algorithm>

#include "model/limits.h"
#include "model/route.h"

namespace waypost {
namespace {

constexpr uint16_t kTunnelFlags = 0x01 | 0x04 | 0x08;  // csum, key, seq
constexpr uint8_t kLastSeg6Mode = 4;
constexpr uint8_t kSeg6Inline = 0;

Error invalid(std::string words, std::string hint = {}) {
  return {.code = ErrorCode::kInvalidArgument, .message = std::move(words), .hint = std::move(hint)};
}

bool is_device_name(const std::string& name) {
  if (name.empty() || name.size() > limits::kMaxDeviceName || name == "." || name == "..") return false;
  return std::none_of(name.begin(), name.end(), [](unsigned char c) {
    return c == '/' || c == ':' || c == 0 || c == ' ' || (c >= '\t' && c <= '\r');
  });
}

Status validate(const EncapIp& encap) {
  if (encap.source.family != encap.family || encap.destination.family != encap.family)
    return invalid("the addresses of an encap are of the family of its outer header");
  if ((encap.flags & ~kTunnelFlags) != 0) return invalid("an ip encap has the flags csum, key and seq only");
  return {};
}

Status validate(const EncapSeg6& encap, Family inner) {
  if (encap.mode > kLastSeg6Mode)
    return invalid("a seg6 encap has the modes inline, encap, l2encap, encap.red, l2encap.red");
  if (encap.mode == kSeg6Inline && inner == Family::kIpv4)
    return invalid("seg6 mode inline extends an IPv6 header, so the nexthop can not be IPv4",
                   "use mode encap");
  if (encap.segments.empty()) return invalid("a seg6 encap has at least one segment");
  if (encap.segments.size() > limits::kMaxEncapSegments)
    return invalid("a seg6 encap has at most " + std::to_string(limits::kMaxEncapSegments) + " segments");
  for (const IpAddress& segment : encap.segments)
    if (segment.family != Family::kIpv6) return invalid("the segments of a seg6 encap are IPv6 addresses");
  return {};
}

Status validate_encap(const Nexthop& nexthop) {
  if (const auto* ip = std::get_if<EncapIp>(&nexthop.encap)) return validate(*ip);
  if (const auto* seg6 = std::get_if<EncapSeg6>(&nexthop.encap)) return validate(*seg6, nexthop.family);
  return {};
}

Status validate_gateway(const Nexthop& nexthop) {
  const IpAddress& gateway = *nexthop.gateway;
  if (gateway.family != nexthop.family) return invalid("the gateway is not of the family of the nexthop");
  if (gateway.is_unspecified())
    return invalid("the gateway can not be the unspecified address", "leave the gateway out");
  // KERNEL.md cases 7 and 10; a subnet's broadcast address depends on the host.
  if (gateway.is_multicast()) return invalid("the gateway can not be a multicast address");
  if (gateway == IpAddress::v4(0xffff'ffff)) return invalid("the gateway can not be a broadcast address");
  if (gateway.is_link_local() && nexthop.device.empty() && !nexthop.fdb)
    return invalid("a link-local gateway needs a device", "add `dev NAME`");
  return {};
}

Status validate(const Nexthop& nexthop, bool interned) {
  const bool has_encap = nexthop.encap.index() != 0;
  if (nexthop.onlink && (!nexthop.gateway || nexthop.fdb))
    return invalid("onlink needs a gateway on a device", "leave onlink out");
  if (nexthop.blackhole) {
    // KERNEL.md case 15.
    if (nexthop.gateway || !nexthop.device.empty() || has_encap || nexthop.fdb)
      return invalid("a blackhole can not have a gateway, a device, an encap or fdb");
    return {};
  }
  if (nexthop.fdb && (!nexthop.device.empty() || has_encap))  // KERNEL.md case 64
    return invalid("an fdb nexthop can not have a device or an encap");
  if (nexthop.fdb && !nexthop.gateway) return invalid("an fdb nexthop needs a gateway", "add `via ADDRESS`");
  if (!nexthop.device.empty() && !is_device_name(nexthop.device))
    return invalid("'" + nexthop.device + "' is not a device name",
                   "1 to 15 characters without '/', ':' and white space");
  if (nexthop.gateway)
    if (Status status = validate_gateway(nexthop); !status.ok()) return status;
  if (nexthop.device.empty() && !nexthop.fdb) {
    if (!nexthop.gateway)  // KERNEL.md case 2
      return invalid("a nexthop needs a device, a gateway on a device, or to be a blackhole",
                     "add `via ADDRESS dev NAME`, `dev NAME` or `blackhole`");
    if (!interned)  // KERNEL.md case 3
      return invalid("a device is required for a nexthop that is neither blackhole nor fdb",
                     "add `dev NAME`");
    if (nexthop.onlink) return invalid("onlink needs a device", "add `dev NAME`");
  }
  return validate_encap(nexthop);
}

Status validate(const NexthopGroup& group) {
  const std::string limit = std::to_string(limits::kMaxGroupMembers);
  if (group.members.empty()) return invalid("a group needs at least one member");
  if (group.members.size() > limits::kMaxGroupMembers)  // KERNEL.md K14
    return invalid("a group has at most " + limit + " members, this one has " +
                   std::to_string(group.members.size()));
  std::vector<NexthopId> ids;
  ids.reserve(group.members.size());
  for (const GroupMember& member : group.members) {
    if (member.id.value() == 0) return invalid("nexthop id 0 can not be a member of a group");
    if (member.weight == 0)
      return invalid("the weight of member " + std::to_string(member.id.value()) + " is 0",
                     "weights are 1 to 65535");
    ids.push_back(member.id);
  }
  std::sort(ids.begin(), ids.end());
  if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end())  // KERNEL.md case 24
    return invalid("nexthop id " + std::to_string(twice->value()) + " can not be used twice in a group",
                   "give it a weight instead");
  if (group.type != GroupType::kHashThreshold && group.type != GroupType::kResilient)
    return invalid("a group is of type mpath or resilient");
  if (group.type != GroupType::kResilient && group.resilient != ResilientParameters{})
    return invalid("buckets and timers belong to a resilient group", "add `type resilient`");
  return {};
}

}  // namespace

bool is_interned(NexthopId id) {
  return id.value() >= limits::kFirstInternedId && id.value() <= limits::kLastInternedId;
}

bool is_scratch(NexthopId id) {
  return id.value() >= limits::kFirstScratchId && id.value() <= limits::kLastScratchId;
}

uint8_t derived_scope(const NexthopObject& object) {
  if (object.is_group() || object.nexthop().blackhole) return kScopeGlobal;
  const Nexthop& nexthop = object.nexthop();
  return nexthop.gateway || nexthop.fdb || nexthop.family == Family::kIpv6 ? kScopeLink : kScopeHost;
}

Status validate(const NexthopObject& object, bool interned) {
  return object.is_group() ? validate(object.group()) : validate(object.nexthop(), interned);
}

}  // namespace waypost
