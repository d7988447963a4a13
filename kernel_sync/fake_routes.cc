#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernel_sync/fake_fib.h"
#include "kernel_sync/fake_flags.h"

namespace waypost::kernel_sync {

namespace {

bool is_error_type(RouteType type) {
  return type >= RouteType::kBlackhole && type <= RouteType::kThrow;
}

// IPv6 joins only classic routes with a gateway to one multipath route (KERNEL.md K11).
bool can_be_sibling(const KernelRoute& row) {
  return row.route.nexthop.value() == 0 && !row.paths.empty() && row.paths[0].gateway.has_value();
}

RouteKey stored_key(RouteKey key) {
  key.prefix.address = masked(key.prefix.address, key.prefix.length);
  if (key.table.value() == 0) key.table = kMainTable;
  if (key.metric == 0) key.metric = usual_metric(key.prefix.family());
  return key;
}

FakeAnswer check_key(const RouteKey& key) {
  if (key.prefix.family() == Family::kIpv6 && key.tos != 0) {
    return refused(EINVAL, "Invalid dsfield (tos): option not available for IPv6");
  }
  if ((key.tos & 3) != 0) return refused(EINVAL, "Invalid dsfield (tos): ECN bits must be 0");
  // IPv6 masks the bits behind the length (KERNEL.md K2).
  const bool host_bits = masked(key.prefix.address, key.prefix.length) != key.prefix.address;
  if (host_bits && key.prefix.family() == Family::kIpv4) {
    return refused(EINVAL, "Invalid prefix for given prefix length");
  }
  return {};
}

// What IPv4 shares between rows as one fib_info; two rows that are equal in it and in type are the same row.
bool same_content(const KernelRoute& left, const KernelRoute& right) {
  return left.route == right.route && left.paths == right.paths;
}

}  // namespace

const FakeFib::Table* FakeFib::find_table(TableId id, Family family) const {
  const auto found = tables_.find({id, family});
  return found == tables_.end() ? nullptr : &found->second;
}

KernelRoute FakeFib::shown(const KernelRoute& row) const {
  KernelRoute result = row;
  if (row.route.nexthop.value() != 0 && is_blackhole(*find_nexthop(row.route.nexthop))) {
    result.route.type = RouteType::kBlackhole;
  }
  result.flags = row.paths.size() == 1 ? row.paths[0].flags : 0;
  return result;
}

void FakeFib::announce_route(const KernelRoute& row, bool deleted, bool by_request) {
  announce_(RouteEvent{shown(row), deleted}, by_request);
}

FakeAnswer FakeFib::check_route_nexthop(const Route& route, const KernelNexthop& nexthop) const {
  const bool is_group = nexthop.object.is_group();
  const bool fdb = is_group ? nexthop.object.group().fdb : nexthop.object.nexthop().fdb;
  if (route.key.prefix.family() == Family::kIpv6) {
    if (uses_ipv4(nexthop)) return refused(EINVAL, "IPv6 routes can not use an IPv4 nexthop");
    return fdb ? refused(EINVAL, "Route cannot point to a fdb nexthop") : FakeAnswer{};
  }
  if (is_group && route.scope == kScopeHost) {
    return refused(EINVAL, "Route with host scope can not have multiple nexthops");
  }
  if (fdb) return refused(EINVAL, "Route cannot point to a fdb nexthop");
  const KernelNexthop& first = is_group ? *find_nexthop(nexthop.object.group().members[0].id) : nexthop;
  if (route.scope == kScopeHost && first.object.nexthop().gateway) {
    return refused(EINVAL, "Route with host scope can not have a gateway");
  }
  if (first.object.nexthop().onlink && route.scope >= kScopeLink) {
    return refused(EINVAL, "Scope mismatch with nexthop");
  }
  return {};
}

// Classic routes are other owners' and only checked for what the tests plant.
FakeAnswer FakeFib::check_paths(const KernelRoute& route) const {
  if (route.paths.empty() && !is_error_type(route.route.type)) return refused(ENODEV, "No such device");
  const bool ipv6_route = route.route.key.prefix.family() == Family::kIpv6;
  for (const KernelPath& path : route.paths) {
    const auto link = links_.find(path.ifindex);
    const bool absent = link == links_.end();
    // A lookup for the gateway comes first; IPv6 wants the device even for that.
    if (absent && (ipv6_route || !path.gateway)) return refused(ENODEV, "No such device");
    if (path.gateway) {
      const bool onlink = (path.flags & kOnlink) != 0;
      auto answer = path.gateway->family == Family::kIpv4
                        ? check_gateway4(*path.gateway, path.ifindex, onlink)
                        : check_gateway6(*path.gateway, path.ifindex, onlink);
      if (!answer.ok()) return answer;
    }
    if (!link->second.up) return refused(ENETDOWN, "Nexthop device is not up");
  }
  return {};
}

FakeAnswer FakeFib::check_route4(const KernelRoute& route) const {
  if (route.route.nexthop.value() != 0) {
    const KernelNexthop* nexthop = find_nexthop(route.route.nexthop);
    if (nexthop == nullptr) return refused(EINVAL, "Nexthop id does not exist");
    // An error type asks nothing of its nexthop, until that is replaced.
    if (!is_error_type(route.route.type)) {
      if (auto answer = check_route_nexthop(route.route, *nexthop); !answer.ok()) return answer;
    }
  } else if (auto answer = check_paths(route); !answer.ok()) {
    return answer;
  }
  if (route.route.prefsrc && !is_error_type(route.route.type) && !is_local(*route.route.prefsrc)) {
    return refused(EINVAL, "Invalid prefsrc address");
  }
  return {};
}

FakeAnswer FakeFib::check_route6(const KernelRoute& route) const {
  if (route.route.nexthop.value() != 0) {
    const KernelNexthop* nexthop = find_nexthop(route.route.nexthop);
    if (nexthop == nullptr) return refused(EINVAL, "Nexthop id does not exist");
    if (auto answer = check_route_nexthop(route.route, *nexthop); !answer.ok()) return answer;
  } else if (auto answer = check_paths(route); !answer.ok()) {
    return answer;
  }
  if (route.route.prefsrc && !is_local(*route.route.prefsrc))
    return refused(EINVAL, "Invalid source address");
  return {};
}

FakeAnswer FakeFib::put_route(const KernelRoute& wanted, PutMode mode) {
  if (auto answer = check_key(wanted.route.key); !answer.ok()) return answer;
  if (wanted.route.nexthop.value() != 0 && !wanted.paths.empty()) {
    return refused(EINVAL, "Nexthop specification and nexthop id are mutually exclusive");
  }
  const bool ipv4 = wanted.route.key.prefix.family() == Family::kIpv4;
  // The table is made before the route is judged.
  Table& table = tables_[{stored_key(wanted.route.key).table, wanted.route.key.prefix.family()}];
  if (auto answer = ipv4 ? check_route4(wanted) : check_route6(wanted); !answer.ok()) return answer;
  KernelRoute route = wanted;
  route.flags = 0;
  route.route.key = stored_key(route.route.key);
  if (!ipv4) route.route.scope = kScopeGlobal;
  for (KernelPath& path : route.paths) {
    path.flags &= kOnlink;
    if (!links_.at(path.ifindex).carrier && route.route.scope != kScopeHost) path.flags |= kLinkdown;
  }
  return ipv4 ? insert_row4(table, route, mode) : insert_row6(table, route, mode);
}

void FakeFib::add_row(Table& table, std::vector<KernelRoute>& rows, size_t at, const KernelRoute& route) {
  rows.insert(rows.begin() + static_cast<ptrdiff_t>(at), route);
  ++table.by_length[route.route.key.prefix.length];
  ++route_count_;
  if (route.route.nexthop.value() != 0) routes_of_[route.route.nexthop].insert(route.route.key);
  announce_route(route, false, true);
}

void FakeFib::replace_row(KernelRoute& old, const KernelRoute& route) {
  if (old.route.nexthop.value() != 0) {
    auto& users = routes_of_[old.route.nexthop];
    users.erase(users.find(old.route.key));
  }
  old = route;
  if (route.route.nexthop.value() != 0) routes_of_[route.route.nexthop].insert(route.route.key);
  announce_route(route, false, true);
}

FakeAnswer FakeFib::insert_row4(Table& table, const KernelRoute& route, PutMode mode) {
  const RouteKey& key = route.route.key;
  auto& rows = table.rows[key.prefix];
  const auto before = [&](const KernelRoute& row) {
    if (row.route.key.tos != key.tos) return row.route.key.tos > key.tos;
    return row.route.key.metric < key.metric;
  };
  const auto first = std::find_if_not(rows.begin(), rows.end(), before);
  const auto last =
      std::find_if(first, rows.end(), [&](const KernelRoute& row) { return !(row.route.key == key); });
  const auto at = static_cast<size_t>((mode == PutMode::kAppend ? last : first) - rows.begin());
  if (first == last) {
    add_row(table, rows, at, route);
    return {};
  }
  if (mode == PutMode::kExclusive) return refused(EEXIST, "File exists");
  const auto equal =
      std::find_if(first, last, [&](const KernelRoute& row) { return same_content(row, route); });
  // The first row becomes the new one; where it already is that, nothing happens and nothing is announced.
  if (mode == PutMode::kReplace && equal == first) return {};
  if (equal != last) return refused(EEXIST, "File exists");
  if (mode == PutMode::kReplace) {
    replace_row(*first, route);
  } else {
    add_row(table, rows, at, route);
  }
  return {};
}

FakeAnswer FakeFib::insert_row6(Table& table, const KernelRoute& route, PutMode mode) {
  const RouteKey& key = route.route.key;
  auto& rows = table.rows[key.prefix];
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [&](const KernelRoute& row) { return row.route.key.metric >= key.metric; });
  const auto last = std::find_if(first, rows.end(),
                                 [&](const KernelRoute& row) { return row.route.key.metric > key.metric; });
  if (first == last) {
    add_row(table, rows, static_cast<size_t>(first - rows.begin()), route);
    return {};
  }
  if (mode == PutMode::kExclusive) return refused(EEXIST, "File exists");
  const auto alike = std::find_if(
      first, last, [&](const KernelRoute& row) { return can_be_sibling(row) == can_be_sibling(route); });
  if (mode == PutMode::kReplace) {
    replace_row(alike != last ? *alike : *first, route);
    return {};
  }
  if (can_be_sibling(route) && alike != last) {
    KernelRoute joined = *alike;
    joined.paths.insert(joined.paths.end(), route.paths.begin(), route.paths.end());
    replace_row(*alike, joined);
    return {};
  }
  for (auto row = first; row != last; ++row) {
    if (row->route.nexthop == route.route.nexthop && row->paths == route.paths) {
      return refused(EEXIST, "File exists");
    }
  }
  add_row(table, rows, static_cast<size_t>(last - rows.begin()), route);
  return {};
}

