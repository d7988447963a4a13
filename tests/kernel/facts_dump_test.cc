// KERNEL.md's numbered facts K14 to K20: dumps, notifications and what they leave out.
#include "kernel_sync/netlink/encode.h"
#include "kernel_sync/netlink/netlink_kernel.h"
#include "kernel_sync/netlink/socket.h"
#include "tests/kernel/contract.h"

namespace waypost::kernel_sync {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class KernelDumpFacts : public KernelContract {
 protected:
  // Group 1000 over `members` nexthops of e0, and a route over it before another one.
  void add_large_group(uint32_t members) {
    std::vector<KernelStep> steps;
    std::vector<std::pair<uint32_t, uint16_t>> ids;
    for (uint32_t i = 0; i < members; ++i) {
      const uint32_t id = 2'000 + i;
      steps.push_back(add(via(id, "10.7.0.2", e0_)));
      ids.emplace_back(id, 1);
    }
    steps.push_back(add(group(1'000, ids)));
    steps.push_back(add(route(key("192.0.2.0/24", 0, 100), 1'000)));
    steps.push_back(add(route(key("192.0.3.0/24", 0, 100), 2'000)));
    ASSERT_EQ("ok", world_->run(steps));
  }
};
INSTANTIATE_TEST_SUITE_P(Contract, KernelDumpFacts, testing::Values(Engine::kReal, Engine::kFake), engine_of);

// A dump over a group of many members is complete, because the socket is primed.
TEST_P(KernelDumpFacts, K14LargeGroupsAreDumped) {
  set_mode(1);
  add_large_group(600);
  size_t seen = 0;
  EXPECT_EQ(DumpOutcome::kComplete,
            kernel().dump_routes(Family::kIpv4, TableId(100), [&](const KernelRoute&) { ++seen; }));
  EXPECT_EQ(2u, seen);
  EXPECT_EQ(601u, nexthops().size());
}

// The trap itself, on the running kernel: on a socket that has received nothing yet, the dump ends with
// success and without the route and all behind it.
TEST(RealKernelFacts, K14AnUnprimedSocketLosesRoutes) {
  const auto world = make_real_world();
  ASSERT_TRUE(world->kernel().set_compat_mode(1).ok());
  const uint32_t e0 = world->index("e0");
  std::vector<std::pair<uint32_t, uint16_t>> ids;
  std::vector<KernelStep> steps;
  for (uint32_t id = 1; id <= 300; ++id) {
    steps.push_back(add(via(id, "10.7.0.2", e0)));
    ids.emplace_back(id, 1);
  }
  steps.push_back(add(group(1'000, ids)));
  steps.push_back(add(route(key("192.0.2.0/24", 0, 100), 1'000)));
  steps.push_back(add(route(key("192.0.3.0/24", 0, 100), 1)));
  ASSERT_EQ("ok", world->run(steps));

  auto socket = std::move(netlink::Socket::open(0, 1u << 20)).value();
  std::vector<uint8_t> request;
  netlink::encode_dump_routes(Family::kIpv4, TableId(100), 1, request);
  ASSERT_EQ(0, socket.send(request));
  std::vector<uint8_t> reply;
  size_t routes = 0;
  bool done = false;
  while (!done) {
    const int got = socket.receive(reply);
    ASSERT_GT(got, 0);
    netlink::MessageReader reader({reply.data(), static_cast<size_t>(got)});
    netlink::Message message;
    while (reader.next(message)) {
      KernelRoute row;
      if (message.type >= 16 && netlink::decode_route(message, row) == netlink::Decoded::kOk) ++routes;
      if (message.type < 16) {
        done = true;
        EXPECT_EQ(0, netlink::decode_done(message).error);
      }
    }
  }
  EXPECT_EQ(0u, routes);
  size_t primed = 0;
  EXPECT_EQ(DumpOutcome::kComplete,
            world->kernel().dump_routes(Family::kIpv4, TableId(100), [&](const KernelRoute&) { ++primed; }));
  EXPECT_EQ(2u, primed);
}

// While routes come and go, a dump may miss one that was there throughout; a get of its key does not.
TEST_P(KernelDumpFacts, K15AGetConfirmsWhatADumpMissed) {
  add_nexthops();
  const RouteKey steady = key("20.0.100.0/24");
  ASSERT_EQ("ok", run(add(route(steady, 1))));
  const auto churn_step = [](uint32_t i, bool remove) {
    const RouteKey where{kMainTable, {IpAddress::v4(0x14000000 + ((i % 500) << 8)), 25}, 0, 0};
    return remove ? del(where) : put(route(where, 2, kTheirs));
  };
  for (uint32_t round = 0; round < 20; ++round) {
    std::vector<KernelStep> steps;
    for (uint32_t i = 0; i < 500; ++i) steps.push_back(churn_step(i, round % 2 == 1));
    world_->foreign(steps);
    kernel().dump_routes(Family::kIpv4, std::nullopt, [](const KernelRoute&) {});
    EXPECT_TRUE(has_route(steady));
  }
}

// An event queue that is too small says so, once, and the counter tells.
TEST_P(KernelDumpFacts, K16AnOverrunIsAnnounced) {
  world_->shrink_event_queue();
  std::vector<KernelStep> steps;
  for (uint32_t id = 1; id <= 500; ++id) steps.push_back(add(with_protocol(blackhole(id), kTheirs)));
  world_->foreign(steps);
  const std::vector<std::string> said = events();
  EXPECT_THAT(said, Contains("overrun"));
  EXPECT_LT(said.size(), 100u);
  EXPECT_EQ(1u, kernel().counters().overruns);
  world_->foreign({del(1)});
  EXPECT_THAT(events(), ElementsAre("deleted nexthop id 1 v4 blackhole proto 186"));
}

// Our own changes are not echoed, what they drag along included; other people's are.
TEST_P(KernelDumpFacts, K17NoEchoOfOurOwn) {
  set_mode(0);
  add_nexthops();
  ASSERT_EQ("ok", world_->run({add(group(20, {{1, 1}, {2, 1}})), add(route(key("192.0.2.0/24"), 20)),
                               put(route(key("192.0.2.0/24"), 1)), del(2), put(via(1, "10.7.0.3", e0_)),
                               del(key("192.0.2.0/24"))}));
  EXPECT_THAT(events(), IsEmpty());
  world_->foreign({add(route(key("192.0.2.0/24"), 1, kTheirs)), del(key("192.0.2.0/24"))});
  EXPECT_THAT(events(), ElementsAre("new route 192.0.2.0/24 type 1 nhid 1 proto 186",
                                    "deleted route 192.0.2.0/24 type 1 nhid 1 proto 186"));
}

// The IPv6 routes that go with one of our nexthops at mode 1 are announced without our port id: an echo that
// no filter knows.
TEST_P(KernelDumpFacts, K17Ipv6RoutesThatGoWithANexthopAreEchoed) {
  set_mode(1);
  add_nexthops();
  ASSERT_EQ("ok", run(add(route(key("2001:db8:1::/64"), 3))));
  ASSERT_EQ("ok", run(add(route(key("192.0.2.0/24"), 3))));
  ASSERT_EQ("ok", run(del(3)));
  EXPECT_THAT(events(), ElementsAre("deleted route 2001:db8:1::/64 type 1 nhid 3 proto 87"));
}

// A dump of one table holds that table; one of an absent table is empty and complete. Errors come with the
// kernel's words.
TEST_P(KernelDumpFacts, K18FilteredDumpsAndWords) {
  add_nexthops();
  ASSERT_EQ("ok", world_->run({add(route(key("192.0.2.0/24", 0, 100), 1)),
                               add(route(key("192.0.2.0/24", 0, 200), 2)),
                               add(route(key("2001:db8:1::/64", 0, 100), 3))}));
  std::vector<std::string> seen;
  const auto visit = [&](const KernelRoute& row) { seen.push_back(describe(row)); };
  EXPECT_EQ(DumpOutcome::kComplete, kernel().dump_routes(Family::kIpv4, TableId(100), visit));
  EXPECT_THAT(seen, ElementsAre("192.0.2.0/24 table 100 type 1 nhid 1 proto 87"));
  EXPECT_EQ(DumpOutcome::kComplete, kernel().dump_routes(Family::kIpv6, TableId(200), visit));
  EXPECT_EQ(DumpOutcome::kComplete, kernel().dump_routes(Family::kIpv4, TableId(300), visit));
  EXPECT_EQ(1u, seen.size());
  EXPECT_EQ("EINVAL Nexthop id does not exist", run(add(route(key("192.0.9.0/24"), 99))));
}

// At compat mode 1 a replaced nexthop or group announces every route that uses it, at 0 none; deleting a
// member announces none.
TEST_P(KernelDumpFacts, K19AReplaceAnnouncesItsRoutesAtModeOne) {
  for (const int mode : {1, 0}) {
    SCOPED_TRACE(mode);
    set_mode(mode);
    add_nexthops();
    ASSERT_EQ("ok", world_->run({add(group(20, {{1, 1}, {2, 1}})), add(route(key("192.0.2.0/24"), 20)),
                                 add(route(key("192.0.3.0/24"), 1)), add(group(21, {{3, 1}, {4, 1}})),
                                 add(route(key("2001:db8:1::/64"), 21))}));
    events();
    world_->foreign({put(via(1, "10.7.0.3", e0_))});
    std::vector<std::string> said = events();
    EXPECT_EQ(mode == 1 ? 3u : 1u, said.size()) << testing::PrintToString(said);
    world_->foreign({put(group(20, {{2, 1}, {1, 1}}))});
    EXPECT_EQ(mode == 1 ? 2u : 1u, events().size());
    world_->foreign({put(group(21, {{4, 1}, {3, 1}}))});
    EXPECT_EQ(mode == 1 ? 2u : 1u, events().size());
    world_->foreign({put(via(3, "2001:db8:70::3", e0_))});
    EXPECT_EQ(mode == 1 ? 2u : 1u, events().size());
    // Our own replace: the announcements carry our port id.
    ASSERT_EQ("ok", run(put(via(1, "10.7.0.4", e0_))));
    ASSERT_EQ("ok", run(put(group(21, {{3, 1}, {4, 1}}))));
    EXPECT_THAT(events(), IsEmpty());
    world_->foreign({del(2)});
    EXPECT_EQ(2u, events().size());
    ASSERT_EQ("ok", world_->run({del(1), del(3), del(4), del(10)}));
    events();
  }
}

// Deleting a nexthop takes other owners' IPv4 routes along, silently. Removing an address keeps routes by
// nexthop id, but for those that name it as their source, and those are announced.
TEST_P(KernelDumpFacts, K20WhatGoesAlong) {
  add_nexthops();
  KernelRoute sourced = route(key("192.0.4.0/24"), 1);
  sourced.route.prefsrc = address("10.7.0.1");
  world_->foreign({add(route(key("192.0.2.0/24"), 2, kTheirs))});
  ASSERT_EQ("ok", world_->run({add(route(key("192.0.3.0/24"), 1)), add(sourced)}));
  events();
  world_->foreign({del(2)});
  EXPECT_EQ(1u, events().size());
  EXPECT_FALSE(has_route(key("192.0.2.0/24")));
  world_->remove_address("e0", "10.7.0.1/24");
  EXPECT_TRUE(has_nexthop(1));
  EXPECT_THAT(routes(), ElementsAre("192.0.3.0/24 type 1 nhid 1 proto 87"));
  EXPECT_THAT(events(), Contains("deleted route 192.0.4.0/24 type 1 nhid 1 proto 87 src 10.7.0.1"));
}

}  // namespace
}  // namespace waypost::kernel_sync
