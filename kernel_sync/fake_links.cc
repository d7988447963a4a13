#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernel_sync/fake_fib.h"
#include "kernel_sync/fake_flags.h"
#include "model/check.h"

namespace waypost::kernel_sync {

namespace {

constexpr uint32_t kLoopbackIndex = 1;

IpAddress broadcast_of(const Prefix& prefix) {
  IpAddress result = prefix.address;
  for (int bit = prefix.length; bit < 32; ++bit) {
    result.bytes[static_cast<size_t>(bit / 8)] |= static_cast<uint8_t>(0x80 >> (bit % 8));
  }
  return result;
}

// What a lookup that ends at a row of this type fails with; 0 where it does not.
int refusal_of(RouteType type) {
  switch (type) {
    case RouteType::kBlackhole:
      return EINVAL;
    case RouteType::kUnreachable:
      return EHOSTUNREACH;
    case RouteType::kProhibit:
      return EACCES;
    case RouteType::kThrow:
      return EAGAIN;
    default:
      return 0;
  }
}

KernelRoute kernel_route(TableId table, const Prefix& prefix, uint8_t type, uint8_t scope, uint32_t ifindex) {
  KernelRoute route;
  route.route.key = {table, {masked(prefix.address, prefix.length), prefix.length}, 0, 0};
  route.route.type = static_cast<RouteType>(type);
  route.route.protocol = kProtocolKernel;
  route.route.scope = scope;
  route.paths = {{ifindex, std::nullopt, 1, 0}};
  return route;
}

}  // namespace

FakeFib::FakeFib() {
  announce_ = [](const KernelEvent&, bool) {};
  links_[kLoopbackIndex] = {kLoopbackIndex, "lo", true, true, true};
  tables_[{kMainTable, Family::kIpv4}];
  tables_[{kMainTable, Family::kIpv6}];
  tables_[{kLocalTable, Family::kIpv4}];
  tables_[{kLocalTable, Family::kIpv6}];
  add_address("lo", {IpAddress::v4(0x7f000001), 8});
  IpAddress loopback6 = {Family::kIpv6, {}};
  loopback6.bytes[15] = 1;
  add_address("lo", {loopback6, 128});
}

const KernelLink* FakeFib::find_link(const std::string& name) const {
  for (const auto& [ifindex, link] : links_) {
    if (link.name == name) return &link;
  }
  return nullptr;
}

bool FakeFib::is_local(const IpAddress& address) const {
  const auto row = match(address, kLocalTable);
  return row && static_cast<uint8_t>(row->route.type) == kTypeLocal;
}

// KERNEL.md K5. A lookup through the device among rows of scope link or narrower.
FakeAnswer FakeFib::check_gateway4(const IpAddress& gateway, uint32_t ifindex, bool onlink) const {
  if (onlink) {
    const auto local = match(gateway, kLocalTable);
    if (local || gateway.is_multicast()) return refused(EINVAL, "Nexthop has invalid gateway");
    return {};
  }
  const auto usable = [&](const KernelRoute& row) {
    if (row.route.scope < kScopeLink || row.route.key.tos != 0) return false;
    if (refusal_of(shown(row).route.type) != 0) return true;
    const auto paths = paths_of(row);
    return std::any_of(paths.begin(), paths.end(),
                       [&](const KernelPath& path) { return path.ifindex == ifindex; });
  };
  for (const TableId table : {kLocalTable, kMainTable, TableId(253)}) {
    const auto row = match_if(gateway, table, usable);
    if (!row || row->route.type == RouteType::kThrow) continue;
    const RouteType type = shown(*row).route.type;
    if (const int error = refusal_of(type); error != 0) return refused(error, "Nexthop has invalid gateway");
    if (type == RouteType::kUnicast || static_cast<uint8_t>(type) == kTypeLocal) return {};
    return refused(EINVAL, "Nexthop has invalid gateway");
  }
  return refused(ENETUNREACH, "Nexthop has invalid gateway");
}

FakeAnswer FakeFib::check_gateway6(const IpAddress& gateway, uint32_t ifindex, bool onlink) const {
  for (const KernelAddress& address : addresses_) {
    if (address.local != gateway) continue;
    if (!gateway.is_link_local() || address.ifindex == ifindex) {
      return refused(EINVAL, "Gateway can not be a local address");
    }
  }
  const bool loopback = links_.at(ifindex).loopback;
  if (!gateway.is_link_local()) {
    if (gateway.is_multicast()) return refused(EINVAL, "Invalid gateway address");
    // A blackhole nexthop has no device, and answers for any.
    const auto through_device = [&](const KernelRoute& row) {
      if (row.route.nexthop.value() != 0 && is_blackhole(*find_nexthop(row.route.nexthop))) return true;
      const auto paths = paths_of(row);
      return std::any_of(paths.begin(), paths.end(),
                         [&](const KernelPath& path) { return path.ifindex == ifindex; });
    };
    if (onlink) {
      const auto any = [](const KernelRoute&) { return true; };
      const auto row = match_if(gateway, kMainTable, any);
      if (row && row->route.key.prefix.length != 0 && shown(*row).route.type == RouteType::kUnicast &&
          !through_device(*row)) {
        return refused(EINVAL, "Nexthop has invalid gateway or device mismatch");
      }
    } else {
      std::optional<KernelRoute> row = match_if(gateway, kLocalTable, through_device);
      if (!row) row = match_if(gateway, kMainTable, through_device);
      const bool refuses = row && refusal_of(shown(*row).route.type) != 0;
      const auto paths = row && !refuses ? paths_of(*row) : std::vector<KernelPath>();
      const auto path = std::find_if(paths.begin(), paths.end(),
                                     [&](const KernelPath& one) { return one.ifindex == ifindex; });
      if (path == paths.end() || path->gateway) return refused(EHOSTUNREACH, "No route to host");
    }
  }
  if (loopback) return refused(EINVAL, "Egress device can not be loopback device for this route");
  return {};
}

void FakeFib::announce_link(const KernelLink& link, bool deleted) {
  announce_(LinkEvent{link, deleted}, false);
}

uint32_t FakeFib::add_link(const std::string& name, bool up, bool carrier, uint32_t ifindex) {
  WAYPOST_CHECK(find_link(name) == nullptr, "a device of that name is there");
  if (ifindex == 0) ifindex = next_ifindex_;
  WAYPOST_CHECK(!links_.contains(ifindex), "a device of that index is there");
  next_ifindex_ = std::max(next_ifindex_, ifindex + 1);
  if (!carrier) unplugged_.insert(ifindex);
  links_[ifindex] = {ifindex, name, up, up && carrier, false};
  announce_link(links_[ifindex], false);
  return ifindex;
}

// The rows that the kernel keeps for an address; the prefix routes only while the device is up.
void FakeFib::add_connected(const KernelAddress& address, bool with_local) {
  const KernelLink& link = links_.at(address.ifindex);
  const Prefix& prefix = address.prefix;
  const auto add = [&](KernelRoute route) {
    if (link.up && !link.carrier && static_cast<uint8_t>(route.route.type) != kTypeLocal)
      route.paths[0].flags = kLinkdown;
    const RouteKey key = route.route.key;
    Table& table = tables_[{key.table, key.prefix.family()}];
    auto& rows = table.rows[key.prefix];
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const KernelRoute& row) { return row.route.key.metric > key.metric; });
    rows.insert(at, route);
    ++table.by_length[key.prefix.length];
    ++route_count_;
    announce_route(route, false, false);
  };
  if (prefix.family() == Family::kIpv4) {
    const auto put = [&](TableId table, const Prefix& to, uint8_t type, uint8_t scope) {
      KernelRoute route = kernel_route(table, to, type, scope, address.ifindex);
      route.route.prefsrc = address.local;
      add(route);
    };
    if (with_local) put(kLocalTable, {address.local, 32}, kTypeLocal, kScopeHost);
    if (!link.up) return;
    if (link.loopback) {
      put(kLocalTable, prefix, kTypeLocal, kScopeHost);
    } else if (prefix.length < 32) {
      put(kMainTable, prefix, static_cast<uint8_t>(RouteType::kUnicast), kScopeLink);
    }
    if (prefix.length < 31) put(kLocalTable, {broadcast_of(prefix), 32}, kTypeBroadcast, kScopeLink);
    return;
  }
  if (!link.up) return;
  KernelRoute connected = kernel_route(kMainTable, prefix, static_cast<uint8_t>(RouteType::kUnicast),
                                       kScopeGlobal, address.ifindex);
  connected.route.key.metric = kConnectedMetric6;
  if (prefix.length < 128) add(connected);
  if (with_local)
    add(kernel_route(kLocalTable, {address.local, 128}, kTypeLocal, kScopeGlobal, address.ifindex));
}

