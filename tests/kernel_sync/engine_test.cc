#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/kernel_sync/engine_harness.h"

namespace waypost::kernel_sync {
namespace {

// Two nexthops, a group of both, one route each way: what most tests begin with.
void fill(EngineHarness& host) {
  put_nexthops(host);
  host.put(group(10, {1, 2}));
  host.put(route("10.1.0.0/16", 10));
  host.put(route("10.2.0.0/16", 1));
  host.put(route("2001:db8:1::/48", 3));
  host.commit_and_run();
  ASSERT_EQ(host.difference(), "");
  ASSERT_TRUE(host.engine->in_sync());
  host.take_steps();
}

// A device that is not there: pending, with the reason, and no step at all; the others are not held up. When
// it appears and its address is there, the rows are installed.
TEST(Engine, DeviceAppears) {
  EngineHarness host;
  fill(host);
  host.put(via(7, "10.9.0.2", "eth7"));
  host.put(route("10.3.0.0/16", 7));
  host.put(group(11, {1, 7}));
  host.put(route("10.4.0.0/16", 11));
  host.commit_and_run();
  EXPECT_TRUE(host.engine->in_sync());
  EXPECT_EQ(host.state(id(7)), RowState::kPending);
  EXPECT_EQ(host.reason(id(7)), "device eth7 does not exist");
  EXPECT_EQ(host.state(key("10.3.0.0/16")), RowState::kPending);
  EXPECT_EQ(host.state(id(11)), RowState::kDegraded);
  EXPECT_EQ(host.reason(id(11)), "degraded, 1 of 2 out: nexthop 7: device eth7 does not exist");
  EXPECT_EQ(host.take_steps(), "add group 11 1\nadd route 10.4.0.0/16 nhid 11\n");
  host.kernel.change([](FakeFib& fib) {
    fib.add_link("eth7", true, true);
    fib.add_address("eth7", Prefix{address("10.9.0.1"), 24});
  });
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.state(id(11)), RowState::kInstalled);
  EXPECT_EQ(host.take_steps(),
            "add nexthop 7 via 10.9.0.2 dev 4\nreplace group 11 1 7\nadd route 10.3.0.0/16 nhid 7\n");
}

// Link down takes nexthops, group members and IPv4 routes without a word (KERNEL.md K12); nothing comes back
// by itself when it is up again. All of it is right within the settling time, and the group keeps its other
// path throughout.
TEST(Engine, LinkDownAndUp) {
  EngineHarness host;
  fill(host);
  for (const bool carrier_only : {false, true}) {
    host.kernel.change(
        [&](FakeFib& fib) { carrier_only ? fib.set_carrier("e0", false) : fib.set_up("e0", false); });
    host.keep_reachable({key("10.1.0.0/16")});
    host.advance(200);
    EXPECT_EQ(host.difference(), "");
    EXPECT_EQ(host.state(id(1)), RowState::kPending);
    EXPECT_EQ(host.reason(id(1)), carrier_only ? "device e0 has no carrier" : "device e0 is down");
    EXPECT_EQ(host.state(id(10)), RowState::kDegraded);
    EXPECT_EQ(host.state(key("10.1.0.0/16")), RowState::kInstalled);
    EXPECT_EQ(host.state(key("10.2.0.0/16")), RowState::kPending);
    host.kernel.change([&](FakeFib& fib) {
      carrier_only ? fib.set_carrier("e0", true) : fib.set_up("e0", true);
      // IPv6 addresses go with the link.
      fib.add_address("e0", Prefix{address("2001:db8:70::1"), 64});
    });
    host.advance(200);
    EXPECT_EQ(host.difference(), "");
    EXPECT_EQ(host.state(key("10.2.0.0/16")), RowState::kInstalled);
    EXPECT_EQ(host.lost(), "");
  }
}

// Down and up again before anybody looked: the link is as it was, and all that was on it is gone without a
// word (KERNEL.md K12).
TEST(Engine, LinkFlapsUnseen) {
  EngineHarness host;
  fill(host);
  host.kernel.change([](FakeFib& fib) {
    fib.set_up("e0", false);
    fib.set_up("e0", true);
    fib.add_address("e0", Prefix{address("2001:db8:70::1"), 64});
  });
  ASSERT_FALSE(host.in_kernel(key("10.2.0.0/16")));
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.state(key("10.2.0.0/16")), RowState::kInstalled);
}

