#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernel_sync/engine_harness.h"

namespace waypost::kernel_sync {
namespace {

// One transaction with nexthops, a group and routes of both families: all in the kernel, in the order in
// which the kernel takes them, and not one step more.
TEST(Plan, UpInOrder) {
  EngineHarness host;
  host.put(route("10.1.0.0/16", 10));
  host.put(route("2001:db8:1::/48", 3));
  host.put(group(10, {1, 2}));
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(via(2, "10.7.1.2", "e1"));
  host.put(via(3, "2001:db8:70::2", "e0"));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(),
            "add nexthop 1 via 10.7.0.2 dev 2\n"
            "add nexthop 2 via 10.7.1.2 dev 3\n"
            "add nexthop 3 via 2001:db8:70::2 dev 2\n"
            "add group 10 1 2\n"
            "add route 10.1.0.0/16 nhid 10\n"
            "add route 2001:db8:1::/48 nhid 3\n");
  EXPECT_EQ(host.difference(), "");
  EXPECT_TRUE(host.engine->in_sync());
}

// Everything at once: new ones up first, then routes, shrinking groups, groups and nexthops down.
TEST(Plan, UpBeforeDown) {
  EngineHarness host;
  for (uint32_t nexthop = 1; nexthop <= 4; ++nexthop)
    host.put(via(nexthop, "10.7.0." + std::to_string(nexthop + 1), "e0"));
  host.put(group(10, {1, 2, 3}));
  host.put(group(11, {4}));
  host.put(route("10.1.0.0/16", 10));
  host.put(route("10.2.0.0/16", 11));
  host.put(route("10.3.0.0/16", 4));
  host.commit_and_run();
  host.take_steps();
  host.keep_reachable({key("10.1.0.0/16"), key("10.3.0.0/16")});
  host.put(via(5, "10.7.1.9", "e1"));
  host.put(group(12, {5, 1}));
  host.put(group(10, {1, 2}));
  host.put(route("10.3.0.0/16", 12));
  host.put(route("10.4.0.0/16", 5));
  host.remove(key("10.2.0.0/16"));
  host.remove(id(11));
  host.remove(id(4));
  host.remove(id(3));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(),
            "add nexthop 5 via 10.7.1.9 dev 3\n"
            "add group 12 5 1\n"
            "replace route 10.3.0.0/16 nhid 12\n"
            "add route 10.4.0.0/16 nhid 5\n"
            "delete route 10.2.0.0/16\n"
            "replace group 10 1 2\n"
            "delete nexthop 11\n"
            "delete nexthop 3\n"
            "delete nexthop 4\n");
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.lost(), "");
}

// The failover of many routes is one replace of the nexthop under them.
TEST(Plan, OneReplaceUnderManyRoutes) {
  EngineHarness host;
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(via(2, "10.7.1.2", "e1"));
  host.put(group(10, {1, 2}));
  for (int index = 0; index < 2'000; ++index)
    host.put(
        route("10." + std::to_string(64 + index / 256) + "." + std::to_string(index % 256) + ".0/24", 10));
  host.commit_and_run();
  host.take_steps();
  host.put(via(1, "10.7.0.3", "e0"));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(), "replace nexthop 1 via 10.7.0.3 dev 2\n");
}

// A nexthop in no group goes with one step and nothing else.
TEST(Plan, NexthopInNoGroup) {
  EngineHarness host;
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(via(2, "10.7.1.2", "e1"));
  host.put(group(10, {1}));
  host.commit_and_run();
  host.take_steps();
  host.remove(id(2));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(), "delete nexthop 2\n");
}

// Most routes of the table share a group that goes: one delete, after a dump has shown that no other owner's
// route uses it (KERNEL.md K10, SEMANTICS.md B5). Routes that are wanted elsewhere have moved before.
TEST(Plan, WithdrawalWithTheGroup) {
  EngineHarness host;
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(via(2, "10.7.1.2", "e1"));
  host.put(group(10, {1, 2}));
  auto nth = [](int index) {
    return route("10." + std::to_string(64 + index / 256) + "." + std::to_string(index % 256) + ".0/24", 10);
  };
  for (int index = 0; index < 20'000; ++index) host.put(nth(index));
  host.commit_and_run();
  host.take_steps();
  host.keep_reachable({nth(7).key});
  for (int index = 0; index < 20'000; ++index)
    if (index != 7) host.remove(nth(index).key);
  host.put(route("10.64.7.0/24", 1));
  host.remove(id(10));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(), "replace route 10.64.7.0/24 nhid 1\ndelete nexthop 10\n");
  EXPECT_EQ(host.difference(), "");
  EXPECT_EQ(host.lost(), "");
}

// The same, but a foreign route that no event told of uses the group: the dump finds it, the routes go one by
// one and the group stays.
TEST(Plan, WithdrawalHeldByAForeignRoute) {
  EngineHarness host;
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(group(10, {1}));
  auto nth = [](int index) {
    return route("10." + std::to_string(64 + index / 256) + "." + std::to_string(index % 256) + ".0/24", 10);
  };
  for (int index = 0; index < 20'000; ++index) host.put(nth(index));
  host.commit_and_run();
  Route theirs = route("172.16.0.0/12", 10);
  theirs.protocol = 4;
  host.foreign_put(theirs);
  host.kernel.wait(0);  // lost
  host.take_steps();
  for (int index = 0; index < 20'000; ++index) host.remove(nth(index).key);
  host.remove(id(10));
  host.commit_and_run();
  const std::string steps = host.take_steps();
  EXPECT_EQ(std::count(steps.begin(), steps.end(), '\n'), 20'000);
  EXPECT_TRUE(host.in_kernel(theirs.key));
  EXPECT_EQ(host.reason(id(10)), "held by foreign route 172.16.0.0/12 proto 4");
}

// At nexthop_compat_mode 1 a replace of a group costs a message per route: with many routes the member's own
// delete shrinks it (KERNEL.md K19, SEMANTICS.md B8). At mode 0 the group is shrunk first (K8).
TEST(Plan, ShrinkByCost) {
  for (const bool mode_one : {false, true}) {
    EngineHarness host;
    host.kernel.fib().compat_mode = 1;
    host.options.compat_mode = mode_one ? CompatModePolicy::kLeave : CompatModePolicy::kSetZero;
    host.restart();
    host.put(via(1, "10.7.0.2", "e0"));
    host.put(via(2, "10.7.1.2", "e1"));
    host.put(group(10, {1, 2}));
    for (int index = 0; index < 1'000; ++index)
      host.put(
          route("10." + std::to_string(64 + index / 256) + "." + std::to_string(index % 256) + ".0/24", 10));
    host.commit_and_run();
    host.take_steps();
    host.put(group(10, {1}));
    host.remove(id(2));
    host.commit_and_run();
    EXPECT_EQ(host.take_steps(), mode_one ? "delete nexthop 2\n" : "replace group 10 1\ndelete nexthop 2\n");
    EXPECT_EQ(host.difference(), "");
  }
}

}  // namespace
}  // namespace waypost::kernel_sync
