#include "kernel_sync/nexthop_table.h"

#include <algorithm>

#include "kernel_sync/status.h"

namespace waypost::kernel_sync {

NexthopTable::Row& NexthopTable::put(const NexthopObject& object, uint32_t device) {
  Row& row = rows_.put(object.id);
  drop_body(object.id, row);
  row.protocol = object.protocol;
  if (row.group != object.is_group()) {
    // What was judged of the one says nothing of the other.
    row.degraded = 0;
    row.state = static_cast<uint8_t>(RowState::kUnknown);
    row.reason = Reason::kNone;
  }
  row.group = object.is_group();
  row.gateway = {};
  row.device = 0;
  row.ipv6 = row.has_gateway = row.onlink = row.blackhole = row.fdb = 0;
  if (object.is_group()) {
    row.fdb = object.group().fdb;
    for (const GroupMember& member : object.group().members) membership_.insert({member.id, object.id});
    keep_body(row, object.group());
    return row;
  }
  const Nexthop& nexthop = object.nexthop();
  row.ipv6 = nexthop.family == Family::kIpv6;
  row.onlink = nexthop.onlink;
  row.blackhole = nexthop.blackhole;
  row.fdb = nexthop.fdb;
  row.device = device;
  if (device != 0) ++on_device_[device];
  if (nexthop.gateway) {
    row.has_gateway = 1;
    row.gateway = nexthop.gateway->bytes;
    row.ipv6 = nexthop.gateway->family == Family::kIpv6;
  }
  if (!std::holds_alternative<std::monostate>(nexthop.encap)) keep_body(row, nexthop.encap);
  return row;
}

void NexthopTable::erase(NexthopId id) {
  Row* row = rows_.find(id);
  if (row == nullptr) return;
  drop_body(id, *row);
  rows_.erase(id);
}

void NexthopTable::keep_body(Row& row, Body body) {
  if (free_bodies_.empty()) {
    row.body = static_cast<uint32_t>(bodies_.size());
    bodies_.push_back(std::move(body));
    return;
  }
  row.body = free_bodies_.back();
  free_bodies_.pop_back();
  bodies_[row.body] = std::move(body);
}

void NexthopTable::drop_body(NexthopId id, Row& row) {
  if (row.device != 0) {
    auto count = on_device_.find(row.device);
    if (--count->second == 0) on_device_.erase(count);
    row.device = 0;
  }
  if (row.body == 0) return;
  if (row.group)
    for (const GroupMember& member : group(row).members) membership_.erase({member.id, id});
  bodies_[row.body] = Body();
  free_bodies_.push_back(row.body);
  row.body = 0;
}

NexthopObject NexthopTable::object(NexthopId id, const Row& row) const {
  NexthopObject object{.id = id, .protocol = row.protocol, .body = Nexthop()};
  if (row.group) {
    object.body = group(row);
    return object;
  }
  Nexthop nexthop;
  nexthop.family = row.ipv6 ? Family::kIpv6 : Family::kIpv4;
  if (row.has_gateway) nexthop.gateway = IpAddress{nexthop.family, row.gateway};
  nexthop.onlink = row.onlink;
  nexthop.blackhole = row.blackhole;
  nexthop.fdb = row.fdb;
  if (const Encap* kept = encap(row)) nexthop.encap = *kept;
  object.body = std::move(nexthop);
  return object;
}

size_t NexthopTable::remove_member(NexthopId id, NexthopId member) {
  Row* row = rows_.find(id);
  if (row == nullptr || !row->group) return 0;
  std::vector<GroupMember>& members = std::get<NexthopGroup>(bodies_[row->body]).members;
  std::erase_if(members, [&](const GroupMember& candidate) { return candidate.id == member; });
  membership_.erase({member, id});
  return members.size();
}

size_t NexthopTable::count_on(uint32_t device) const {
  auto count = on_device_.find(device);
  return count == on_device_.end() ? 0 : count->second;
}

void NexthopTable::clear() {
  rows_.clear();
  bodies_ = {Body()};
  free_bodies_.clear();
  membership_.clear();
  on_device_.clear();
}

size_t NexthopTable::bytes() const {
  return rows_.bytes() + bodies_.capacity() * sizeof(Body) + membership_.size() * 48 + on_device_.size() * 32;
}

uint32_t DeviceNames::intern(const std::string& name) {
  if (name.empty()) return 0;
  auto [slot, is_new] = ids_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return slot->second;
}

uint32_t DeviceNames::find(const std::string& name) const {
  auto found = ids_.find(name);
  return found == ids_.end() ? 0 : found->second;
}

namespace {

std::vector<GroupMember> sorted_members(const NexthopGroup& group) {
  std::vector<GroupMember> members = group.members;
  std::sort(members.begin(), members.end(),
            [](const GroupMember& a, const GroupMember& b) { return a.id < b.id; });
  return members;
}

bool same_group(const NexthopGroup& wanted, const NexthopGroup& found) {
  if (wanted.type != found.type || wanted.fdb != found.fdb) return false;
  if (wanted.type == GroupType::kResilient) {
    if (wanted.resilient.buckets != 0 && wanted.resilient.buckets != found.resilient.buckets) return false;
    if (wanted.resilient.idle_timer_cs != found.resilient.idle_timer_cs ||
        wanted.resilient.unbalanced_timer_cs != found.resilient.unbalanced_timer_cs)
      return false;
  }
  return wanted.members == found.members || sorted_members(wanted) == sorted_members(found);
}

}  // namespace

bool same_in_kernel(const KernelNexthop& wanted, const KernelNexthop& found) {
  if (wanted.object.id != found.object.id || wanted.object.protocol != found.object.protocol ||
      wanted.object.is_group() != found.object.is_group())
    return false;
  if (wanted.object.is_group()) return same_group(wanted.object.group(), found.object.group());
  return wanted.ifindex == found.ifindex && wanted.object.nexthop() == found.object.nexthop();
}

bool replaceable(const KernelNexthop& from, const KernelNexthop& to) {
  if (from.object.is_group() != to.object.is_group()) return false;
  if (!from.object.is_group()) return true;
  const NexthopGroup& was = from.object.group();
  const NexthopGroup& will = to.object.group();
  if (from.object.protocol != to.object.protocol || was.type != will.type || was.fdb != will.fdb)
    return false;
  return was.type != GroupType::kResilient || will.resilient.buckets == 0 ||
         was.resilient.buckets == will.resilient.buckets;
}

}  // namespace waypost::kernel_sync
