// An engine over a fake kernel with a clock of its own: rows are put as the store's changes would put them,
// and the prefixes that are wanted throughout are looked up in the kernel between any two steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel_sync/engine.h"
#include "kernel_sync/fake_kernel.h"

namespace waypost::kernel_sync {

inline NexthopId id(uint32_t value) {
  return NexthopId(value);
}
inline Prefix prefix(const std::string& text) {
  return *parse_prefix(text);
}
inline IpAddress address(const std::string& text) {
  return *parse_address(text);
}
inline RouteKey key(const std::string& text, TableId table = kMainTable) {
  RouteKey out;
  out.table = table;
  out.prefix = prefix(text);
  out.metric = out.prefix.family() == Family::kIpv4 ? 0 : 1024;
  return out;
}

NexthopObject via(uint32_t nexthop, const std::string& gateway, const std::string& device);
NexthopObject on_device(uint32_t nexthop, const std::string& device, Family family = Family::kIpv4);
NexthopObject blackhole(uint32_t nexthop, Family family = Family::kIpv4);
NexthopObject group(uint32_t nexthop, std::vector<uint32_t> members);
Route route(const std::string& text, uint32_t nexthop, TableId table = kMainTable);

class EngineHarness {
 public:
  // Two veth-like devices, e0 (10.7.0.1/24, 2001:db8:70::1/64) and e1 (10.7.1.1/24, 2001:db8:71::1/64).
  explicit EngineHarness(bool with_devices = true);
  ~EngineHarness();

  // A new engine over the same kernel and the same desired rows: a restart.
  void restart();
  void open();

  // Collect changes, then commit() them as one transaction, then run().
  void put(const NexthopObject& object);
  void put(const Route& route);
  void remove(NexthopId nexthop);
  void remove(const RouteKey& key);
  void commit();
  // Rounds until there is nothing more to do now. Events first.
  void run();
  void commit_and_run();
  void advance(uint64_t ms);
  void pump_events();

  // Foreign processes.
  void foreign_put(const NexthopObject& object, uint32_t ifindex);
  void foreign_put(const Route& route);
  void foreign_delete(const RouteKey& key);
  void foreign_delete(NexthopId nexthop);

  uint32_t ifindex(const std::string& device) const;
  RowState state(const RouteKey& key) const;
  RowState state(NexthopId nexthop) const;
  std::string reason(const RouteKey& key) const;
  std::string reason(NexthopId nexthop) const;
  std::optional<KernelRoute> in_kernel(const RouteKey& key) const { return kernel.fib().find_route(key); }
  const KernelNexthop* in_kernel(NexthopId nexthop) const { return kernel.fib().find_nexthop(nexthop); }
  // Empty when the kernel holds exactly what the store wants and this host can take; else the first
  // difference.
  std::string difference() const;

  // From now on every step is checked: these keys must be in the kernel after each.
  void keep_reachable(std::vector<RouteKey> keys) { reachable_ = std::move(keys); }
  const std::string& lost() const { return lost_; }
  // What keeps the engine from being in sync, in words.
  std::string unfinished() const;
  // Whether this host could take the desired object now, judged apart from the engine.
  bool installable(NexthopId nexthop) const;
  // From now on: no step of ours may change what another owner made. The first that did, or empty.
  void watch_foreign() { watch_foreign_ = true; }
  const std::string& foreign_damage() const { return foreign_damage_; }
  // Every executed step in words, since the last call.
  std::string take_steps();
  const std::string& peek_steps() const { return steps_; }

  FakeKernel kernel;
  SyncerOptions options;
  std::unique_ptr<Engine> engine;
  std::map<NexthopId, NexthopObject> nexthops;
  std::map<RouteKey, Route> routes;
  uint64_t now_ms = 1'000'000;
  store::StateStamp stamp;
  size_t rounds = 0;

 private:
  void replay();

  std::vector<RouteKey> reachable_;
  std::string lost_;
  void check_foreign(const KernelStep& step);
  std::map<RouteKey, uint8_t> foreign_rows() const;
  bool watch_foreign_ = false;
  std::string foreign_damage_;
  std::map<RouteKey, uint8_t> foreign_before_;
  std::string steps_;
  ChangeSet pending_;
};

// Nexthops 1 and 2 over e0 and e1, and 3, of IPv6, over e0: what most tests begin with. Not committed yet.
void put_nexthops(EngineHarness& host);

std::string words(const KernelStep& step);

}  // namespace waypost::kernel_sync
