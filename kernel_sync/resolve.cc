#include "kernel_sync/resolve.h"

#include <variant>

namespace waypost::kernel_sync {
namespace {

Resolution out(RowState state, Reason reason) {
  return Resolution{.usable = false, .state = state, .reason = reason};
}

Resolution usable_on(uint32_t ifindex) {
  return Resolution{.usable = true, .state = RowState::kInstalled, .ifindex = ifindex};
}

// The device of the connected route that covers the gateway, whoever owns it; never through a gateway, never
// through ours.
uint32_t connected_device(const Fib& fib, const IpAddress& gateway) {
  uint32_t ifindex = 0;
  auto connected = [&](SpecId id) {
    const RouteSpec& spec = fib.routes.specs()[id];
    if (spec.type != RouteType::kUnicast || spec.gateway) return false;
    ifindex = spec.ifindex;
    if (spec.nexthop.value() == 0) return ifindex != 0;
    const NexthopTable::Row* row = fib.installed.find(spec.nexthop);
    if (row == nullptr || row->ours || row->group || row->has_gateway || row->device == 0) return false;
    ifindex = row->device;
    return true;
  };
  uint32_t best = 0;
  fib.routes.longest(Side::kForeign, kMainTable, gateway, [&](SpecId id) {
    if (!connected(id)) return false;
    best = ifindex;
    return true;
  });
  return best;
}

bool encap_supported(const Capabilities& capabilities, const Encap& encap) {
  if (const EncapIp* ip = std::get_if<EncapIp>(&encap))
    return ip->family == Family::kIpv4 ? capabilities.encap_ip : capabilities.encap_ip6;
  if (std::holds_alternative<EncapSeg6>(encap)) return capabilities.encap_seg6;
  return true;
}

// What groups ask of the kernel; their members are judged by the planner.
Resolution resolve_group(const Fib& fib, const NexthopGroup& group) {
  if (group.type == GroupType::kResilient && !fib.capabilities.resilient_groups)
    return out(RowState::kRefused, Reason::kResilient);
  if (!fib.capabilities.wide_weights)
    for (const GroupMember& member : group.members)
      if (member.weight > 256) return out(RowState::kRefused, Reason::kWideWeights);
  return usable_on(0);
}

bool same(const NexthopTable::Row& row, const Resolution& resolution) {
  return row.usable == resolution.usable && row.ifindex == resolution.ifindex &&
         row.reason == resolution.reason;
}

}  // namespace

Resolution resolve(const Fib& fib, Host& host, NexthopId id, const NexthopTable::Row& row) {
  if (const NexthopTable::Row* there = fib.installed.find(id); there != nullptr && !there->ours)
    return out(RowState::kConflict, Reason::kIdTaken);
  if (row.group) return resolve_group(fib, fib.desired.group(row));
  const Encap* encap = fib.desired.encap(row);
  if (encap != nullptr && !encap_supported(fib.capabilities, *encap))
    return out(RowState::kRefused, Reason::kEncap);
  if (row.blackhole || row.fdb) return usable_on(0);
  const IpAddress gateway{row.ipv6 ? Family::kIpv6 : Family::kIpv4, row.gateway};
  if (row.has_gateway && host.is_local(gateway)) return out(RowState::kLocalHere, Reason::kGatewayIsLocal);
  if (row.device == 0) {
    const uint32_t ifindex = connected_device(fib, gateway);
    if (ifindex == 0) return out(RowState::kPending, Reason::kNoConnectedRoute);
    return usable_on(ifindex);
  }
  const Result<std::optional<KernelLink>> link = host.link(fib.devices[row.device]);
  if (!link.ok()) return out(RowState::kUnknown, Reason::kKernelUnknown);
  if (!*link) return out(RowState::kPending, Reason::kDeviceAbsent);
  if (!(*link)->up) return out(RowState::kPending, Reason::kDeviceDown);
  if (!(*link)->carrier) return out(RowState::kPending, Reason::kNoCarrier);
  return usable_on((*link)->ifindex);
}

void resolve_pending(Fib& fib, Work& work, Host& host, uint64_t now_ms, size_t limit) {
  for (size_t count = 0; count < limit; ++count) {
    const std::optional<NexthopId> id = work.unresolved.pop();
    if (!id) return;
    NexthopTable::Row* row = fib.desired.find(*id);
    if (row == nullptr) {
      work.nexthops.insert(*id);
      continue;
    }
    const Failure* failure = fib.nexthop_failures.find(*id);
    if (failure != nullptr && failure->put_off && now_ms < failure->retry_at_ms) {
      row->state = static_cast<uint8_t>(failure->state);
      row->reason = Reason::kKernel;
      continue;
    }
    Resolution resolution = resolve(fib, host, *id, *row);
    if (resolution.usable && failure != nullptr && failure->settled && now_ms < failure->retry_at_ms)
      resolution = out(failure->state, Reason::kKernel);
    if (!same(*row, resolution)) ++fib.epoch;
    row->usable = resolution.usable;
    row->ifindex = resolution.ifindex;
    row->reason = resolution.reason;
    row->state = static_cast<uint8_t>(resolution.state);
    (row->group ? work.groups : work.nexthops).insert(*id);
  }
}

std::string reason_words(const Fib& fib, NexthopId id, const NexthopTable::Row& row) {
  const std::string device = row.device == 0 ? std::string() : "device " + fib.devices[row.device];
  const IpAddress gateway{row.ipv6 ? Family::kIpv6 : Family::kIpv4, row.gateway};
  const Failure* failure = fib.nexthop_failures.find(id);
  switch (row.reason) {
    case Reason::kNone:
      return failure != nullptr ? fib.words[failure->words] : "";
    case Reason::kDeviceAbsent:
      return device + " does not exist";
    case Reason::kDeviceDown:
      return device + " is down";
    case Reason::kNoCarrier:
      return device + " has no carrier";
    case Reason::kNoConnectedRoute:
      return "no connected route to " + to_string(gateway);
    case Reason::kGatewayIsLocal:
      return to_string(gateway) + " is an address of this host";
    case Reason::kWideWeights:
      return "this kernel (" + fib.capabilities.release + ") takes weights up to 256";
    case Reason::kResilient:
      return "this kernel (" + fib.capabilities.release + ") has no resilient groups";
    case Reason::kEncap:
      return "this kernel (" + fib.capabilities.release + ") cannot do this encapsulation";
    case Reason::kHeldByForeign:
      return fib.foreign_user(id);
    case Reason::kKernel:
      return failure != nullptr ? fib.words[failure->words] : "refused by the kernel";
    case Reason::kKernelUnknown:
      return "the kernel could not be asked";
    case Reason::kIdTaken: {
      const NexthopTable::Row* there = fib.installed.find(id);
      return "nexthop id in conflict: taken by proto " +
             std::to_string(there == nullptr ? 0 : there->protocol);
    }
    case Reason::kMembersOut:
      break;
  }
  // A group: the first member that is out says why.
  for (const GroupMember& member : fib.desired.group(row).members) {
    const NexthopTable::Row* out_row = fib.desired.find(member.id);
    if (out_row != nullptr && !out_row->usable)
      return "nexthop " + std::to_string(member.id.value()) + ": " + reason_words(fib, member.id, *out_row);
  }
  return "a member is missing";
}

}  // namespace waypost::kernel_sync
