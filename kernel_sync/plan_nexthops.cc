// The planner's nexthops and groups: going up, changing kind through a scratch id, coming down.

#include <algorithm>

#include "kernel_sync/planner.h"

namespace waypost::kernel_sync {
namespace {

// Costs in nanoseconds at nexthop_compat_mode 1 (KERNEL.md K8, K19): a replace of a group announces each of
// its routes; deleting a member waits for a grace period in each of its groups.
constexpr uint64_t kAnnounceNs = 1'000;
constexpr uint64_t kGracePeriodNs = 300'000;

bool only_loses_members(const KernelNexthop& from, const KernelNexthop& to) {
  if (!from.object.is_group() || !to.object.is_group()) return false;
  const std::vector<GroupMember>& was = from.object.group().members;
  const std::vector<GroupMember>& will = to.object.group().members;
  if (will.size() >= was.size()) return false;
  return std::all_of(will.begin(), will.end(), [&](const GroupMember& member) {
    return std::find(was.begin(), was.end(), member) != was.end();
  });
}

}  // namespace

void Planner::put_nexthop(NexthopId on_behalf, KernelNexthop nexthop) {
  const NexthopId id = nexthop.object.id;
  SavedNexthop saved{.id = id};
  const NexthopTable::Row* there = fib_.installed.find(id);
  if (there != nullptr) saved.before = fib_.found(id, *there);
  if (there != nullptr && there->group) {
    for (const GroupMember& member : fib_.installed.group(*there).members) {
      being_left_.insert(member.id);
      if (work_.kept.erase(member.id)) work_.waiting.insert(member.id);
    }
  }
  const bool was_blackhole = fib_.is_blackhole(id);
  NexthopTable::Row& row = fib_.installed.put(nexthop.object, nexthop.ifindex);
  row.ours = 1;
  row.held = 0;
  if (was_blackhole != fib_.is_blackhole(id)) {
    // What the kernel shows of routes over it is another type now (Fib::as_the_kernel_shows).
    ++fib_.epoch;
    if (saved.before) touch_users(fib_, work_, index_, id, false);
  }
  plan_.origins.push_back({.nexthop = on_behalf, .saved = static_cast<uint32_t>(plan_.saved.size())});
  const bool exclusive = !saved.before;
  if (fib_.nexthop_failures.find(on_behalf) != nullptr) tried_nexthops_.insert(on_behalf);
  plan_.saved.push_back(std::move(saved));
  plan_.steps.emplace_back(PutKernelNexthop{.nexthop = std::move(nexthop), .exclusive = exclusive});
}

void Planner::delete_nexthop(NexthopId on_behalf, NexthopId id) {
  const NexthopTable::Row* there = fib_.installed.find(id);
  if (there->group)
    for (const GroupMember& member : fib_.installed.group(*there).members)
      if (work_.kept.erase(member.id)) work_.waiting.insert(member.id);
  plan_.origins.push_back({.nexthop = on_behalf, .saved = static_cast<uint32_t>(plan_.saved.size())});
  plan_.saved.push_back({.id = id, .before = fib_.found(id, *there)});
  plan_.steps.emplace_back(DeleteKernelNexthop{id});
  std::vector<NexthopId> groups;
  fib_.installed.for_each_group_of(id, [&](NexthopId group) { groups.push_back(group); });
  for (NexthopId group : groups) fib_.installed.remove_member(group, id);
  fib_.installed.erase(id);
  work_.stay(id);
}

void Planner::touch_groups_of(NexthopId id) {
  fib_.desired.for_each_group_of(id, [&](NexthopId group) {
    // What the kernel said of a group may have been said of this member.
    const Failure* failure = fib_.nexthop_failures.find(group);
    if (failure != nullptr && failure->settled && !failure->put_off) {
      fib_.nexthop_failures.erase(group);
      work_.unresolved.insert(group);
    } else {
      work_.groups.insert(group);
    }
  });
}

void Planner::leaves(NexthopId id) {
  const NexthopTable::Row* row = fib_.installed.find(id);
  if (row == nullptr || !row->ours || row->held) return;
  if (mutant("group_deleted_first") && row->group) return delete_nexthop(id, id);
  work_.leave(id, row->group, fib_.routes.specs().users(id, Side::kOurs).total() != 0);
}

void Planner::become_realized(NexthopId id, NexthopTable::Row& row) {
  // The kernel refused it before: its users follow when it has taken it.
  if (tried_nexthops_.contains(id)) return fib_.set_realized(row, false);
  auto stand_in = fib_.scratch.find(id);
  if (stand_in != fib_.scratch.end()) {
    // It is itself again: its routes come back from the scratch id.
    leaves(stand_in->second);
    fib_.scratch.erase(stand_in);
    fib_.set_realized(row, false);
  }
  if (row.realized) return;
  fib_.set_realized(row, true);
  touch_groups_of(id);
  touch_users(fib_, work_, index_, id, false);
}

void Planner::not_usable(NexthopId id, NexthopTable::Row* row) {
  if (row != nullptr && !row->told_out) {
    row->told_out = 1;
    fib_.set_realized(*row, false);
    touch_users(fib_, work_, index_, id, true);
    touch_groups_of(id);
  }
  const Failure* failure = fib_.nexthop_failures.find(id);
  if (failure != nullptr && !failure->settled) fib_.nexthop_failures.erase(id);
  leaves(id);
  auto stand_in = fib_.scratch.find(id);
  if (stand_in == fib_.scratch.end()) return;
  leaves(stand_in->second);
  fib_.scratch.erase(stand_in);
  ++fib_.epoch;
}

void Planner::nexthops_up() {
  while (!full()) {
    const std::optional<NexthopId> id = work_.nexthops.pop();
    if (!id) return;
    look_at_nexthop(*id);
  }
}

void Planner::look_at_nexthop(NexthopId id) {
  NexthopTable::Row* row = fib_.desired.find(id);
  if (row == nullptr) {
    not_usable(id, nullptr);
    touch_groups_of(id);
    return;
  }
  if (row->group) {
    work_.groups.insert(id);
    return;
  }
  look_at_single(id, *row);
}

void Planner::look_at_single(NexthopId id, NexthopTable::Row& row) {
  // Groups go with what is usable, not with what is there already: they wait for a member rather than shrink.
  touch_groups_of(id);
  if (!row.usable) return not_usable(id, &row);
  row.told_out = 0;
  work_.stay(id);
  work_.kept.erase(id);
  const KernelNexthop wanted = fib_.wanted(id, row);
  NexthopTable::Row* there = fib_.installed.find(id);
  if (there == nullptr) {
    put_nexthop(id, wanted);
    return become_realized(id, row);
  }
  there->held = 0;
  const KernelNexthop found = fib_.found(id, *there);
  if (same_in_kernel(wanted, found)) {
    if (!tried_nexthops_.contains(id)) fib_.nexthop_failures.erase(id);
    return become_realized(id, row);
  }
  if (!replaceable(found, wanted)) return change_kind(id, row, wanted);
  if (must_wait(id, wanted)) {
    fib_.set_realized(row, false);
    work_.waiting.insert(id);
    return;
  }
  put_nexthop(id, wanted);
  become_realized(id, row);
}

// The kernel would refuse the replace as long as the object is used the old way (KERNEL.md K3, case 38).
bool Planner::must_wait(NexthopId id, const KernelNexthop& wanted) {
  const Nexthop& nexthop = wanted.object.nexthop();
  if (nexthop.family == Family::kIpv4 && fib_.routes.specs().users(id, Side::kOurs).v6 != 0) return true;
  if (!nexthop.blackhole) return false;
  bool shared = false;
  fib_.installed.for_each_group_of(id, [&](NexthopId group) {
    const NexthopTable::Row* row = fib_.installed.find(group);
    if (row != nullptr && fib_.installed.group(*row).members.size() > 1) shared = true;
  });
  return shared;
}

void Planner::groups_up() {
  while (!full()) {
    const std::optional<NexthopId> id = work_.groups.pop();
    if (!id) return;
    NexthopTable::Row* row = fib_.desired.find(*id);
    if (row != nullptr && row->group) {
      look_at_group(*id, *row);
    } else {
      work_.nexthops.insert(*id);
    }
  }
}

bool Planner::group_can_be(NexthopId id, NexthopTable::Row& row, const KernelNexthop& wanted) {
  // What resolve() or the kernel said of the group itself comes first.
  const bool judged_by_members = row.usable || row.reason == Reason::kMembersOut;
  if (!judged_by_members) return false;
  const std::vector<GroupMember>& all = fib_.desired.group(row).members;
  const size_t in = wanted.object.group().members.size();
  const bool usable = in != 0;
  if (usable != row.usable) ++fib_.epoch;
  row.usable = usable;
  row.degraded = usable && in < all.size();
  row.reason = in < all.size() ? Reason::kMembersOut : Reason::kNone;
  RowState state = row.degraded ? RowState::kDegraded : RowState::kInstalled;
  if (!usable) {
    const bool all_local = std::all_of(all.begin(), all.end(), [&](const GroupMember& member) {
      const NexthopTable::Row* out = fib_.desired.find(member.id);
      return out != nullptr && fib_.state(*out) == RowState::kLocalHere;
    });
    state = all_local ? RowState::kLocalHere : RowState::kPending;
  }
  row.state = static_cast<uint8_t>(state);
  (void)id;
  return usable;
}

void Planner::look_at_group(NexthopId id, NexthopTable::Row& row) {
  KernelNexthop wanted = fib_.wanted(id, row);
  if (!group_can_be(id, row, wanted)) return not_usable(id, &row);
  row.told_out = 0;
  work_.stay(id);
  work_.kept.erase(id);
  NexthopTable::Row* there = fib_.installed.find(id);
  if (there != nullptr) {
    there->held = 0;
    const KernelNexthop found = fib_.found(id, *there);
    if (same_in_kernel(wanted, found)) {
      if (!tried_nexthops_.contains(id)) fib_.nexthop_failures.erase(id);
      return become_realized(id, row);
    }
    if (replaceable(found, wanted) && only_loses_members(found, wanted)) {
      work_.shrinking.insert(id);
      return;
    }
  }
  const bool members_there = std::all_of(wanted.object.group().members.begin(),
                                         wanted.object.group().members.end(), [&](const GroupMember& member) {
                                           const NexthopTable::Row* found = fib_.installed.find(member.id);
                                           const NexthopTable::Row* desired = fib_.desired.find(member.id);
                                           return found != nullptr && !found->group && desired->realized &&
                                                  fib_.scratch.count(member.id) == 0;
                                         });
  if (!members_there) {
    work_.waiting.insert(id);
    return;
  }
  if (there == nullptr) {
    put_nexthop(id, std::move(wanted));
  } else if (replaceable(fib_.found(id, *there), wanted)) {
    put_nexthop(id, std::move(wanted));
  } else {
    return change_kind(id, row, wanted);
  }
  become_realized(id, row);
}

NexthopId Planner::make_scratch_id() {
  for (uint32_t id = limits::kFirstScratchId; id <= limits::kLastScratchId; ++id)
    if (fib_.installed.find(NexthopId(id)) == nullptr) return NexthopId(id);
  return NexthopId(0);
}

// K3: the id cannot change what it is while it exists. Its routes go to a scratch id that is already what the
// id will be, then the id is made anew, then they come back.
void Planner::change_kind(NexthopId id, NexthopTable::Row& row, const KernelNexthop& wanted) {
  if (held_by_foreign(id)) {
    fib_.set_realized(row, false);
    if (row.usable) ++fib_.epoch;
    row.usable = 0;
    row.state = static_cast<uint8_t>(RowState::kConflict);
    row.reason = Reason::kHeldByForeign;
    work_.kept.insert(id);
    return touch_users(fib_, work_, index_, id, true);
  }
  const uint32_t users = fib_.routes.specs().users(id, Side::kOurs).total();
  if (users == 0 && !fib_.installed.in_a_group(id) && !being_left_.contains(id))
    return finish_kind_change(id, row, wanted);
  work_.waiting.insert(id);
  if (users == 0) return;  // its groups let go of it first
  auto stand_in = fib_.scratch.find(id);
  if (stand_in != fib_.scratch.end()) return;
  const NexthopId scratch = make_scratch_id();
  if (scratch.value() == 0) return;  // a million kind changes at a time: the others wait
  KernelNexthop copy = wanted;
  copy.object.id = scratch;
  put_nexthop(id, std::move(copy));
  fib_.scratch[id] = scratch;
  row.realized = 1;
  ++fib_.epoch;
  touch_users(fib_, work_, index_, id, true);
}

void Planner::finish_kind_change(NexthopId id, NexthopTable::Row& row, const KernelNexthop& wanted) {
  delete_nexthop(id, id);
  put_nexthop(id, wanted);
  ++fib_.epoch;
  become_realized(id, row);
}

bool Planner::cheaper_by_member(NexthopId group, const KernelNexthop& wanted) {
  if (fib_.compat_mode != 1) return false;
  const KernelNexthop found = fib_.found(group, *fib_.installed.find(group));
  uint64_t going = 0;
  for (const GroupMember& member : found.object.group().members) {
    const bool stays = std::any_of(wanted.object.group().members.begin(), wanted.object.group().members.end(),
                                   [&](const GroupMember& kept) { return kept.id == member.id; });
    if (stays) continue;
    ++going;
    // Only where the member goes anyway.
    if (!work_.leaving.contains(member.id) || fib_.has_foreign_user(member.id)) return false;
    if (fib_.routes.specs().users(member.id, Side::kOurs).total() != 0) return false;
  }
  const uint64_t users = fib_.routes.specs().users(group, Side::kOurs).total();
  return users * kAnnounceNs > going * kGracePeriodNs;
}

void Planner::groups_down() {
  while (!full()) {
    const std::optional<NexthopId> id = work_.shrinking.pop();
    if (!id) break;
    NexthopTable::Row* row = fib_.desired.find(*id);
    const NexthopTable::Row* there = fib_.installed.find(*id);
    if (row == nullptr || !row->group || !row->usable || there == nullptr) {
      work_.nexthops.insert(*id);
      continue;
    }
    KernelNexthop wanted = fib_.wanted(*id, *row);
    if (!only_loses_members(fib_.found(*id, *there), wanted)) {
      work_.groups.insert(*id);
      continue;
    }
    if (cheaper_by_member(*id, wanted)) {
      // KERNEL.md K19: the members' own deletes shrink it without a walk over the FIB; looked at again
      // afterwards.
      work_.waiting.insert(*id);
      continue;
    }
    put_nexthop(*id, std::move(wanted));
    become_realized(*id, *row);
  }
  while (!full()) {
    const std::optional<NexthopId> id = work_.leaving_groups.pop();
    if (!id) return;
    leave(*id);
  }
}

// Another owner's route or group uses it, or a group of ours that has to stay for that reason (SEMANTICS.md
// B5).
bool Planner::held_by_foreign(NexthopId id) const {
  bool held = fib_.has_foreign_user(id);
  fib_.installed.for_each_group_of(id, [&](NexthopId group) { held = held || work_.kept.contains(group); });
  return held;
}

// Deletes an object that nothing needs any more; what is still used waits.
void Planner::leave(NexthopId id) {
  if (fib_.installed.find(id) == nullptr) return;
  if (being_left_.contains(id)) {
    work_.waiting.insert(id);
    return;
  }
  if (fib_.routes.specs().users(id, Side::kOurs).total() != 0) {
    if (fib_.routes.held_count() != 0) {
      fib_.installed.find(id)->held = 1;  // until the routes that are held on it are swept
    } else {
      work_.waiting.insert(id);
    }
    return;
  }
  if (held_by_foreign(id)) {
    work_.stay(id);
    work_.kept.insert(id);
    return;
  }
  bool in_the_way = false;
  fib_.installed.for_each_group_of(id, [&](NexthopId group) {
    const NexthopTable::Row* row = fib_.desired.find(group);
    const NexthopTable::Row* there = fib_.installed.find(group);
    // A group that is left to lose it by this delete (cheaper_by_member) keeps other members.
    const bool loses_it_so = fib_.compat_mode == 1 && row != nullptr && row->usable && there->group &&
                             fib_.installed.group(*there).members.size() > 1 && work_.waiting.contains(group);
    if (!loses_it_so) in_the_way = true;
  });
  if (in_the_way) {
    work_.waiting.insert(id);
    return;
  }
  delete_nexthop(id, id);
}

void Planner::nexthops_down() {
  while (!full()) {
    const std::optional<NexthopId> id = work_.leaving.pop();
    if (!id) return;
    leave(*id);
  }
}

}  // namespace waypost::kernel_sync
