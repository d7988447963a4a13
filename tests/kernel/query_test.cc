// The questions of the Kernel interface: one row by its key however it is hidden, matches, lookups, devices
// by name.
#include "tests/kernel/contract.h"

namespace waypost::kernel_sync {
namespace {

class KernelQueries : public KernelContract {
 protected:
  std::string get(const RouteKey& wanted) {
    const auto found = kernel().get_route(wanted);
    if (!found) return found.error().message;
    return *found ? describe(**found) : "none";
  }
  std::string match(const std::string& to, uint32_t table = 254) {
    const auto found = kernel().match_route(address(to), TableId(table));
    if (!found) return found.error().message;
    return *found ? describe(**found) : "none";
  }
  std::string lookup(const std::string& to) {
    const auto found = kernel().lookup(address(to));
    if (!found) return found.error().message;
    return *found ? describe(**found) : "none";
  }
};
INSTANTIATE_TEST_SUITE_P(Contract, KernelQueries, testing::Values(Engine::kReal, Engine::kFake), engine_of);

// A row is found by its exact key also where a longer prefix, another metric, another tos or another table
// would win.
TEST_P(KernelQueries, AHiddenRowIsFoundByItsKey) {
  add_nexthops();
  ASSERT_EQ("ok",
            world_->run(
                {add(route(key("192.0.2.0/24"), 1)), add(route(key("192.0.2.0/32"), 2)),
                 add(route(key("192.0.2.0/24", 20), 2)), add(route(key("192.0.2.0/24", 0, 254, 8), 2)),
                 add(route(key("192.0.2.0/24", 0, 100), 2)), add(route(key("192.0.2.0/23"), 2)),
                 add(route(key("2001:db8:1::/64"), 3)), add(route(key("2001:db8:1::/128"), 4)),
                 add(route(key("2001:db8:1::/64", 20), 4)), add(route(key("2001:db8:1::/64", 1024, 100), 4)),
                 add(route(key("2001:db8:70::/64", 1024), 3))}));
  EXPECT_EQ("192.0.2.0/24 type 1 nhid 1 proto 87", get(key("192.0.2.0/24")));
  EXPECT_EQ("192.0.2.0/32 type 1 nhid 2 proto 87", get(key("192.0.2.0/32")));
  EXPECT_EQ("192.0.2.0/24 metric 20 type 1 nhid 2 proto 87", get(key("192.0.2.0/24", 20)));
  EXPECT_EQ("192.0.2.0/24 tos 0x08 type 1 nhid 2 proto 87", get(key("192.0.2.0/24", 0, 254, 8)));
  EXPECT_EQ("192.0.2.0/24 table 100 type 1 nhid 2 proto 87", get(key("192.0.2.0/24", 0, 100)));
  EXPECT_EQ("2001:db8:1::/64 type 1 nhid 3 proto 87", get(key("2001:db8:1::/64")));
  EXPECT_EQ("2001:db8:1::/64 metric 20 type 1 nhid 4 proto 87", get(key("2001:db8:1::/64", 20)));
  EXPECT_EQ("2001:db8:1::/64 table 100 type 1 nhid 4 proto 87", get(key("2001:db8:1::/64", 1024, 100)));
  EXPECT_EQ("2001:db8:70::/64 type 1 nhid 3 proto 87", get(key("2001:db8:70::/64", 1024)));
  for (const char* absent : {"192.0.2.0/25", "192.0.0.0/22", "198.51.100.0/24", "2001:db8:1::/63",
                             "2001:db8:1::/65", "2001:db8:9::/64", "0.0.0.0/0", "::/0"}) {
    EXPECT_EQ("none", get(key(absent))) << absent;
  }
  EXPECT_EQ("none", get(key("192.0.2.0/24", 21)));
  EXPECT_EQ("none", get(key("192.0.2.0/24", 0, 254, 16)));
  EXPECT_EQ("none", get(key("192.0.2.0/24", 0, 101)));
  EXPECT_EQ("none", get(key("2001:db8:1::/64", 21)));
  EXPECT_EQ("none", get(key("2001:db8:1::/64", 1024, 101)));
  // Asking created nothing.
  EXPECT_EQ(11u, routes().size());
}

// Error types and routes over a blackhole, to which a lookup answers with an errno, are found as well.
TEST_P(KernelQueries, RoutesThatRefuseAreFound) {
  add_nexthops();
  ASSERT_EQ("ok", world_->run({add(error_route(key("192.0.2.0/24"), RouteType::kBlackhole)),
                               add(error_route(key("192.0.3.0/24"), RouteType::kUnreachable)),
                               add(error_route(key("192.0.4.0/24"), RouteType::kProhibit)),
                               add(error_route(key("192.0.5.0/24"), RouteType::kThrow)),
                               add(route(key("192.0.6.0/24"), 10)),
                               add(error_route(key("2001:db8:1::/64"), RouteType::kBlackhole)),
                               add(error_route(key("2001:db8:2::/64"), RouteType::kUnreachable))}));
  EXPECT_EQ("192.0.2.0/24 type 6 proto 87", get(key("192.0.2.0/24")));
  EXPECT_EQ("192.0.3.0/24 type 7 proto 87", get(key("192.0.3.0/24")));
  EXPECT_EQ("192.0.4.0/24 type 8 proto 87", get(key("192.0.4.0/24")));
  EXPECT_EQ("192.0.5.0/24 type 9 proto 87", get(key("192.0.5.0/24")));
  EXPECT_EQ("192.0.6.0/24 type 6 nhid 10 proto 87", get(key("192.0.6.0/24")));
  EXPECT_EQ("2001:db8:1::/64 type 6 proto 87", get(key("2001:db8:1::/64")));
  EXPECT_EQ("2001:db8:2::/64 type 7 proto 87", get(key("2001:db8:2::/64")));
  EXPECT_EQ("192.0.2.0/24 type 6 proto 87", match("192.0.2.9"));
  EXPECT_EQ("192.0.3.0/24 type 7 proto 87", lookup("192.0.3.9"));
  EXPECT_EQ("192.0.4.0/24 type 8 proto 87", lookup("192.0.4.9"));
  EXPECT_EQ("2001:db8:1::/64 type 6 proto 87", lookup("2001:db8:1::9"));
  EXPECT_EQ("none", lookup("192.0.5.9"));
}

// A match is the longest prefix and then the lowest metric of the asked table, whether or not the policy
// rules come there.
TEST_P(KernelQueries, MatchesPerTable) {
  add_nexthops();
  ASSERT_EQ("ok", world_->run(
                      {add(route(key("192.0.2.0/24"), 1)), add(route(key("192.0.0.0/16"), 2)),
                       add(route(key("192.0.2.0/24", 5), 2)), add(route(key("192.0.2.0/24", 9, 100), 2)),
                       add(route(key("192.0.2.0/24", 7, 100), 1)), add(route(key("10.7.0.1/32"), 2)),
                       add(route(key("2001:db8:1::/64", 5), 3)), add(route(key("2001:db8:1::/64", 9), 4))}));
  EXPECT_EQ("192.0.2.0/24 type 1 nhid 1 proto 87", match("192.0.2.1"));
  EXPECT_EQ("192.0.0.0/16 type 1 nhid 2 proto 87", match("192.0.3.1"));
  EXPECT_EQ("192.0.2.0/24 table 100 metric 7 type 1 nhid 1 proto 87", match("192.0.2.1", 100));
  EXPECT_EQ("none", match("192.0.3.1", 100));
  EXPECT_EQ("none", match("192.0.2.1", 101));
  EXPECT_EQ("none", match("203.0.113.1"));
  EXPECT_EQ("10.7.0.1/32 type 1 nhid 2 proto 87", match("10.7.0.1"));  // behind the local table's row
  EXPECT_EQ("2001:db8:1::/64 metric 5 type 1 nhid 3 proto 87", match("2001:db8:1::1"));
  EXPECT_EQ("none", match("2001:db8:ffff::1"));
  EXPECT_EQ("10.7.0.1/32 table 255 type 2 dev " + std::to_string(e0_) + " proto 2 scope 254 src 10.7.0.1",
            lookup("10.7.0.1"));
  EXPECT_EQ("192.0.2.0/24 type 1 nhid 1 proto 87", lookup("192.0.2.1"));
  EXPECT_EQ("none", lookup("203.0.113.1"));
}

// Everything a put can say comes back: metrics, source, preference, scope; other owners' paths as well.
TEST_P(KernelQueries, AttributesComeBack) {
  add_nexthops();
  KernelRoute full = route(key("192.0.2.0/24"), 1);
  full.route.prefsrc = address("10.7.1.1");
  full.route.metrics.values = {{2, 1400}, {8, 1200}};  // mtu, advmss
  full.route.metrics.lock = 1u << 2;
  KernelRoute full6 = route(key("2001:db8:1::/64"), 3);
  full6.route.preference = 1;
  full6.route.metrics.values = {{2, 1300}};
  KernelRoute mixed = classic(key("192.0.3.0/24"), {{e0_, address("2001:db8:70::2"), 1, 0}});
  KernelRoute many = classic(key("192.0.4.0/24"),
                             {{e0_, address("10.7.0.2"), 200, 0}, {e1_, address("2001:db8:71::2"), 1, 0}});
  KernelRoute linked = classic(key("192.0.5.0/24"), {{e0_, std::nullopt, 1, 0}});
  linked.route.scope = kScopeLink;
  for (const KernelRoute& wanted : {full, full6, mixed, many, linked}) {
    ASSERT_EQ("ok", run(add(wanted))) << describe(wanted);
    const auto found = kernel().get_route(wanted.route.key).value();
    ASSERT_TRUE(found.has_value()) << describe(wanted);
    EXPECT_EQ(describe(wanted), describe(*found));
    EXPECT_EQ(wanted.route, found->route);
    EXPECT_EQ(wanted.paths, found->paths);
  }
}

// IPv4 would let a route without metrics share the data of one with, if all else is equal. Here each has its
// own.
TEST_P(KernelQueries, PlainRoutesDoNotTakeOverMetrics) {
  add_nexthops();
  KernelRoute small = route(key("192.0.2.0/24"), 1);
  small.route.metrics.values = {{2, 1'400}};
  ASSERT_EQ("ok", world_->run({add(small), add(route(key("192.0.3.0/24"), 1))}));
  EXPECT_EQ("192.0.3.0/24 type 1 nhid 1 proto 87", get(key("192.0.3.0/24")));
  ASSERT_EQ("ok", run(put(route(key("192.0.2.0/24"), 1))));
  EXPECT_EQ("192.0.2.0/24 type 1 nhid 1 proto 87", get(key("192.0.2.0/24")));
}

// IPv6 remembers its choices per nexthop object, and would answer for one prefix with another over the same
// nexthop.
TEST_P(KernelQueries, Ipv6RoutesOverOneNexthopAreToldApart) {
  add_nexthops();
  ASSERT_EQ("ok", world_->run({add(group(20, {{3, 1}})), add(route(key("2001:db8:1::/48"), 3)),
                               add(route(key("2001:db8:5::/48"), 3)), add(route(key("2001:db8:5::/56"), 20)),
                               add(route(key("2001:db8:4::/47"), 3))}));
  for (const char* to : {"2001:db8:1::/48", "2001:db8:5::/48", "2001:db8:4::/47"}) {
    EXPECT_EQ(std::string(to) + " type 1 nhid 3 proto 87", get(key(to)));
  }
  EXPECT_EQ("2001:db8:1::/48 type 1 nhid 3 proto 87", match("2001:db8:1::1"));
  EXPECT_EQ("2001:db8:5::/56 type 1 nhid 20 proto 87", match("2001:db8:5::1"));
  EXPECT_EQ("2001:db8:5::/48 type 1 nhid 3 proto 87", lookup("2001:db8:5:ffff::1"));
  EXPECT_EQ("2001:db8:4::/47 type 1 nhid 3 proto 87", lookup("2001:db8:4::1"));
}

// Devices are found by name or index with one question each, never by a dump of all.
TEST_P(KernelQueries, DevicesByNameWithoutADump) {
  const uint64_t before = kernel().counters().link_gets;
  EXPECT_EQ(e0_, kernel().get_link("e0").value()->ifindex);
  EXPECT_EQ("e1", kernel().get_link(e1_).value()->name);
  EXPECT_FALSE(kernel().get_link("absent").value().has_value());
  EXPECT_FALSE(kernel().get_link(9'999).value().has_value());
  EXPECT_EQ(before + 4, kernel().counters().link_gets);
  EXPECT_EQ(0u, kernel().counters().link_dumps);
  EXPECT_TRUE(kernel().get_link("lo").value()->loopback);
  bool up = false;
  EXPECT_EQ(DumpOutcome::kComplete, kernel().dump_links([&](const KernelLink& link) {
    if (link.name == "e0") up = link.up && link.carrier;
  }));
  EXPECT_TRUE(up);
  EXPECT_EQ(1u, kernel().counters().link_dumps);
}

// Addresses come by dump and by event.
TEST_P(KernelQueries, Addresses) {
  std::vector<std::string> seen;
  EXPECT_EQ(DumpOutcome::kComplete, kernel().dump_addresses([&](const KernelAddress& one) {
    if (one.ifindex == e0_) seen.push_back(to_string(one.prefix) + " " + to_string(one.local));
  }));
  EXPECT_THAT(seen, testing::ElementsAre("10.7.0.1/24 10.7.0.1", "2001:db8:70::1/64 2001:db8:70::1"));
  events();
  world_->add_address("e1", "10.9.0.1/24");
  EXPECT_THAT(events(), testing::Contains("new address 10.9.0.1/24 dev " + std::to_string(e1_)));
  world_->remove_address("e1", "10.9.0.1/24");
  EXPECT_THAT(events(), testing::Contains("deleted address 10.9.0.1/24 dev " + std::to_string(e1_)));
}

// wake() ends a wait that has no limit, and a wait with one ends by itself.
TEST_P(KernelQueries, WakeEndsAWait) {
  kernel().wake();
  EXPECT_THAT(describe_events(*world_), testing::ElementsAre("wake"));
  EXPECT_TRUE(kernel().wait(1).empty());
}

// The mode can be read and set, and says what it is in this namespace only.
TEST_P(KernelQueries, CompatMode) {
  EXPECT_EQ(1, kernel().compat_mode().value());
  set_mode(0);
  EXPECT_EQ(0, kernel().compat_mode().value());
  EXPECT_EQ(1, make_world(GetParam())->kernel().compat_mode().value());
}

// Finding out what the kernel can do leaves nothing behind.
TEST_P(KernelQueries, CapabilitiesLeaveNothingBehind) {
  world_->foreign({add(with_protocol(blackhole(0xFFFFEFFF), kTheirs))});
  const Capabilities capabilities = kernel().capabilities();
  EXPECT_TRUE(capabilities.wide_weights);
  EXPECT_TRUE(capabilities.resilient_groups);
  EXPECT_TRUE(capabilities.encap_ip);
  EXPECT_TRUE(capabilities.encap_ip6);
  EXPECT_TRUE(capabilities.encap_seg6);
  EXPECT_FALSE(capabilities.release.empty());
  EXPECT_THAT(nexthops(), testing::ElementsAre("id 4294963199 v4 blackhole proto 186"));
}

}  // namespace
}  // namespace waypost::kernel_sync