// A rename leaves the kernel's objects alone, and the rows that name the old device pending; deleting and
// making a device anew gives another index (KERNEL.md K13).
TEST(Engine, RenameDeleteRecreate) {
  EngineHarness host;
  fill(host);
  host.kernel.change([](FakeFib& fib) {
    fib.set_up("e0", false);
    fib.rename_link("e0", "east");
    fib.set_up("east", true);
  });
  host.advance(200);
  EXPECT_EQ(host.state(id(1)), RowState::kPending);
  EXPECT_EQ(host.reason(id(1)), "device e0 does not exist");
  EXPECT_EQ(host.difference(), "");
  host.kernel.change([](FakeFib& fib) {
    fib.add_link("e0", true, true);
    fib.remove_link("east");
    fib.add_address("e0", Prefix{address("10.7.0.1"), 24});
    fib.add_address("e0", Prefix{address("2001:db8:70::1"), 64});
  });
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.state(id(1)), RowState::kInstalled);
}

// In a fleet every gateway is an address somewhere. There the row is "local here": not installed, no error
// (SEMANTICS.md B3).
TEST(Engine, GatewayIsThisHost) {
  EngineHarness host;
  fill(host);
  host.kernel.change([](FakeFib& fib) { fib.add_address("e0", Prefix{address("10.7.0.2"), 24}); });
  host.keep_reachable({key("10.1.0.0/16")});
  host.advance(200);
  EXPECT_EQ(host.state(id(1)), RowState::kLocalHere);
  EXPECT_EQ(host.reason(id(1)), "10.7.0.2 is an address of this host");
  EXPECT_EQ(host.state(key("10.2.0.0/16")), RowState::kLocalHere);
  EXPECT_EQ(host.state(id(10)), RowState::kDegraded);
  EXPECT_EQ(host.difference(), "");
  EXPECT_TRUE(host.engine->in_sync());
  host.kernel.change([](FakeFib& fib) { fib.remove_address("e0", Prefix{address("10.7.0.2"), 24}); });
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.state(key("10.2.0.0/16")), RowState::kInstalled);
  EXPECT_EQ(host.lost(), "");
}

// A gateway without a device goes out of the connected route that covers it, and follows it when it moves
// (SEMANTICS.md A3).
TEST(Engine, ResolveHere) {
  EngineHarness host;
  NexthopObject here = via(0x80000001, "10.8.0.2", "");
  host.put(here);
  host.put(route("10.1.0.0/16", 0x80000001));
  host.commit_and_run();
  EXPECT_EQ(host.state(here.id), RowState::kPending);
  EXPECT_EQ(host.reason(here.id), "no connected route to 10.8.0.2");
  host.kernel.change([](FakeFib& fib) { fib.add_address("e1", Prefix{address("10.8.0.1"), 24}); });
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  ASSERT_NE(host.in_kernel(here.id), nullptr);
  EXPECT_EQ(host.in_kernel(here.id)->ifindex, host.ifindex("e1"));
  host.kernel.change([](FakeFib& fib) { fib.add_address("e0", Prefix{address("10.8.0.1"), 25}); });
  host.advance(200);
  EXPECT_EQ(host.in_kernel(here.id)->ifindex, host.ifindex("e0"));
  EXPECT_EQ(host.difference(), "");
}

