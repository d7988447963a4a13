#include <algorithm>

#include "model/check.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "store/keys.h"
#include "store/refuse.h"
#include "store/rules.h"

namespace waypost::store {
namespace {

constexpr size_t kMaxChanges = limits::kMaxChangesPerTransaction;

std::string words_of(const NexthopObject& object) {
  return (object.is_group() ? "group " : "nexthop ") + std::to_string(object.id.value());
}

std::string example_route(const WorkingState& state, NexthopId id) {
  const auto keys = state.routes_of(id, 1);
  return keys.empty() ? "-" : to_string(keys.front());
}

std::string example_ipv6_route(const WorkingState& state, NexthopId id) {
  const auto key = state.first_ipv6_route_of(id);
  return key ? to_string(*key) : "-";
}

// The first route over this id with at least this scope, among as many as are looked at.
std::string example_scoped_route(WorkingState& state, NexthopId id, uint8_t scope) {
  for (const RouteKey& key : state.routes_of(id, kMaxChanges)) {
    const auto route = state.route(key, route_key_bytes(key));
    if (route && key.prefix.family() == Family::kIpv4 && route->scope >= scope) return to_string(key);
  }
  return example_route(state, id);
}

// The routes over `id` must bear what it becomes: the kernel looks at every one of them (fib_check_nh_list).
std::optional<Refusal> check_users(WorkingState& state, NexthopId id, NexthopId replaced,
                                   const NexthopFacts& facts) {
  const Users users = state.users(id);
  if (users.routes() == 0) return std::nullopt;
  if (facts.fdb) return refuse(RefusalCode::kRouteOnFdb, example_route(state, id), replaced);
  if (facts.has_ipv4 && users.ipv6_routes > 0)
    return refuse(RefusalCode::kReplaceBreaksRoutes, replaced, users.ipv6_routes,
                  example_ipv6_route(state, id));
  if (facts.has_gateway && users.host_scope > 0)
    return refuse(RefusalCode::kRouteHostScope, example_scoped_route(state, id, kScopeHost), replaced);
  if (facts.onlink && users.link_scope + users.host_scope > 0)
    return refuse_invalid("route " + example_scoped_route(state, id, kScopeLink),
                          "its scope does not go with an onlink nexthop", "leave onlink out");
  return std::nullopt;
}

std::optional<Refusal> check_members(WorkingState& state, const NexthopObject& object) {
  const NexthopGroup& group = object.group();
  bool ipv4 = false;
  bool ipv6 = false;
  for (const GroupMember& member : group.members) {
    if (auto refusal = refuse_reserved(member.id)) return refusal;
    const auto facts = state.facts(member.id);
    if (!facts) return refuse(RefusalCode::kMemberNotFound, object.id, member.id);
    if (facts->group) return refuse(RefusalCode::kNestedGroup, object.id, member.id);
    if (facts->blackhole && group.members.size() > 1)
      return refuse(RefusalCode::kBlackholeInGroup, object.id, member.id);
    if (facts->fdb != group.fdb) return refuse(RefusalCode::kFdbMismatch, object.id, member.id);
    ipv4 |= facts->has_ipv4;
    ipv6 |= facts->has_ipv6;
  }
  if (group.fdb && ipv4 && ipv6) return refuse(RefusalCode::kFdbFamilyMismatch, object.id);
  return std::nullopt;
}

std::optional<Refusal> check_group(WorkingState& state, const NexthopObject& object,
                                   const NexthopObject* old) {
  if (auto refusal = check_members(state, object)) return refusal;
  const NexthopGroup& group = object.group();
  if (group.type == GroupType::kResilient && group.resilient.buckets == 0)
    return refuse_invalid(words_of(object), "a resilient group needs a number of buckets", "add `buckets N`");
  if (old == nullptr) return std::nullopt;
  // KERNEL.md case 63.
  if (old->group().type != group.type) return refuse(RefusalCode::kGroupTypeChange, object.id);
  if (old->group().resilient.buckets != group.resilient.buckets)
    return refuse(RefusalCode::kBucketsChange, object.id, uint64_t{old->group().resilient.buckets});
  return check_users(state, object.id, object.id, state.facts_of_group(group));
}

// A single nexthop that changes in a way its groups, or the routes over them, may not bear.
std::optional<Refusal> check_groups_of(WorkingState& state, NexthopId id, const NexthopFacts& now,
                                       const NexthopFacts& before) {
  const std::vector<NexthopId> groups = state.groups_of(id, kMaxChanges + 1);
  if (groups.size() > kMaxChanges)
    return refuse(RefusalCode::kTooManyChanges, uint64_t{groups.size()}, uint64_t{kMaxChanges});
  for (NexthopId group : groups) {
    NexthopFacts facts = *state.facts(group);
    if (now.blackhole && facts.members > 1) return refuse(RefusalCode::kBlackholeReplace, id, group);
    if (now.fdb != facts.fdb) return refuse(RefusalCode::kFdbMismatch, group, id);
    if (facts.fdb && facts.members > 1 && now.has_ipv4 != before.has_ipv4)
      return refuse(RefusalCode::kFdbFamilyMismatch, group);
    // The kernel asks of the new member alone what it asks of a nexthop (KERNEL.md cases 37, 38).
    if (auto refusal = check_users(state, group, id, now)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> check_single(WorkingState& state, const NexthopObject& object,
                                    const NexthopObject* old) {
  if (old == nullptr) return std::nullopt;
  const NexthopFacts now = facts_of(object.nexthop());
  const NexthopFacts before = facts_of(old->nexthop());
  if (now == before) return std::nullopt;
  if (auto refusal = check_users(state, object.id, object.id, now)) return refusal;
  return check_groups_of(state, object.id, now, before);
}

std::optional<Refusal> write_nexthop(WorkingState& state, NexthopObject object, Verb verb) {
  const auto old = state.nexthop(object.id);
  if (verb == Verb::kAdd && old) return refuse(RefusalCode::kNexthopExists, object.id);
  if (verb == Verb::kChange && !old) return refuse(RefusalCode::kNexthopNotFound, object.id);
  if (old && old->is_group() != object.is_group())  // KERNEL.md K3
    return refuse(RefusalCode::kKindChange, object.id, std::string(old->is_group() ? "group" : "single"));
  if (object.is_group() && old) {
    // A replace that gives no buckets keeps them (KERNEL.md case 63).
    NexthopGroup& group = std::get<NexthopGroup>(object.body);
    if (group.type == GroupType::kResilient && group.resilient.buckets == 0)
      group.resilient.buckets = old->group().resilient.buckets;
  }
  if (const Status status = validate(object); !status.ok())
    return refuse_invalid(words_of(object), status.error());
  const NexthopObject* stored = old ? &*old : nullptr;
  auto refusal = object.is_group() ? check_group(state, object, stored) : check_single(state, object, stored);
  if (!refusal) state.put_nexthop(object);
  return refusal;
}

void erase_routes_of(WorkingState& state, NexthopId id) {
  if (state.users(id).routes() == 0) return;
  for (const RouteKey& key : state.routes_of(id, kMaxChanges)) {
    const std::string bytes = route_key_bytes(key);
    state.erase_route(bytes, *state.route(key, bytes));
  }
}

// Takes one member out; the last one takes the group and its routes along (KERNEL.md K9).
void leave_group(WorkingState& state, NexthopId member, NexthopId id) {
  NexthopObject object = *state.nexthop(id);
  auto& members = std::get<NexthopGroup>(object.body).members;
  std::erase_if(members, [&](const GroupMember& each) { return each.id == member; });
  if (!members.empty()) {
    state.put_nexthop(object);
    return;
  }
  erase_routes_of(state, id);
  state.erase_nexthop(id);
}

// Rows that go or change with `id`, counted before anything is written (LOG.md rule 12).
std::optional<Refusal> check_delete(WorkingState& state, NexthopId id, bool cascade,
                                    const std::vector<NexthopId>& groups) {
  const uint64_t routes = state.users(id).routes();
  if (routes > 0 && !cascade) return refuse(RefusalCode::kNexthopInUse, id, routes, example_route(state, id));
  uint64_t rows = 1 + routes + groups.size();
  for (NexthopId group : groups) {
    if (state.facts(group)->members > 1) continue;
    const uint64_t with_group = state.users(group).routes();
    if (with_group > 0 && !cascade)
      return refuse(RefusalCode::kLastMemberInUse, id, group, with_group, example_route(state, group));
    rows += with_group;
  }
  if (groups.size() > kMaxChanges || state.rows_changed() + rows > kMaxChanges)
    return refuse(RefusalCode::kTooManyChanges, state.rows_changed() + rows, uint64_t{kMaxChanges});
  return std::nullopt;
}

std::optional<Refusal> delete_nexthop(WorkingState& state, NexthopId id, bool cascade) {
  if (auto refusal = refuse_reserved(id)) return refusal;
  if (!state.exists(id)) return refuse(RefusalCode::kNexthopNotFound, id);
  // The group-empty fast path: in no group, nothing but its own row is read or written.
  std::vector<NexthopId> groups;
  if (state.users(id).groups > 0) groups = state.groups_of(id, kMaxChanges + 1);
  if (auto refusal = check_delete(state, id, cascade, groups)) return refusal;
  for (NexthopId group : groups) leave_group(state, id, group);
  erase_routes_of(state, id);
  state.erase_nexthop(id);
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse_reserved(NexthopId id) {
  if (is_interned(id)) return refuse(RefusalCode::kReservedId, id, std::string("inline paths"));
  if (is_scratch(id)) return refuse(RefusalCode::kReservedId, id, std::string("kernel_sync's scratch"));
  return std::nullopt;
}

CommandResult execute(WorkingState& state, const PutNexthop& command) {
  CommandResult result;
  NexthopObject object = command.object;
  if (command.verb == Verb::kAppend || command.verb == Verb::kPrepend) {
    result.refusal =
        refuse_invalid(words_of(object), "append and prepend are for routes", "use add or replace");
    return result;
  }
  if (object.id == NexthopId()) {
    if (command.verb != Verb::kAdd) {
      result.refusal = refuse_invalid("nexthop", "replace and change need an id", "add `id N`");
      return result;
    }
    const auto free = state.lowest_free_id();
    if (!free) {
      result.refusal = refuse(RefusalCode::kIdsExhausted, std::string("nexthops"));
      return result;
    }
    object.id = *free;
    result.assigned = free;
  }
  result.refusal = refuse_reserved(object.id);
  if (!result.refusal) result.refusal = write_nexthop(state, std::move(object), command.verb);
  return result;
}

CommandResult execute(WorkingState& state, const DeleteNexthop& command) {
  return {.refusal = delete_nexthop(state, command.id, command.cascade), .skipped = false, .assigned = {}};
}

CommandResult execute(WorkingState& state, const GuardedNexthop& command) {
  CommandResult result;
  result.refusal = refuse_reserved(command.id);
  if (command.id == NexthopId()) result.refusal = refuse_invalid("nexthop", "a guard needs an id", "");
  if (result.refusal) return result;
  const auto stored = state.overlay().get(Table::kNexthop, nexthop_key(command.id));
  if (command.expected != (stored ? row_guard(*stored) : 0)) {
    result.skipped = true;
    return result;
  }
  if (command.value) {
    NexthopObject object = *command.value;
    object.id = command.id;
    result.refusal = write_nexthop(state, std::move(object), Verb::kReplace);
  } else if (stored) {
    result.refusal = delete_nexthop(state, command.id, false);
  }
  return result;
}

CommandResult execute(WorkingState& state, const Command& command) {
  return std::visit([&state](const auto& each) { return execute(state, each); }, command);
}

}  // namespace waypost::store
