#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/kernel_sync/engine_harness.h"

namespace waypost::kernel_sync {
namespace {

// A world of a few ids, devices and prefixes, so that everything happens to everything.
class RandomWorld {
 public:
  explicit RandomWorld(uint64_t seed) : random_(seed) {}

  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool chance(uint32_t percent) { return below(100) < percent; }

  // A change that the store's rules would take, given the rows there are.
  void change(EngineHarness& host) {
    switch (below(8)) {
      case 0:
      case 1:
        return put_single(host);
      case 2:
        return put_group(host);
      case 3:
        return remove_nexthop(host);
      case 4:
        return remove_route(host);
      default:
        return put_route(host);
    }
  }

  // What happens on the host or is done by others.
  void outside(EngineHarness& host) {
    const std::string device = chance(50) ? "e0" : "e1";
    switch (below(9)) {
      case 0:
        return host.kernel.change([&](FakeFib& fib) { fib.set_up(device, false); });
      case 1:
      case 2:
        return host.kernel.change([&](FakeFib& fib) { revive(fib, device); });
      case 3:
        return host.kernel.change([&](FakeFib& fib) { fib.set_carrier(device, false); });
      case 4: {
        const RouteKey route_key = some_prefix(chance(30));
        const auto found = host.in_kernel(route_key);
        if (found && found->route.protocol == host.options.protocol) host.foreign_delete(route_key);
        return;
      }
      case 5: {
        const NexthopId nexthop = id(1 + below(12));
        const KernelNexthop* found = host.in_kernel(nexthop);
        if (found != nullptr && found->object.protocol == host.options.protocol && !has_foreign(host))
          host.foreign_delete(nexthop);
        return;
      }
      case 6:
        return host.kernel.change([&](FakeFib& fib) {
          set_address(fib, device, device == "e0" ? "10.7.0.2" : "10.7.1.2", 24, true);
        });
      case 7:
        return host.kernel.change([&](FakeFib& fib) {
          set_address(fib, device, device == "e0" ? "10.7.0.2" : "10.7.1.2", 24, false);
        });
      default:
        return foreign_route(host);
    }
  }

  static void revive(FakeFib& fib, const std::string& device) {
    const bool first = device == "e0";
    fib.set_up(device, true);
    fib.set_carrier(device, true);
    set_address(fib, device, first ? "10.7.0.1" : "10.7.1.1", 24, true);
    set_address(fib, device, first ? "2001:db8:70::1" : "2001:db8:71::1", 64, true);
  }
  static void set_address(FakeFib& fib, const std::string& device, const std::string& text, uint8_t length,
                          bool wanted) {
    if (fib.is_local(address(text)) == wanted) return;
    const Prefix own{address(text), length};
    wanted ? fib.add_address(device, own) : fib.remove_address(device, own);
  }

  RouteKey some_prefix(bool ipv6) {
    RouteKey out = key(ipv6 ? "2001:db8:" + std::to_string(1 + below(9)) + "::/48"
                            : "10." + std::to_string(100 + below(12)) + ".0.0/16");
    if (chance(10)) out.metric = 20;
    if (chance(15)) out.table = TableId(100);
    return out;
  }

 private:
  bool is_ipv6(const EngineHarness& host, NexthopId nexthop) {
    auto found = host.nexthops.find(nexthop);
    if (found == host.nexthops.end()) return false;
    if (!found->second.is_group()) return found->second.nexthop().family == Family::kIpv6;
    const auto& members = found->second.group().members;
    return std::all_of(members.begin(), members.end(),
                       [&](const GroupMember& member) { return is_ipv6(host, member.id); });
  }
  bool used_by_ipv6(const EngineHarness& host, NexthopId nexthop) {
    for (const auto& [route_key, value] : host.routes) {
      if (route_key.prefix.family() != Family::kIpv6) continue;
      if (value.nexthop == nexthop) return true;
      auto found = host.nexthops.find(value.nexthop);
      if (found == host.nexthops.end() || !found->second.is_group()) continue;
      for (const GroupMember& member : found->second.group().members)
        if (member.id == nexthop) return true;
    }
    return false;
  }
  bool in_group(const EngineHarness& host, NexthopId nexthop, bool shared_only) {
    for (const auto& [other, object] : host.nexthops) {
      if (!object.is_group()) continue;
      const auto& members = object.group().members;
      if (shared_only && members.size() < 2) continue;
      for (const GroupMember& member : members)
        if (member.id == nexthop) return true;
    }
    return false;
  }
  bool has_foreign(const EngineHarness& host) {
    bool found = false;
    host.kernel.fib().visit_routes(Family::kIpv4, std::nullopt, [&](const KernelRoute& row) {
      found |= row.route.nexthop.value() != 0 && row.route.protocol == 4;
    });
    return found;
  }