// With on_pending = "unreachable" the prefix does not fall through to a less specific route while its nexthop
// is out.
TEST(Engine, UnreachableWhilePending) {
  EngineHarness host;
  host.options.unreachable_on_pending[kMainTable] = true;
  host.restart();
  fill(host);
  host.kernel.change([](FakeFib& fib) { fib.set_up("e0", false); });
  host.advance(200);
  auto row = host.in_kernel(key("10.2.0.0/16"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->route.type, RouteType::kUnreachable);
  EXPECT_EQ(host.state(key("10.2.0.0/16")), RowState::kPending);
  host.kernel.change([](FakeFib& fib) {
    fib.set_up("e0", true);
    fib.add_address("e0", Prefix{address("2001:db8:70::1"), 64});
  });
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.in_kernel(key("10.2.0.0/16"))->route.type, RouteType::kUnicast);
}

// Another owner's route or nexthop in our place is reported with its owner, never overwritten; when it goes,
// ours comes.
TEST(Engine, Conflicts) {
  EngineHarness host;
  Route theirs = route("10.5.0.0/16", 0);
  theirs.type = RouteType::kBlackhole;
  theirs.protocol = 4;
  host.foreign_put(theirs);
  NexthopObject their_nexthop = via(21, "10.7.0.9", "");
  host.foreign_put(their_nexthop, host.ifindex("e0"));
  fill(host);
  host.put(route("10.5.0.0/16", 1));
  host.put(via(21, "10.7.0.3", "e0"));
  host.put(route("10.6.0.0/16", 21));
  host.commit_and_run();
  EXPECT_TRUE(host.engine->in_sync());
  EXPECT_EQ(host.take_steps(), "");
  EXPECT_EQ(host.state(key("10.5.0.0/16")), RowState::kConflict);
  EXPECT_EQ(host.reason(key("10.5.0.0/16")), "route of proto 4 in the way");
  EXPECT_EQ(host.state(id(21)), RowState::kConflict);
  EXPECT_EQ(host.reason(id(21)), "nexthop id in conflict: taken by proto 4");
  EXPECT_EQ(host.state(key("10.6.0.0/16")), RowState::kPending);
  host.foreign_delete(theirs.key);
  host.foreign_delete(id(21));
  host.run();
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.state(key("10.6.0.0/16")), RowState::kInstalled);
}

// A foreign route that no event told of: the exclusive create is refused, and one question says whose it is.
TEST(Engine, UnseenConflict) {
  EngineHarness host;
  fill(host);
  Route theirs = route("10.5.0.0/16", 0);
  theirs.type = RouteType::kBlackhole;
  theirs.protocol = 4;
  host.foreign_put(theirs);
  host.kernel.wait(0);  // the event is lost
  host.put(route("10.5.0.0/16", 1));
  host.commit_and_run();
  EXPECT_EQ(host.state(key("10.5.0.0/16")), RowState::kConflict);
  EXPECT_EQ(host.in_kernel(theirs.key)->route.protocol, 4);
  EXPECT_TRUE(host.engine->in_sync());
}

// A static route of somebody else on our nexthop: the id stays as long as that route does (SEMANTICS.md B5).
TEST(Engine, HeldByForeignRoute) {
  EngineHarness host;
  fill(host);
  Route theirs = route("10.77.0.0/16", 1);
  theirs.protocol = 4;
  host.foreign_put(theirs);
  host.run();
  host.remove(key("10.1.0.0/16"));
  host.remove(key("10.2.0.0/16"));
  host.remove(id(10));
  host.remove(id(1));
  host.commit_and_run();
  EXPECT_NE(host.in_kernel(id(1)), nullptr);
  EXPECT_EQ(host.in_kernel(id(10)), nullptr);
  EXPECT_TRUE(host.in_kernel(theirs.key));
  EXPECT_EQ(host.state(id(1)), RowState::kConflict);
  EXPECT_EQ(host.reason(id(1)), "held by foreign route 10.77.0.0/16 proto 4");
  EXPECT_TRUE(host.engine->in_sync());
  host.foreign_delete(theirs.key);
  host.run();
  EXPECT_EQ(host.in_kernel(id(1)), nullptr);
  EXPECT_EQ(host.difference(), "");
}

