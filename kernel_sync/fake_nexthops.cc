#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernel_sync/fake_fib.h"

namespace waypost::kernel_sync {

namespace {

// What the kernel keeps of a request: no device name, the gateway's family.
KernelNexthop stored(KernelNexthop wanted) {
  wanted.flags = 0;
  if (wanted.object.is_group()) {
    wanted.ifindex = 0;
    return wanted;
  }
  auto& nexthop = std::get<Nexthop>(wanted.object.body);
  nexthop.device.clear();
  if (nexthop.gateway) nexthop.family = nexthop.gateway->family;
  if (nexthop.blackhole || nexthop.fdb) wanted.ifindex = 0;
  return wanted;
}

}  // namespace

const KernelNexthop* FakeFib::find_nexthop(NexthopId id) const {
  const auto found = nexthops_.find(id);
  return found == nexthops_.end() ? nullptr : &found->second;
}

std::vector<NexthopId> FakeFib::groups_of(NexthopId member) const {
  const auto found = groups_of_.find(member);
  if (found == groups_of_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

size_t FakeFib::users_of(NexthopId id) const {
  const auto found = routes_of_.find(id);
  return found == routes_of_.end() ? 0 : found->second.size();
}

bool FakeFib::uses_ipv4(const KernelNexthop& nexthop) const {
  if (!nexthop.object.is_group()) return nexthop.object.nexthop().family == Family::kIpv4;
  const auto& members = nexthop.object.group().members;
  return std::any_of(members.begin(), members.end(),
                     [&](const GroupMember& member) { return uses_ipv4(*find_nexthop(member.id)); });
}

bool FakeFib::is_blackhole(const KernelNexthop& nexthop) const {
  if (!nexthop.object.is_group()) return nexthop.object.nexthop().blackhole;
  const auto& members = nexthop.object.group().members;
  return members.size() == 1 && is_blackhole(*find_nexthop(members[0].id));
}

FakeAnswer FakeFib::check_device(uint32_t ifindex) const {
  if (ifindex == 0) {
    return refused(EINVAL, "Device attribute required for non-blackhole and non-fdb nexthops");
  }
  const auto link = links_.find(ifindex);
  if (link == links_.end()) return refused(EINVAL, "Invalid device index");
  if (!link->second.up) return refused(ENETDOWN, "Nexthop device is not up");
  if (!link->second.carrier) return refused(ENETDOWN, "Carrier for nexthop device is down");
  return {};
}

FakeAnswer FakeFib::check_single(const KernelNexthop& wanted) const {
  const Nexthop& nexthop = wanted.object.nexthop();
  const bool has_encap = nexthop.encap.index() != 0;
  if (nexthop.fdb) {
    if (wanted.ifindex != 0 || nexthop.blackhole || has_encap) {
      return refused(EINVAL, "Fdb attribute can not be used with encap, oif or blackhole");
    }
    if (nexthop.onlink) return refused(EINVAL, "Unsupported nexthop flags in ancillary header");
  }
  if (nexthop.blackhole) {
    if (nexthop.gateway || wanted.ifindex != 0 || has_encap) {
      return refused(EINVAL, "Blackhole attribute can not be used with gateway, oif, encap or fdb");
    }
    return {};
  }
  if (nexthop.fdb) return {};
  if (auto answer = check_device(wanted.ifindex); !answer.ok()) return answer;
  if (!nexthop.gateway) {
    if (!nexthop.onlink) return {};
    return refused(EINVAL, "ONLINK flag can not be set for nexthop without a gateway");
  }
  return nexthop.gateway->family == Family::kIpv4
             ? check_gateway4(*nexthop.gateway, wanted.ifindex, nexthop.onlink)
             : check_gateway6(*nexthop.gateway, wanted.ifindex, nexthop.onlink);
}

FakeAnswer FakeFib::check_member(const KernelNexthop& member, const NexthopGroup& group) const {
  if (member.object.is_group()) {
    const bool resilient = member.object.group().type == GroupType::kResilient;
    return refused(EINVAL, std::string(resilient ? "Resilient" : "Hash-threshold") +
                               " group can not be a nexthop within a group");
  }
  const Nexthop& nexthop = member.object.nexthop();
  if (nexthop.blackhole && group.members.size() > 1) {
    return refused(EINVAL, "Blackhole nexthop can not be used in a group with more than 1 path");
  }
  if (group.fdb && !nexthop.fdb) return refused(EINVAL, "FDB nexthop group can only have fdb nexthops");
  if (!group.fdb && nexthop.fdb) return refused(EINVAL, "Non FDB nexthop group cannot have fdb nexthops");
  return {};
}

FakeAnswer FakeFib::check_group(const NexthopGroup& group) const {
  if (group.members.empty()) return refused(EINVAL, "Invalid length for nexthop group attribute");
  std::set<NexthopId> seen;
  for (const GroupMember& member : group.members) {
    if (member.weight == 0) return refused(EINVAL, "Invalid value for weight");
    if (!seen.insert(member.id).second) {
      return refused(EINVAL, "Nexthop id can not be used twice in a group");
    }
  }
  std::optional<Family> family;
  for (const GroupMember& member : group.members) {
    const KernelNexthop* nexthop = find_nexthop(member.id);
    if (nexthop == nullptr) return refused(EINVAL, "Invalid nexthop id");
    if (auto answer = check_member(*nexthop, group); !answer.ok()) return answer;
    if (!group.fdb) continue;
    const Family own = nexthop->object.nexthop().family;
    if (family && *family != own) {
      return refused(EINVAL, "FDB nexthop group cannot have mixed family nexthops");
    }
    family = own;
  }
  return {};
}

// The rows that name the old object must be able to live with the new one.
FakeAnswer FakeFib::check_users(NexthopId id, const KernelNexthop& wanted) const {
  const auto users = routes_of_.find(id);
  if (users == routes_of_.end()) return {};
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {  // in the kernel's order
    for (const RouteKey& key : users->second) {
      if (key.prefix.family() != family) continue;
      for (const KernelRoute& row : tables_.at({key.table, family}).rows.at(key.prefix)) {
        if (row.route.nexthop != id) continue;
        if (auto answer = check_route_nexthop(row.route, wanted); !answer.ok()) return answer;
      }
    }
  }
  return {};
}

FakeAnswer FakeFib::check_replace(const KernelNexthop& old, const KernelNexthop& wanted) const {
  if (auto answer = check_users(old.object.id, wanted); !answer.ok()) return answer;
  const auto groups = groups_of(old.object.id);
  const bool to_group = wanted.object.is_group();
  for (const NexthopId group : groups) {
    const auto& members = find_nexthop(group)->object.group().members;
    if (!to_group && wanted.object.nexthop().blackhole && members.size() > 1) {
      return refused(EINVAL, "Blackhole nexthop can not be a member of a group with more than one path");
    }
    if (auto answer = check_users(group, wanted); !answer.ok()) return answer;
  }
  if (to_group) return check_replace_by_group(old, wanted.object.group());
  if (old.object.is_group()) return refused(EINVAL, "Can not replace a nexthop group with a nexthop.");
  if (!groups.empty() && old.object.nexthop().fdb != wanted.object.nexthop().fdb) {
    return refused(EINVAL, "Cannot change nexthop FDB status while in a group");
  }
  return {};
}

FakeAnswer FakeFib::check_replace_by_group(const KernelNexthop& old, const NexthopGroup& after) const {
  if (!old.object.is_group()) return refused(EINVAL, "Can not replace a nexthop with a nexthop group.");
  const NexthopGroup& before = old.object.group();
  if (before.type != after.type) {
    return refused(EINVAL, "Can not replace a nexthop group with one of a different type.");
  }
  if (after.resilient.buckets != 0 && before.resilient.buckets != after.resilient.buckets) {
    return refused(EINVAL, "Can not change number of buckets of a resilient nexthop group.");
  }
  return {};
}

FakeAnswer FakeFib::put_nexthop(const PutKernelNexthop& put) {
  const KernelNexthop wanted = stored(put.nexthop);
  const NexthopId id = wanted.object.id;
  if (wanted.object.is_group()) {
    if (auto answer = check_group(wanted.object.group()); !answer.ok()) return answer;
  } else if (auto answer = check_single(put.nexthop); !answer.ok()) {
    return answer;
  }
  const auto old = nexthops_.find(id);
  if (old != nexthops_.end()) {
    if (put.exclusive) return refused(EEXIST, "File exists");
    if (auto answer = check_replace(old->second, wanted); !answer.ok()) return answer;
    replace_nexthop(old->second, wanted);
    return {};
  }
  if (wanted.object.is_group() && wanted.object.group().type == GroupType::kResilient &&
      wanted.object.group().resilient.buckets == 0) {
    return refused(EINVAL, "Number of buckets not specified for nexthop group insertion");
  }
  if (wanted.object.is_group()) {
    for (const GroupMember& member : wanted.object.group().members) groups_of_[member.id].insert(id);
  }
  nexthops_[id] = wanted;
  announce_(NexthopEvent{wanted, false}, true);
  return {};
}

void FakeFib::replace_nexthop(KernelNexthop& old, const KernelNexthop& wanted) {
  const NexthopId id = old.object.id;
  if (old.object.is_group()) {
    for (const GroupMember& member : old.object.group().members) groups_of_[member.id].erase(id);
    const uint16_t buckets = old.object.group().resilient.buckets;
    const uint8_t protocol = old.object.protocol;  // stays, unlike a single nexthop's (KERNEL.md K6)
    old = wanted;
    old.object.protocol = protocol;
    auto& group = std::get<NexthopGroup>(old.object.body);
    if (group.type == GroupType::kResilient) group.resilient.buckets = buckets;
    for (const GroupMember& member : group.members) groups_of_[member.id].insert(id);
  } else {
    old = wanted;
  }
  announce_(NexthopEvent{old, false}, true);
  if (compat_mode == 0) return;
  announce_routes_of(id);  // KERNEL.md K19
  for (const NexthopId group : groups_of(id)) announce_routes_of(group);
}

void FakeFib::announce_routes_of(NexthopId id) {
  const auto users = routes_of_.find(id);
  if (users == routes_of_.end()) return;
  for (const RouteKey& key : users->second) {
    for (const KernelRoute& row : tables_.at({key.table, key.prefix.family()}).rows.at(key.prefix)) {
      if (row.route.nexthop == id && row.route.key == key) announce_route(row, false, true);
    }
  }
}

FakeAnswer FakeFib::delete_nexthop(NexthopId id) {
  if (id.value() == 0) return refused(EINVAL, "Invalid nexthop id");
  if (find_nexthop(id) == nullptr) return refused(ENOENT, "No such file or directory");
  drop_nexthop(id, Silence::kAnnounced);
  return {};
}

// KERNEL.md K9: its routes go with it, IPv4 without a word; its groups lose it, and an emptied group goes the
// same way.
void FakeFib::drop_nexthop(NexthopId id, Silence silence) {
  const auto found = nexthops_.find(id);
  const KernelNexthop gone = found->second;
  if (silence == Silence::kAnnounced) announce_(NexthopEvent{gone, true}, true);
  if (users_of(id) != 0) {
    const auto keys = std::exchange(routes_of_[id], {});
    for (const RouteKey& key : std::set<RouteKey>(keys.begin(), keys.end())) {
      Table& table = tables_.at({key.table, key.prefix.family()});
      const auto entry = table.rows.find(key.prefix);
      for (size_t i = entry->second.size(); i-- > 0;) {
        const KernelRoute& row = entry->second[i];
        if (row.route.nexthop != id || !(row.route.key == key)) continue;
        // IPv6 announces them at compat mode 1 only, and without the port id of the request.
        if (key.prefix.family() == Family::kIpv6 && compat_mode != 0) announce_route(row, true, false);
        --table.by_length[key.prefix.length];
        --route_count_;
        entry->second.erase(entry->second.begin() + static_cast<ptrdiff_t>(i));
      }
      if (entry->second.empty()) table.rows.erase(entry);
    }
  }
  routes_of_.erase(id);
  const std::vector<NexthopId> groups = groups_of(id);
  if (gone.object.is_group()) {
    for (const GroupMember& member : gone.object.group().members) groups_of_[member.id].erase(id);
  }
  for (const NexthopId group : groups) leave_group(group, id, silence);
  groups_of_.erase(id);
  nexthops_.erase(id);
}

void FakeFib::leave_group(NexthopId group_id, NexthopId member, Silence silence) {
  KernelNexthop& group = nexthops_.at(group_id);
  auto& members = std::get<NexthopGroup>(group.object.body).members;
  if (members.size() == 1) {
    drop_nexthop(group_id, silence);
    return;
  }
  std::erase_if(members, [&](const GroupMember& one) { return one.id == member; });
  if (silence == Silence::kAnnounced) announce_(NexthopEvent{group, false}, true);
}

}  // namespace waypost::kernel_sync