FakeAnswer FakeFib::delete_route(const DeleteKernelRoute& erase) {
  const RouteKey& key = erase.key;
  const bool ipv4 = key.prefix.family() == Family::kIpv4;
  if (auto answer = check_key(key); !answer.ok()) return answer;
  if (erase.nexthop.value() != 0 && find_nexthop(erase.nexthop) == nullptr) {
    return refused(EINVAL, "Nexthop id does not exist");
  }
  const auto table = tables_.find({key.table.value() == 0 ? kMainTable : key.table, key.prefix.family()});
  if (table == tables_.end()) return refused(ESRCH, "FIB table does not exist");
  const auto entry =
      table->second.rows.find({masked(key.prefix.address, key.prefix.length), key.prefix.length});
  if (entry == table->second.rows.end()) return refused(ESRCH, "No such process");
  // Metric 0 means any to a delete, also for IPv4 where it is a metric of its own.
  const auto matches = [&](const KernelRoute& row) {
    return row.route.key.tos == key.tos && (key.metric == 0 || row.route.key.metric == key.metric) &&
           (!ipv4 || !erase.type || row.route.type == *erase.type) &&
           (!erase.protocol || *erase.protocol == 0 || row.route.protocol == *erase.protocol) &&
           (erase.nexthop.value() == 0 || row.route.nexthop == erase.nexthop);
  };
  auto& rows = entry->second;
  const auto row = std::find_if(rows.begin(), rows.end(), matches);
  if (row == rows.end()) return refused(ESRCH, "No such process");
  announce_route(*row, true, true);
  remove_row(table->second, entry, static_cast<size_t>(row - rows.begin()));
  return {};
}