void FakeFib::drop_connected(const KernelAddress& address) {
  const Prefix connected = {masked(address.prefix.address, address.prefix.length), address.prefix.length};
  const int full = address_bits(address.prefix.family());
  const Prefix host = {address.local, static_cast<uint8_t>(full)};
  const Prefix broadcast = {broadcast_of(address.prefix), 32};
  const bool ipv4 = address.prefix.family() == Family::kIpv4;
  remove_rows(
      [&](const KernelRoute& row) {
        if (row.route.protocol != kProtocolKernel || row.paths.empty() ||
            row.paths[0].ifindex != address.ifindex) {
          return false;
        }
        if (ipv4 && row.route.prefsrc != address.local) return false;
        const Prefix& prefix = row.route.key.prefix;
        return prefix == connected || prefix == host || (ipv4 && prefix == broadcast);
      },
      Silence::kAnnounced, Silence::kAnnounced);
}

void FakeFib::add_address(const std::string& name, const Prefix& prefix) {
  const KernelLink* link = find_link(name);
  WAYPOST_CHECK(link != nullptr, "no device of that name");
  addresses_.push_back({link->ifindex, prefix, prefix.address});
  announce_(AddressEvent{addresses_.back(), false}, false);
  add_connected(addresses_.back(), true);
  if (link->up && prefix.family() == Family::kIpv4) {
    mark_paths(link->ifindex, 0, link->carrier ? kDead | kLinkdown : kDead, Family::kIpv4);
  }
}