  void put_single(EngineHarness& host) {
    const NexthopId nexthop = id(1 + below(12));
    auto before = host.nexthops.find(nexthop);
    // A change of kind is "delete, then add" in one transaction: only without users in groups.
    const bool was_group = before != host.nexthops.end() && before->second.is_group();
    const bool must_be_ipv6 = used_by_ipv6(host, nexthop);
    NexthopObject object;
    const uint32_t kind = below(10);
    if (!must_be_ipv6 && kind == 0 && !in_group(host, nexthop, true)) {
      object = blackhole(nexthop.value());
    } else if (must_be_ipv6 || kind < 4) {
      object = via(nexthop.value(), chance(50) ? "2001:db8:70::2" : "2001:db8:71::3", "");
      std::get<Nexthop>(object.body).device =
          std::get<Nexthop>(object.body).gateway == address("2001:db8:70::2") ? "e0" : "e1";
    } else {
      const uint32_t gateway = below(4);
      object = via(nexthop.value(),
                   gateway == 0   ? "10.7.0.2"
                   : gateway == 1 ? "10.7.1.2"
                   : gateway == 2 ? "10.7.0.9"
                                  : "10.66.0.1",
                   gateway == 1 ? "e1" : "e0");
      if (chance(5)) std::get<Nexthop>(object.body).device = "eth9";
    }
    (void)was_group;
    host.put(object);
  }

  void put_group(EngineHarness& host) {
    const NexthopId nexthop = id(1 + below(12));
    if (in_group(host, nexthop, false)) return;
    const bool must_be_ipv6 = used_by_ipv6(host, nexthop);
    std::vector<uint32_t> members;
    bool has_blackhole = false;
    for (const auto& [other, object] : host.nexthops) {
      if (object.is_group() || other == nexthop || !chance(40)) continue;
      if (must_be_ipv6 && object.nexthop().family != Family::kIpv6) continue;
      has_blackhole |= object.nexthop().blackhole;
      members.push_back(other.value());
    }
    if (members.empty() || (has_blackhole && members.size() > 1)) return;
    std::shuffle(members.begin(), members.end(), random_);
    host.put(group(nexthop.value(), members));
  }

  void remove_nexthop(EngineHarness& host) {
    if (host.nexthops.empty()) return;
    auto at = host.nexthops.begin();
    std::advance(at, below(static_cast<uint32_t>(host.nexthops.size())));
    const NexthopId nexthop = at->first;
    // Cascade, as `ip` does: its groups lose it, groups without members and their routes go too.
    std::vector<NexthopId> gone = {nexthop};
    for (size_t index = 0; index < gone.size(); ++index) {
      std::vector<NexthopObject> shrunk;
      for (const auto& [other, object] : host.nexthops) {
        if (!object.is_group() || std::find(gone.begin(), gone.end(), other) != gone.end()) continue;
        NexthopObject copy = object;
        auto& members = std::get<NexthopGroup>(copy.body).members;
        if (std::erase_if(members, [&](const GroupMember& member) { return member.id == gone[index]; }) == 0)
          continue;
        if (members.empty()) {
          gone.push_back(other);
        } else {
          shrunk.push_back(copy);
        }
      }
      for (const NexthopObject& object : shrunk) host.put(object);
    }
    std::vector<RouteKey> keys;
    for (const auto& [route_key, value] : host.routes)
      if (std::find(gone.begin(), gone.end(), value.nexthop) != gone.end()) keys.push_back(route_key);
    for (const RouteKey& route_key : keys) host.remove(route_key);
    for (NexthopId dead : gone) host.remove(dead);
  }

  void remove_route(EngineHarness& host) {
    if (host.routes.empty()) return;
    auto at = host.routes.begin();
    std::advance(at, below(static_cast<uint32_t>(host.routes.size())));
    const RouteKey route_key = at->first;
    host.remove(route_key);
  }

  void put_route(EngineHarness& host) {
    if (host.nexthops.empty()) return;
    auto at = host.nexthops.begin();
    std::advance(at, below(static_cast<uint32_t>(host.nexthops.size())));
    const bool ipv6 = is_ipv6(host, at->first) && !at->second.is_group() && chance(70);
    Route value;
    value.key = some_prefix(ipv6 || (at->second.is_group() && is_ipv6(host, at->first) && chance(50)));
    value.nexthop = at->first;
    if (chance(10)) {
      value.nexthop = NexthopId(0);
      value.type = RouteType::kUnreachable;
    }
    host.put(value);
  }

  void foreign_route(EngineHarness& host) {
    Route theirs;
    theirs.key = some_prefix(false);
    theirs.key.metric = 7;
    theirs.type = RouteType::kBlackhole;
    theirs.protocol = 4;
    const KernelNexthop* ours = host.in_kernel(id(1 + below(12)));
    if (ours != nullptr && chance(50)) {
      theirs.type = RouteType::kUnicast;
      theirs.nexthop = ours->object.id;
    }
    if (chance(50) && host.in_kernel(theirs.key)) return host.foreign_delete(theirs.key);
    PutKernelRoute put;
    put.route.route = theirs;
    const KernelStep step = put;
    host.kernel.foreign({&step, 1});
  }

