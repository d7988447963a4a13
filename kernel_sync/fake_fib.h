// The rules of the Linux FIB as a pure state machine, for FakeKernel: nexthops, groups, routes, links and
// addresses, with the kernel's own refusals and its silent cascades. Written from KERNEL.md; the contract
// suite and the differential test (tests/kernel) hold it to the running kernel. No I/O, no clock.
//
// What is modelled: everything that PutKernelNexthop ... DeleteKernelRoute can ask for on veth-like devices
// and lo, tables reached by the default policy rules (local, main, default), append. Not modelled: other
// policy rules, expiry, multicast, link-local and anycast rows of IPv6, what the kernel checks inside an
// encap.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel_sync/kernel.h"

namespace waypost::kernel_sync {

// error 0: done. words are the kernel's.
struct FakeAnswer {
  int error = 0;
  std::string words;

  bool ok() const { return error == 0; }
};
inline FakeAnswer refused(int error, std::string words) {
  return {error, std::move(words)};
}

class FakeFib {
 public:
  // `by_request` is whether the message carries the port id of the request that caused it (KERNEL.md K17);
  // what follows from link events, and the IPv6 routes that go with a nexthop, carry none.
  using Announce = std::function<void(KernelEvent event, bool by_request)>;

  FakeFib();

  void on_announce(Announce announce) { announce_ = std::move(announce); }
  int compat_mode = 1;

  // fake_nexthops.cc
  FakeAnswer put_nexthop(const PutKernelNexthop& put);
  FakeAnswer delete_nexthop(NexthopId id);
  const KernelNexthop* find_nexthop(NexthopId id) const;
  const std::map<NexthopId, KernelNexthop>& nexthops() const { return nexthops_; }
  std::vector<NexthopId> groups_of(NexthopId member) const;

  // fake_routes.cc
  enum class PutMode { kReplace, kExclusive, kAppend };
  FakeAnswer put_route(const KernelRoute& route, PutMode mode);
  FakeAnswer delete_route(const DeleteKernelRoute& erase);
  // As the kernel shows it: a route over a blackhole nexthop reads back as a blackhole.
  KernelRoute shown(const KernelRoute& row) const;
  void visit_routes(Family family, std::optional<TableId> table,
                    const std::function<void(const KernelRoute&)>& visit) const;
  std::optional<KernelRoute> find_route(const RouteKey& key) const;
  // Longest match in one table, dead paths skipped.
  std::optional<KernelRoute> match(const IpAddress& address, TableId table) const;
  // The default policy rules: local, main, default.
  std::optional<KernelRoute> lookup(const IpAddress& address) const;
  // Where packets by this row go: its own paths or its nexthop's, without the dead ones; empty for what drops
  // them.
  std::vector<KernelPath> paths_of(const KernelRoute& row) const;
  size_t route_count() const { return route_count_; }
  size_t users_of(NexthopId id) const;

  // fake_links.cc
  // ifindex 0: the next free one.
  uint32_t add_link(const std::string& name, bool up, bool carrier, uint32_t ifindex = 0);
  void set_up(const std::string& name, bool up);
  // The cable: a device that is down has no carrier whatever its cable says.
  void set_carrier(const std::string& name, bool carrier);
  void rename_link(const std::string& name, const std::string& to);
  void remove_link(const std::string& name);
  // prefix with host bits: the address and the length of its connected route.
  void add_address(const std::string& name, const Prefix& prefix);
  void remove_address(const std::string& name, const Prefix& prefix);
  const std::map<uint32_t, KernelLink>& links() const { return links_; }
  const std::vector<KernelAddress>& addresses() const { return addresses_; }
  const KernelLink* find_link(const std::string& name) const;
  bool is_local(const IpAddress& address) const;

 private:
  struct Table {
    std::map<Prefix, std::vector<KernelRoute>> rows;  // of one prefix: by (tos descending, metric), then age
    std::array<uint32_t, 129> by_length = {};
  };
  using TableKey = std::pair<TableId, Family>;
  enum class Silence { kSilent, kAnnounced };

  // Checks, in the kernel's order.
  FakeAnswer check_single(const KernelNexthop& wanted) const;
  FakeAnswer check_device(uint32_t ifindex) const;
  FakeAnswer check_gateway4(const IpAddress& gateway, uint32_t ifindex, bool onlink) const;
  FakeAnswer check_gateway6(const IpAddress& gateway, uint32_t ifindex, bool onlink) const;
  FakeAnswer check_group(const NexthopGroup& group) const;
  FakeAnswer check_member(const KernelNexthop& member, const NexthopGroup& group) const;
  FakeAnswer check_replace(const KernelNexthop& old, const KernelNexthop& wanted) const;
  FakeAnswer check_replace_by_group(const KernelNexthop& old, const NexthopGroup& after) const;
  FakeAnswer check_users(NexthopId id, const KernelNexthop& wanted) const;
  FakeAnswer check_route_nexthop(const Route& route, const KernelNexthop& nexthop) const;
  FakeAnswer check_route4(const KernelRoute& route) const;
  FakeAnswer check_route6(const KernelRoute& route) const;
  FakeAnswer check_paths(const KernelRoute& route) const;

  bool uses_ipv4(const KernelNexthop& nexthop) const;
  bool is_blackhole(const KernelNexthop& nexthop) const;

  void replace_nexthop(KernelNexthop& old, const KernelNexthop& wanted);
  void drop_nexthop(NexthopId id, Silence silence);
  void leave_group(NexthopId group_id, NexthopId member, Silence silence);
  void announce_routes_of(NexthopId id);

  FakeAnswer insert_row4(Table& table, const KernelRoute& route, PutMode mode);
  FakeAnswer insert_row6(Table& table, const KernelRoute& route, PutMode mode);
  void add_row(Table& table, std::vector<KernelRoute>& rows, size_t at, const KernelRoute& route);
  void replace_row(KernelRoute& old, const KernelRoute& route);
  void remove_row(Table& table, std::map<Prefix, std::vector<KernelRoute>>::iterator entry, size_t at);
  void announce_route(const KernelRoute& row, bool deleted, bool by_request);
  void announce_gone(const KernelRoute& row);
  // Removes every row that `doomed` names; announced per family as given.
  void remove_rows(const std::function<bool(const KernelRoute&)>& doomed, Silence silence4, Silence silence6);
  const Table* find_table(TableId id, Family family) const;
  std::optional<KernelRoute> match_if(const IpAddress& address, TableId table,
                                      const std::function<bool(const KernelRoute&)>& usable) const;

  void announce_link(const KernelLink& link, bool deleted);
  void add_connected(const KernelAddress& address, bool with_local);
  void drop_connected(const KernelAddress& address);
  void mark_paths(uint32_t ifindex, uint32_t set, uint32_t clear, std::optional<Family> family = {});
  void flush_nexthops(uint32_t ifindex);
  void take_down(const KernelLink& link);
  void disable_ipv4(uint32_t ifindex);
  void drop_dead_rows(bool also_host_scope);  // of IPv4

  Announce announce_;
  std::map<NexthopId, KernelNexthop> nexthops_;
  std::map<NexthopId, std::set<NexthopId>> groups_of_;      // member -> groups
  std::map<NexthopId, std::multiset<RouteKey>> routes_of_;  // nexthop or group -> rows that name it
  std::map<TableKey, Table> tables_;
  size_t route_count_ = 0;
  std::map<uint32_t, KernelLink> links_;
  std::set<uint32_t> unplugged_;
  std::vector<KernelAddress> addresses_;
  uint32_t next_ifindex_ = 2;
};

}  // namespace waypost::kernel_sync