void FakeFib::remove_address(const std::string& name, const Prefix& prefix) {
  const KernelLink* link = find_link(name);
  WAYPOST_CHECK(link != nullptr, "no device of that name");
  const auto found = std::find_if(addresses_.begin(), addresses_.end(), [&](const KernelAddress& address) {
    return address.ifindex == link->ifindex && address.prefix == prefix;
  });
  WAYPOST_CHECK(found != addresses_.end(), "no such address");
  const KernelAddress gone = *found;
  addresses_.erase(found);
  announce_(AddressEvent{gone, true}, false);
  drop_connected(gone);
  const bool last = std::none_of(addresses_.begin(), addresses_.end(), [&](const KernelAddress& address) {
    return address.ifindex == gone.ifindex && address.prefix.family() == Family::kIpv4;
  });
  if (last && prefix.family() == Family::kIpv4) disable_ipv4(gone.ifindex);
  if (is_local(gone.local)) return;
  // KERNEL.md K20: IPv4 rows of the main table that name it as their source go; IPv6 ones of paths over this
  // device lose the source, and those by nexthop id keep it.
  remove_rows(
      [&](const KernelRoute& row) {
        return row.route.key.prefix.family() == Family::kIpv4 && row.route.key.table == kMainTable &&
               row.route.prefsrc == gone.local;
      },
      Silence::kAnnounced, Silence::kAnnounced);
  for (auto& [key, table] : tables_) {
    if (key.second != Family::kIpv6) continue;
    for (auto& [to, rows] : table.rows) {
      for (KernelRoute& row : rows) {
        const bool over_device = !row.paths.empty() && row.paths[0].ifindex == gone.ifindex;
        if (over_device && row.route.prefsrc == gone.local) row.route.prefsrc.reset();
      }
    }
  }
}

void FakeFib::mark_paths(uint32_t ifindex, uint32_t set, uint32_t clear, std::optional<Family> family) {
  for (auto& [key, table] : tables_) {
    if (family && key.second != *family) continue;
    for (auto& [prefix, rows] : table.rows) {
      for (KernelRoute& row : rows) {
        // Own addresses and rows of host scope keep their paths until IPv4 leaves the device altogether.
        const bool own_address = static_cast<uint8_t>(row.route.type) == kTypeLocal;
        if (set != 0 && !family && (own_address || row.route.scope == kScopeHost)) continue;
        for (KernelPath& path : row.paths) {
          if (path.ifindex == ifindex) path.flags = (path.flags | set) & ~clear;
        }
      }
    }
  }
}

void FakeFib::drop_dead_rows(bool also_host_scope) {
  remove_rows(
      [&](const KernelRoute& row) {
        if (row.route.key.prefix.family() != Family::kIpv4 || row.paths.empty()) return false;
        if (row.route.scope == kScopeHost && !also_host_scope) return false;
        return std::all_of(row.paths.begin(), row.paths.end(),
                           [](const KernelPath& path) { return (path.flags & kDead) != 0; });
      },
      Silence::kSilent, Silence::kAnnounced);
}

// A device without its last IPv4 address loses the rows of paths over it; those by nexthop id stay (KERNEL.md
// K20).
void FakeFib::disable_ipv4(uint32_t ifindex) {
  mark_paths(ifindex, kDead | kLinkdown, 0, Family::kIpv4);
  drop_dead_rows(true);
}

// KERNEL.md K12: without a word, but for the IPv6 routes at compat mode 1.
void FakeFib::flush_nexthops(uint32_t ifindex) {
  std::vector<NexthopId> doomed;
  for (const auto& [id, nexthop] : nexthops_) {
    if (!nexthop.object.is_group() && nexthop.ifindex == ifindex) doomed.push_back(id);
  }
  for (const NexthopId id : doomed) drop_nexthop(id, Silence::kSilent);
}