  std::mt19937_64 random_;
};

uint64_t first_seed() {
  const char* text = std::getenv("WAYPOST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

int seeds(int usual) {
  return std::getenv("WAYPOST_SEED") != nullptr ? 1 : usual;
}

// What is in the kernel before a transaction and is still wanted, and installable, after it.
std::vector<RouteKey> wanted_throughout(const EngineHarness& host, const std::map<RouteKey, Route>& before) {
  std::vector<RouteKey> keys;
  for (const auto& [route_key, value] : before)
    if (host.routes.count(route_key) != 0 && host.in_kernel(route_key) &&
        host.in_kernel(route_key)->route.protocol == host.options.protocol)
      keys.push_back(route_key);
  return keys;
}

// Random transactions, each plan cut at a random place, sometimes with a restart in the middle: no prefix
// that was there and is wanted afterwards is ever missing between two steps, and in the end the kernel is
// what the store and the host say.
TEST(Random, WantedPrefixesStayThroughEveryPlan) {
  for (uint64_t seed = first_seed(); seed < first_seed() + static_cast<uint64_t>(seeds(150)); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " (set WAYPOST_SEED to run it alone)");
    RandomWorld world(seed);
    EngineHarness host;
    for (int transaction = 0; transaction < 40; ++transaction) {
      const std::map<RouteKey, Route> before = host.routes;
      for (uint32_t count = 1 + world.below(6); count > 0; --count) world.change(host);
      const std::vector<RouteKey> candidates = wanted_throughout(host, before);
      host.commit();
      // The first few steps only, then perhaps a restart: plans may be cut anywhere.
      host.keep_reachable({});
      std::vector<RouteKey> kept;
      for (const RouteKey& route_key : candidates) {
        // Those whose nexthop this host cannot take are rightly withdrawn.
        auto nexthop = host.routes.find(route_key)->second.nexthop;
        if (nexthop.value() == 0 || host.installable(nexthop)) kept.push_back(route_key);
      }
      host.keep_reachable(kept);
      std::string trace;
      for (const RouteKey& route_key : kept)
        trace += to_string(route_key) + " nhid " + std::to_string(host.routes[route_key].nexthop.value()) +
                 " " + host.reason(route_key) + "\n";
      if (world.chance(30)) {
        host.engine->set_max_steps(1 + world.below(5));
        for (uint32_t rounds = world.below(4); rounds > 0; --rounds) host.engine->round(host.now_ms);
        host.engine->set_max_steps(limits::kMaxPlanSteps);
        if (world.chance(30)) host.restart();
      }
      host.run();
      if (std::getenv("WAYPOST_TRACE") != nullptr)
        std::cerr << "--- " << transaction << "\n" << trace << host.peek_steps();
      ASSERT_EQ(host.lost(), "") << host.take_steps();
      host.take_steps();
      ASSERT_EQ(host.difference(), "");
      ASSERT_TRUE(host.engine->in_sync()) << host.unfinished();
    }
  }
}

// The same with links that come and go, addresses, other processes, and what the kernel is asked failing now
// and then. No foreign object is ever touched, and when all is quiet the kernel is what the store and the
// host say.
TEST(Random, ConvergesWhateverHappens) {
  for (uint64_t seed = first_seed(); seed < first_seed() + static_cast<uint64_t>(seeds(150)); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " (set WAYPOST_SEED to run it alone)");
    RandomWorld world(seed);
    EngineHarness host;
    host.watch_foreign();
    for (int turn = 0; turn < 40; ++turn) {
      if (world.chance(60)) {
        for (uint32_t count = 1 + world.below(4); count > 0; --count) world.change(host);
        host.commit();
      }
      if (world.chance(60)) world.outside(host);
      if (world.chance(20)) host.kernel.faults.torn_dumps = static_cast<int>(world.below(8));
      if (world.chance(10)) host.kernel.faults.short_dumps = 1;
      if (world.chance(10)) host.kernel.faults.failed_gets = static_cast<int>(world.below(3));
      if (world.chance(10)) {
        host.kernel.faults.lost_sockets = 1;
        host.kernel.faults.lost_after = world.below(4);
        host.kernel.faults.lost_but_done = world.below(3);
      }
      host.kernel.faults.event_limit = world.chance(10) ? 2 : 100'000;
      if (world.chance(10)) (void)host.engine->audit(host.now_ms, 1);
      host.advance(world.below(300));
      if (std::getenv("WAYPOST_TRACE") != nullptr) std::cerr << "--- " << turn << "\n" << host.take_steps();
      if (world.chance(5)) host.restart();
    }
    host.kernel.faults = {};
    host.advance(700'000);
    EXPECT_TRUE(host.engine->audit(host.now_ms, 1).ok());
    host.advance(700'000);
    ASSERT_EQ(host.difference(), "") << host.unfinished();
    ASSERT_TRUE(host.engine->in_sync()) << host.unfinished();
    ASSERT_EQ(host.foreign_damage(), "");
  }
}

}  // namespace
}  // namespace waypost::kernel_sync