void FakeFib::remove_row(Table& table, std::map<Prefix, std::vector<KernelRoute>>::iterator entry,
                         size_t at) {
  const KernelRoute& row = entry->second[at];
  if (row.route.nexthop.value() != 0) {
    auto& users = routes_of_[row.route.nexthop];
    users.erase(users.find(row.route.key));
  }
  --table.by_length[entry->first.length];
  --route_count_;
  entry->second.erase(entry->second.begin() + static_cast<ptrdiff_t>(at));
  if (entry->second.empty()) table.rows.erase(entry);
}

// A row that goes by itself: IPv6 takes its paths out one by one.
void FakeFib::announce_gone(const KernelRoute& row) {
  if (row.route.key.prefix.family() == Family::kIpv4 || row.paths.size() < 2) {
    announce_route(row, true, false);
    return;
  }
  for (const KernelPath& path : row.paths) {
    KernelRoute one = row;
    one.paths = {path};
    announce_route(one, true, false);
  }
}

void FakeFib::remove_rows(const std::function<bool(const KernelRoute&)>& doomed, Silence silence4,
                          Silence silence6) {
  for (auto& [table_key, table] : tables_) {
    const Silence silence = table_key.second == Family::kIpv4 ? silence4 : silence6;
    for (auto entry = table.rows.begin(); entry != table.rows.end();) {
      const auto next = std::next(entry);
      for (size_t i = entry->second.size(); i-- > 0;) {
        if (!doomed(entry->second[i])) continue;
        if (silence == Silence::kAnnounced) announce_gone(entry->second[i]);
        const bool last = entry->second.size() == 1;
        remove_row(table, entry, i);
        if (last) break;
      }
      entry = next;
    }
  }
}