// An id that becomes a group, or stops being one: through a scratch id, so that its routes never miss a beat
// (SEMANTICS.md B6).
TEST(Engine, KindChanges) {
  EngineHarness host;
  fill(host);
  host.keep_reachable({key("10.1.0.0/16"), key("10.2.0.0/16")});
  host.put(group(5, {2}));
  host.put(via(10, "10.7.1.9", "e1"));
  host.commit_and_run();
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.take_steps(),
            "add nexthop 4293918720 via 10.7.1.9 dev 3\n"
            "add group 5 2\n"
            "replace route 10.1.0.0/16 nhid 4293918720\n"
            "delete nexthop 10\n"
            "add nexthop 10 via 10.7.1.9 dev 3\n"
            "replace route 10.1.0.0/16 nhid 10\n"
            "delete nexthop 4293918720\n");
  host.put(group(10, {1, 2}));
  host.commit_and_run();
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.lost(), "");
  // Without routes there is nothing to keep: deleted and made anew.
  host.take_steps();
  host.put(via(5, "10.7.1.8", "e1"));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(), "delete nexthop 5\nadd nexthop 5 via 10.7.1.8 dev 3\n");
}

// The kernel refuses a blackhole as one of two members, and an IPv4 nexthop under IPv6 routes: what is in the
// way goes first.
TEST(Engine, ReplacesThatHaveToWait) {
  EngineHarness host;
  fill(host);
  host.keep_reachable({key("10.1.0.0/16"), key("10.2.0.0/16")});
  host.put(blackhole(1));
  host.put(group(10, {2}));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(), "replace group 10 2\nreplace nexthop 1 blackhole\n");
  EXPECT_EQ(host.state(key("10.2.0.0/16")), RowState::kInstalled);
  host.put(via(3, "10.7.0.3", "e0"));
  host.remove(key("2001:db8:1::/48"));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(), "delete route 2001:db8:1::/48\nreplace nexthop 3 via 10.7.0.3 dev 2\n");
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.lost(), "");
}

// Old owner numbers are ours too: adopted, and moved to the new one without a gap; groups through a scratch
// id, because a replace leaves a group's owner as it was (KERNEL.md K6, SEMANTICS.md B7).
TEST(Engine, OwnerNumberChanges) {
  EngineHarness host;
  char directory[] = "/tmp/waypost-owners-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  host.options.data_directory = directory;
  host.restart();
  fill(host);
  host.keep_reachable({key("10.1.0.0/16"), key("10.2.0.0/16"), key("2001:db8:1::/48")});
  host.options.protocol = 188;
  host.restart();
  host.run();
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.lost(), "");
  for (const auto& [nexthop, found] : host.kernel.fib().nexthops()) EXPECT_EQ(found.object.protocol, 188);
  std::filesystem::remove_all(directory);
}

// The kernel's words reach the row; the retry comes with a back-off, and at once when an address event can
// have cured it.
TEST(Engine, RefusedRows) {
  EngineHarness host;
  fill(host);
  Route bad = route("10.8.0.0/16", 1);
  bad.prefsrc = address("10.7.0.77");
  host.put(bad);
  host.put(via(31, "10.50.0.1", "e0"));
  host.put(route("10.9.0.0/16", 31));
  host.commit_and_run();
  EXPECT_TRUE(host.engine->in_sync());
  EXPECT_EQ(host.state(bad.key), RowState::kRefused);
  EXPECT_EQ(host.reason(bad.key), "Invalid prefsrc address");
  EXPECT_EQ(host.state(id(31)), RowState::kRefused);
  EXPECT_EQ(host.reason(id(31)), "Nexthop has invalid gateway");
  EXPECT_EQ(host.state(key("10.9.0.0/16")), RowState::kPending);
  host.take_steps();
  host.advance(60'000);
  const std::string retries = host.take_steps();
  EXPECT_LT(std::count(retries.begin(), retries.end(), '\n'), 16) << "more than a few retries in a minute";
  host.kernel.change([](FakeFib& fib) {
    fib.add_address("e0", Prefix{address("10.7.0.77"), 24});
    fib.add_address("e0", Prefix{address("10.50.0.2"), 24});
  });
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.state(bad.key), RowState::kInstalled);
  EXPECT_EQ(host.state(key("10.9.0.0/16")), RowState::kInstalled);
}