void FakeFib::set_carrier(const std::string& name, bool carrier) {
  KernelLink& link = links_.at(find_link(name)->ifindex);
  if (carrier) {
    unplugged_.erase(link.ifindex);
  } else {
    unplugged_.insert(link.ifindex);
  }
  if (!link.up || link.carrier == carrier) return;
  link.carrier = carrier;
  if (carrier) {
    mark_paths(link.ifindex, 0, kLinkdown, Family::kIpv4);
    mark_paths(link.ifindex, 0, kDead | kLinkdown, Family::kIpv6);
  } else {
    flush_nexthops(link.ifindex);
    mark_paths(link.ifindex, kLinkdown, 0);
  }
  announce_link(link, false);
}

void FakeFib::take_down(const KernelLink& link) {
  flush_nexthops(link.ifindex);
  // IPv6 takes a row out before it marks any path of it.
  remove_rows(
      [&](const KernelRoute& row) {
        return row.route.key.prefix.family() == Family::kIpv6 && !row.paths.empty() &&
               std::all_of(row.paths.begin(), row.paths.end(), [&](const KernelPath& path) {
                 return path.ifindex == link.ifindex || (path.flags & kDead) != 0;
               });
      },
      Silence::kSilent, Silence::kAnnounced);
  mark_paths(link.ifindex, kDead | kLinkdown, 0);
  drop_dead_rows(false);
  std::vector<KernelAddress> gone;
  std::erase_if(addresses_, [&](const KernelAddress& address) {
    const bool doomed = address.ifindex == link.ifindex && address.prefix.family() == Family::kIpv6;
    if (doomed) gone.push_back(address);
    return doomed;
  });
  for (const KernelAddress& address : gone) {
    announce_(AddressEvent{address, true}, false);
    drop_connected(address);
  }
}

void FakeFib::set_up(const std::string& name, bool up) {
  KernelLink& link = links_.at(find_link(name)->ifindex);
  if (link.up == up) return;
  link.up = up;
  if (!up) {
    link.carrier = false;
    announce_link(link, false);
    take_down(link);
    return;
  }
  link.carrier = !unplugged_.contains(link.ifindex);
  if (link.carrier) {
    mark_paths(link.ifindex, 0, kDead | kLinkdown);
  } else {
    mark_paths(link.ifindex, 0, kDead, Family::kIpv4);  // IPv6 waits for the carrier
  }
  announce_link(link, false);
  for (const KernelAddress& address : addresses_) {
    if (address.ifindex == link.ifindex && address.prefix.family() == Family::kIpv4) {
      add_connected(address, false);
    }
  }
}

void FakeFib::rename_link(const std::string& name, const std::string& to) {
  KernelLink& link = links_.at(find_link(name)->ifindex);
  link.name = to;
  announce_link(link, false);
  for (const KernelAddress& address : addresses_) {  // their labels follow the name
    if (address.ifindex == link.ifindex && address.prefix.family() == Family::kIpv4) {
      announce_(AddressEvent{address, false}, false);
    }
  }
}

void FakeFib::remove_link(const std::string& name) {
  const KernelLink link = *find_link(name);
  if (link.up) set_up(name, false);
  std::vector<KernelAddress> gone;
  for (const KernelAddress& address : addresses_) {
    if (address.ifindex == link.ifindex) gone.push_back(address);
  }
  for (const KernelAddress& address : gone) remove_address(name, address.prefix);
  // An IPv4 row goes as a whole with any device of its paths, silently; an IPv6 row shrinks, and says so.
  const auto on_device = [&](const KernelPath& path) { return path.ifindex == link.ifindex; };
  for (auto& [key, table] : tables_) {
    if (key.second != Family::kIpv6) continue;
    for (auto& [prefix, rows] : table.rows) {
      for (KernelRoute& row : rows) {
        const auto path = std::find_if(row.paths.begin(), row.paths.end(), on_device);
        if (path == row.paths.end() || row.paths.size() == 1) continue;
        KernelRoute gone_path = row;
        gone_path.paths = {*path};
        announce_route(gone_path, true, false);
        row.paths.erase(path);
      }
    }
  }
  remove_rows(
      [&](const KernelRoute& row) { return std::any_of(row.paths.begin(), row.paths.end(), on_device); },
      Silence::kSilent, Silence::kAnnounced);
  links_.erase(link.ifindex);
  unplugged_.erase(link.ifindex);
  announce_link({link.ifindex, link.name, false, false, link.loopback}, true);
}

}  // namespace waypost::kernel_sync