void FakeFib::visit_routes(Family family, std::optional<TableId> wanted,
                           const std::function<void(const KernelRoute&)>& visit) const {
  for (const auto& [table_key, table] : tables_) {
    if (table_key.second != family || (wanted && table_key.first != *wanted)) continue;
    for (const auto& [prefix, rows] : table.rows) {
      for (const KernelRoute& row : rows) visit(shown(row));
    }
  }
}

std::optional<KernelRoute> FakeFib::find_route(const RouteKey& wanted) const {
  const RouteKey key = stored_key(wanted);
  const Table* table = find_table(key.table, key.prefix.family());
  if (table == nullptr) return std::nullopt;
  const auto entry = table->rows.find(key.prefix);
  if (entry == table->rows.end()) return std::nullopt;
  for (const KernelRoute& row : entry->second) {
    if (row.route.key == key) return shown(row);
  }
  return std::nullopt;
}

std::vector<KernelPath> FakeFib::paths_of(const KernelRoute& row) const {
  std::vector<KernelPath> paths;
  if (row.route.nexthop.value() == 0) {
    for (const KernelPath& path : row.paths) {
      if ((path.flags & kDead) == 0) paths.push_back(path);
    }
    return paths;
  }
  const auto add = [&](const KernelNexthop& nexthop, uint16_t weight) {
    if (nexthop.object.nexthop().blackhole) return;
    paths.push_back({nexthop.ifindex, nexthop.object.nexthop().gateway, weight, 0});
  };
  const KernelNexthop& nexthop = *find_nexthop(row.route.nexthop);
  if (!nexthop.object.is_group()) {
    add(nexthop, 1);
    return paths;
  }
  for (const GroupMember& member : nexthop.object.group().members) {
    add(*find_nexthop(member.id), member.weight);
  }
  return paths;
}

std::optional<KernelRoute> FakeFib::match_if(const IpAddress& address, TableId id,
                                             const std::function<bool(const KernelRoute&)>& usable) const {
  const Table* table = find_table(id, address.family);
  if (table == nullptr) return std::nullopt;
  for (int length = address_bits(address.family); length >= 0; --length) {
    if (table->by_length[static_cast<size_t>(length)] == 0) continue;
    const auto bits = static_cast<uint8_t>(length);
    const auto entry = table->rows.find({masked(address, bits), bits});
    if (entry == table->rows.end()) continue;
    for (const KernelRoute& row : entry->second) {
      if (usable(row)) return row;
    }
  }
  return std::nullopt;
}

std::optional<KernelRoute> FakeFib::match(const IpAddress& address, TableId table) const {
  const auto row = match_if(address, table, [&](const KernelRoute& candidate) {
    if (candidate.route.key.tos != 0) return false;
    return candidate.paths.empty() || !paths_of(candidate).empty();
  });
  return row ? std::optional(shown(*row)) : std::nullopt;
}

std::optional<KernelRoute> FakeFib::lookup(const IpAddress& address) const {
  for (const TableId table : {kLocalTable, kMainTable, TableId(253)}) {
    const auto row = match(address, table);
    if (row && row->route.type != RouteType::kThrow) return row;
  }
  return std::nullopt;
}

}  // namespace waypost::kernel_sync