// A replace that the kernel will never take: what is there is not what the store says, so it goes, and
// traffic with it to the less specific route.
TEST(Engine, RefusedReplaceLeavesNothingStale) {
  EngineHarness host;
  fill(host);
  host.put(via(1, "10.60.0.1", "e0"));
  host.keep_reachable({key("10.1.0.0/16")});
  host.commit_and_run();
  EXPECT_EQ(host.state(id(1)), RowState::kRefused);
  EXPECT_EQ(host.state(id(10)), RowState::kDegraded);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.lost(), "");
}

// Someone deletes, flushes or changes what is ours: put back, counted, told.
TEST(Engine, DriftIsRepaired) {
  EngineHarness host;
  fill(host);
  host.foreign_delete(key("10.1.0.0/16"));
  host.foreign_delete(key("2001:db8:1::/48"));
  host.run();
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.engine->counters().repaired_routes, 2u);
  host.foreign_delete(id(1));  // takes 10.2.0.0/16 along without a word, and its place in the group
  host.run();
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.engine->counters().repaired_nexthops, 1u);
  NexthopObject changed = via(2, "10.7.1.77", "e1");
  changed.protocol = host.options.protocol;
  host.foreign_put(changed, host.ifindex("e1"));
  host.run();
  EXPECT_EQ(host.difference(), "");
  Route moved = route("10.2.0.0/16", 2);
  moved.protocol = host.options.protocol;
  host.foreign_put(moved);
  host.run();
  EXPECT_EQ(host.difference(), "");
}

// Who undoes a repair again and again is not fought: the repairs come further and further apart, and the
// status tells.
TEST(Engine, FightsAreDamped) {
  EngineHarness host;
  fill(host);
  for (int turn = 0; turn < 60; ++turn) {
    if (host.in_kernel(key("10.1.0.0/16"))) host.foreign_delete(key("10.1.0.0/16"));
    host.advance(1'000);
  }
  const std::string steps = host.take_steps();
  const auto repairs = std::count(steps.begin(), steps.end(), '\n');
  EXPECT_GE(repairs, 4);
  EXPECT_LE(repairs, 16);
  host.advance(400'000);
  EXPECT_EQ(host.difference(), "");
}

// Lost notifications: everything is looked at, everything is right again (KERNEL.md K16).
TEST(Engine, OverrunIsAnsweredByALook) {
  EngineHarness host;
  fill(host);
  host.kernel.faults.event_limit = 0;
  host.foreign_delete(key("10.1.0.0/16"));
  host.foreign_delete(id(3));
  host.kernel.change([](FakeFib& fib) {
    fib.set_up("e0", false);
    fib.set_up("e0", true);
    fib.add_address("e0", Prefix{address("2001:db8:70::1"), 64});
    fib.set_carrier("e1", false);
    fib.set_carrier("e1", true);
  });
  host.advance(200);
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.state(id(1)), RowState::kInstalled);
}

// Thousands of devices, one route: one question about one link, and no dump of all.
TEST(Engine, OneRouteAsksForOneLink) {
  EngineHarness host;
  host.kernel.change([](FakeFib& fib) {
    for (int index = 0; index < 2'000; ++index) fib.add_link("many" + std::to_string(index), true, true);
  });
  host.pump_events();
  const KernelCounters before = host.kernel.counters();
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(route("10.1.0.0/16", 1));
  host.commit_and_run();
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.kernel.counters().link_gets - before.link_gets, 1u);
  EXPECT_EQ(host.kernel.counters().link_dumps, before.link_dumps);
}

}  // namespace
}  // namespace waypost::kernel_sync
