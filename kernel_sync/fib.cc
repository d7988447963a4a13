#include "kernel_sync/fib.h"

#include <algorithm>

namespace waypost::kernel_sync {
namespace {

constexpr uint8_t kMetricMtu = 2;        // RTAX_MTU
constexpr uint8_t kMetricAdvmss = 8;     // RTAX_ADVMSS
constexpr uint8_t kMetricHoplimit = 10;  // RTAX_HOPLIMIT

// What the kernel makes of metrics (net/ipv4/metrics.c), so that what a dump shows compares equal.
RouteMetrics as_the_kernel_keeps(RouteMetrics metrics) {
  for (auto& [number, value] : metrics.values) {
    if (number == kMetricMtu) value = std::min(value, 65'535u - 15);
    if (number == kMetricAdvmss) value = std::min(value, 65'535u - 40);
    if (number == kMetricHoplimit) value = std::min(value, 255u);
  }
  std::erase_if(metrics.values, [](const auto& metric) { return metric.second == 0; });
  return metrics;
}

}  // namespace

KernelNexthop Fib::wanted(NexthopId id, const NexthopTable::Row& row) const {
  KernelNexthop nexthop{.object = desired.object(id, row), .ifindex = row.ifindex};
  nexthop.object.protocol = protocol;
  if (!row.group) return nexthop;
  NexthopGroup& group = std::get<NexthopGroup>(nexthop.object.body);
  std::erase_if(group.members, [&](const GroupMember& member) {
    const NexthopTable::Row* found = desired.find(member.id);
    return found == nullptr || !found->usable;
  });
  return nexthop;
}

KernelNexthop Fib::found(NexthopId id, const NexthopTable::Row& row) const {
  return KernelNexthop{.object = installed.object(id, row), .ifindex = row.device};
}

Fib::Target Fib::target(SpecId desired_id, TableId table) {
  SpecTable::Target& kept = routes.specs().target(desired_id);
  Target target{static_cast<TargetKind>(kept.kind), kept.spec};
  if (kept.epoch != epoch) {
    target = compute_target(RouteSpec(routes.specs()[desired_id]), desired_id);
    SpecTable::Target& slot = routes.specs().target(desired_id);  // interning may have moved it
    slot = {epoch, target.spec, static_cast<uint8_t>(target.kind)};
  }
  if (target.kind != TargetKind::kAbsent || unreachable_on_pending.empty()) return target;
  auto policy = unreachable_on_pending.find(table);
  if (policy == unreachable_on_pending.end() || !policy->second) return target;
  RouteSpec unreachable;
  unreachable.type = RouteType::kUnreachable;
  unreachable.protocol = protocol;
  return {TargetKind::kPut, routes.specs().intern(unreachable)};
}

Fib::Target Fib::compute_target(const RouteSpec& spec, SpecId id) {
  if (spec.nexthop.value() == 0) return {TargetKind::kPut, id};
  const NexthopTable::Row* row = desired.find(spec.nexthop);
  if (row == nullptr || !row->usable) return {TargetKind::kAbsent, kNoSpec};
  if (!row->realized) return {TargetKind::kWait, kNoSpec};
  auto stand_in = scratch.find(spec.nexthop);
  if (stand_in == scratch.end()) return {TargetKind::kPut, as_the_kernel_shows(id)};
  RouteSpec moved = spec;
  moved.nexthop = stand_in->second;
  return {TargetKind::kPut, routes.specs().intern(moved)};
}

Route Fib::route(const RouteKey& key, SpecId id) const {
  const RouteSpec& spec = routes.specs()[id];
  Route route;
  route.key = key;
  route.type = spec.type;
  route.nexthop = spec.nexthop;
  route.protocol = spec.protocol;
  route.scope = spec.scope;
  route.preference = spec.preference;
  if (spec.extras != 0) {
    const RouteExtras& extras = routes.specs().extras(spec.extras);
    route.prefsrc = extras.prefsrc;
    route.metrics = extras.metrics;
  }
  return route;
}

namespace {

RouteSpec bare_spec(const Route& route) {
  RouteSpec spec;
  spec.nexthop = route.nexthop;
  spec.type = route.type;
  spec.protocol = route.protocol;
  spec.scope = route.scope;
  spec.preference = static_cast<uint8_t>(route.preference & 3);
  return spec;
}

}  // namespace

SpecId Fib::desired_spec(const Route& route) {
  RouteSpec spec = bare_spec(route);
  spec.protocol = protocol;
  if (route.prefsrc || !route.metrics.empty())
    spec.extras = routes.specs().intern_extras({route.prefsrc, as_the_kernel_keeps(route.metrics)});
  return routes.specs().intern(spec);
}

SpecId Fib::kernel_spec(const KernelRoute& kernel) {
  const Route& route = kernel.route;
  RouteSpec spec = bare_spec(route);
  if (kernel.paths.size() == 1) spec.ifindex = kernel.paths[0].ifindex;
  for (const KernelPath& path : kernel.paths)
    if (path.gateway) spec.gateway = 1;
  // Others' attributes are none of our business, and could be many.
  if (is_ours(route.protocol) && (route.prefsrc || !route.metrics.empty()))
    spec.extras = routes.specs().intern_extras({route.prefsrc, route.metrics});
  return routes.specs().intern(spec);
}

bool Fib::is_blackhole(NexthopId id) const {
  const NexthopTable::Row* row = installed.find(id);
  if (row == nullptr) return false;
  if (!row->group) return row->blackhole;
  const NexthopGroup& group = installed.group(*row);
  return group.members.size() == 1 && is_blackhole(group.members[0].id);
}

SpecId Fib::as_the_kernel_shows(SpecId id) {
  RouteSpec spec = routes.specs()[id];
  if (spec.type != RouteType::kBlackhole || spec.nexthop.value() == 0 || !is_blackhole(spec.nexthop))
    return id;
  spec.type = RouteType::kUnicast;
  return routes.specs().intern(spec);
}

bool Fib::has_foreign_user(NexthopId id) const {
  if (routes.specs().users(id, Side::kForeign).total() != 0) return true;
  bool used = false;
  installed.for_each_group_of(id, [&](NexthopId group) {
    const NexthopTable::Row* row = installed.find(group);
    if (row != nullptr && !row->ours) used = true;
  });
  return used;
}

std::string Fib::foreign_user(NexthopId id) const {
  std::string text;
  installed.for_each_group_of(id, [&](NexthopId group) {
    const NexthopTable::Row* row = installed.find(group);
    if (row == nullptr || !text.empty()) return;
    if (row->ours) {
      // Only where the group stays for that reason: one that is wanted lets go of it by a replace.
      const NexthopTable::Row* wanted_group = desired.find(group);
      if (wanted_group == nullptr || !wanted_group->usable) text = foreign_user(group);
      return;
    }
    text =
        "held by foreign group " + std::to_string(group.value()) + " proto " + std::to_string(row->protocol);
  });
  if (!text.empty() || routes.specs().users(id, Side::kForeign).total() == 0) return text;
  for (const TableKey& table : routes.tables()) {
    std::optional<Prefix> after;
    std::vector<RouteTables::Row> rows;
    for (bool more = true; more;) {
      rows.clear();
      more = routes.walk(Side::kForeign, table, &after, 4'096, &rows);
      for (const RouteTables::Row& row : rows) {
        const RouteSpec& spec = routes.specs()[row.spec];
        if (spec.nexthop == id)
          return "held by foreign route " + to_string(row.key) + " proto " + std::to_string(spec.protocol);
      }
    }
  }
  return "held by a foreign route";
}

size_t Fib::bytes() const {
  const TrieBytes tries = routes.trie_bytes();
  return tries.spans + tries.lists + routes.specs().bytes() + desired.bytes() + installed.bytes() +
         (route_failures.size() + nexthop_failures.size()) * 112;
}

}  // namespace waypost::kernel_sync
