// KERNEL.md's seventy cases, as far as they are about the kernel and can be said in steps: what it answers,
// in both worlds. Numbers in the traces are the cases'. What `ip` itself refuses, and what only bytes can ask
// for, is in raw_cases_test.cc and tests/cli.
#include "tests/kernel/contract.h"

namespace waypost::kernel_sync {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

struct Case {
  const char* number;
  KernelStep step;
  const char* answer;
};

class KernelCases : public KernelContract {
 protected:
  void try_all(const std::vector<Case>& cases) {
    for (const Case& one : cases) EXPECT_EQ(one.answer, run(one.step)) << "case " << one.number;
  }
};
INSTANTIATE_TEST_SUITE_P(Contract, KernelCases, testing::Values(Engine::kReal, Engine::kFake), engine_of);

constexpr const char* kTaken = "EEXIST File exists";
constexpr const char* kBadGateway = "EINVAL Nexthop has invalid gateway";
constexpr const char* kNoGateway = "ENETUNREACH Nexthop has invalid gateway";

// Cases 1 to 22: single nexthops.
TEST_P(KernelCases, SingleNexthops) {
  add_nexthops();
  KernelNexthop blackhole_on_device = blackhole(20);
  blackhole_on_device.ifindex = e0_;
  KernelNexthop onlink_alone = on_device(20, e0_);
  std::get<Nexthop>(onlink_alone.object.body).onlink = true;
  try_all({
      {"1", del(77), "ENOENT No such file or directory"},
      {"1", del(0), "EINVAL Invalid nexthop id"},
      {"3", add(via(20, "10.7.0.9", 0)),
       "EINVAL Device attribute required for non-blackhole and non-fdb nexthops"},
      {"4", add(via(20, "192.0.2.1", e0_)), kNoGateway},
      {"5", add(via(20, "192.0.2.1", e0_, true)), "ok"},
      {"6", add(via(21, "10.7.0.1", e0_)), "ok"},
      {"6, other device", add(via(22, "10.7.1.1", e0_)), kNoGateway},
      {"6, v6", add(via(22, "2001:db8:70::1", e0_)), "EINVAL Gateway can not be a local address"},
      {"7, broadcast", add(via(22, "10.7.0.255", e0_)), kBadGateway},
      {"7, multicast", add(via(22, "224.0.0.1", e0_)), kNoGateway},
      {"7, multicast onlink", add(via(22, "224.0.0.1", e0_, true)), kBadGateway},
      {"5, own address onlink", add(via(22, "10.7.0.1", e0_, true)), kBadGateway},
      {"8", add(on_device(22, e0_)), "ok"},
      {"9", add(via(23, "2001:db8:ffff::1", e0_)), "EHOSTUNREACH No route to host"},
      {"10", add(via(23, "ff02::1", e0_)), "EINVAL Invalid gateway address"},
      {"11, identical", add(via(1, "10.7.0.2", e0_)), kTaken},
      {"11, other", add(via(1, "10.7.0.3", e0_)), kTaken},
      {"12", put(via(23, "10.7.0.3", e0_)), "ok"},
      {"15", add(blackhole(24)), "ok"},
      {"15, with device", add(blackhole_on_device),
       "EINVAL Blackhole attribute can not be used with gateway, oif, encap or fdb"},
      {"16", add(on_device(25, 999)), "EINVAL Invalid device index"},
      {"19", add(on_device(25, 1)), "ok"},
      {"19, v6", add(on_device(26, 1, Family::kIpv6)), "ok"},
      {"20", put(via(1, "2001:db8:70::2", e0_)), "ok"},
      {"22", add(on_device(4294967295, e0_)), "ok"},
      {"onlink without gateway", add(onlink_alone),
       "EINVAL ONLINK flag can not be set for nexthop without a gateway"},
  });
  EXPECT_EQ(13u, nexthops().size());
}

// Cases 17 and 18: a device that cannot carry.
TEST_P(KernelCases, DevicesThatCannotCarry) {
  world_->set_carrier("e0", false);
  const char* no_carrier = "ENETDOWN Carrier for nexthop device is down";
  try_all({{"18", add(on_device(20, e0_)), no_carrier},
           {"18", add(via(20, "10.7.0.2", e0_)), no_carrier},
           {"18, v6", add(via(20, "2001:db8:70::2", e0_)), no_carrier}});
  world_->set_up("e0", false);
  const char* down = "ENETDOWN Nexthop device is not up";
  try_all({{"17", add(on_device(20, e0_)), down},
           {"17", add(via(20, "10.7.0.2", e0_)), down},
           {"17, v6", add(via(20, "2001:db8:70::2", e0_, true)), down}});
}

// Cases 23 to 38: groups, and who may use them.
TEST_P(KernelCases, Groups) {
  add_nexthops();
  const char* nested = "EINVAL Hash-threshold group can not be a nexthop within a group";
  const char* not_v4 = "EINVAL IPv6 routes can not use an IPv4 nexthop";
  try_all({
      {"23", add(group(20, {{99, 1}})), "EINVAL Invalid nexthop id"},
      {"24", add(group(20, {{1, 1}, {1, 1}})), "EINVAL Nexthop id can not be used twice in a group"},
      {"25", add(group(20, {{1, 1}, {10, 1}})),
       "EINVAL Blackhole nexthop can not be used in a group with more than 1 path"},
      {"26", add(group(20, {{10, 1}})), "ok"},
      {"27", add(group(21, {{1, 1}, {2, 1}})), "ok"},
      {"27", add(group(22, {{21, 1}})), nested},
      {"27", add(group(22, {{1, 1}, {21, 1}})), nested},
      {"28", put(group(1, {{2, 1}})), "EINVAL Can not replace a nexthop with a nexthop group."},
      {"28", put(via(21, "10.7.0.2", e0_)), "EINVAL Can not replace a nexthop group with a nexthop."},
      {"29", put(blackhole(1)),
       "EINVAL Blackhole nexthop can not be a member of a group with more than one path"},
      {"32", add(group(22, {{1, 256}, {2, 257}})), "ok"},
      {"32", put(group(22, {{1, 65535}, {2, 1}})), "ok"},
      {"35", add(group(23, {{1, 1}, {3, 1}})), "ok"},
      {"36", add(route(key("192.0.2.0/24"), 3)), "ok"},
      {"36", add(route(key("192.0.3.0/24"), 23)), "ok"},
      {"37", add(route(key("2001:db8:1::/64"), 1)), not_v4},
      {"37", add(route(key("2001:db8:1::/64"), 21)), not_v4},
      {"37", add(route(key("2001:db8:1::/64"), 23)), not_v4},
      {"38", add(route(key("2001:db8:1::/64"), 3)), "ok"},
      {"38", put(via(3, "10.7.0.2", e0_)), not_v4},
      {"38, in a group", add(group(24, {{4, 1}})), "ok"},
      {"38, in a group", add(route(key("2001:db8:2::/64"), 24)), "ok"},
      {"38, a group gets a v4 member", put(group(24, {{4, 1}, {1, 1}})), not_v4},
      {"38, a member becomes v4", put(via(4, "10.7.1.2", e1_)), not_v4},
  });
}

// Cases 39 to 56: routes.
TEST_P(KernelCases, Routes) {
  add_nexthops();
  KernelRoute both = route(key("192.0.2.0/24"), 1);
  both.paths = {{e0_, std::nullopt, 1, 0}};
  KernelRoute host_scope = route(key("192.0.2.0/24"), 1);
  host_scope.route.scope = kScopeHost;
  KernelRoute bad_source = route(key("192.0.2.0/24"), 1);
  bad_source.route.prefsrc = address("198.18.0.1");
  KernelRoute bad_source6 = route(key("2001:db8:1::/64"), 3);
  bad_source6.route.prefsrc = address("2001:db8:9::9");
  KernelRoute source = route(key("192.0.9.0/24"), 1);
  source.route.prefsrc = address("10.7.1.1");
  const char* gone = "ESRCH No such process";
  try_all({
      {"39", add(route(key("192.0.2.0/24"), 99)), "EINVAL Nexthop id does not exist"},
      {"39, v6", add(route(key("2001:db8:1::/64"), 99)), "EINVAL Nexthop id does not exist"},
      {"40", add(both), "EINVAL Nexthop specification and nexthop id are mutually exclusive"},
      {"41", add(host_scope), "EINVAL Route with host scope can not have a gateway"},
      {"42", add(route(key("192.0.2.0/24"), 1)), "ok"},
      {"42", add(route(key("192.0.2.0/24"), 1)), kTaken},
      {"42", add(route(key("192.0.2.0/24"), 2)), kTaken},
      {"45", del(key("192.0.2.0/24"), 2), gone},
      {"45, absent nexthop", del(key("192.0.2.0/24"), 99), "EINVAL Nexthop id does not exist"},
      {"46", del(key("192.0.2.0/24")), "ok"},
      {"46", del(key("192.0.2.0/24")), gone},
      {"no such table", del(key("192.0.2.0/24", 0, 777)), "ESRCH FIB table does not exist"},
      {"54", add(route(key("192.0.2.0/24", 0, 4294967295), 1)), "ok"},
      {"55", add(error_route(key("192.0.4.0/24"), RouteType::kBlackhole, 1)), "ok"},
      {"55, v6", add(error_route(key("2001:db8:4::/64"), RouteType::kUnreachable, 3)), "ok"},
      {"56", add(bad_source), "EINVAL Invalid prefsrc address"},
      {"56, v6", add(bad_source6), "EINVAL Invalid source address"},
      {"56, local", add(source), "ok"},
      {"error types", add(error_route(key("192.0.5.0/24"), RouteType::kThrow)), "ok"},
      {"error types", add(error_route(key("192.0.6.0/24"), RouteType::kProhibit)), "ok"},
      {"error types, v6", add(error_route(key("2001:db8:6::/64"), RouteType::kThrow)), "ok"},
      {"host route", add(route(key("192.0.7.1/32"), 1)), "ok"},
      {"default", add(route(key("0.0.0.0/0"), 1)), "ok"},
      {"default, v6", add(route(key("::/0"), 3)), "ok"},
      {"over a blackhole", add(route(key("192.0.8.0/24"), 10)), "ok"},
  });
  // The route over the blackhole nexthop reads back as a blackhole.
  EXPECT_THAT(
      routes(),
      ElementsAre("0.0.0.0/0 type 1 nhid 1 proto 87", "192.0.2.0/24 table 4294967295 type 1 nhid 1 proto 87",
                  "192.0.4.0/24 type 6 nhid 1 proto 87", "192.0.5.0/24 type 9 proto 87",
                  "192.0.6.0/24 type 8 proto 87", "192.0.7.1/32 type 1 nhid 1 proto 87",
                  "192.0.8.0/24 type 6 nhid 10 proto 87", "192.0.9.0/24 type 1 nhid 1 proto 87 src 10.7.1.1",
                  "2001:db8:4::/64 type 7 nhid 3 proto 87", "2001:db8:6::/64 type 9 proto 87",
                  "::/0 type 1 nhid 3 proto 87"));
  ASSERT_EQ("ok", world_->run({del(1), del(3), del(10)}));  // 55: they go with it
  EXPECT_THAT(routes(), ElementsAre("192.0.5.0/24 type 9 proto 87", "192.0.6.0/24 type 8 proto 87",
                                    "2001:db8:6::/64 type 9 proto 87"));
}

// Cases 43, 44 and 46: IPv4 twins of one key, which somebody appended.
TEST_P(KernelCases, AppendedTwins) {
  add_nexthops();
  const RouteKey twins = key("192.0.2.0/24");
  ASSERT_EQ("ok", run(add(route(twins, 1))));
  ASSERT_EQ("ok", world_->foreign_append(route(twins, 2, kTheirs)));
  ASSERT_EQ("ok", run(put(route(twins, 1))));  // it is there already, as the first
  EXPECT_THAT(routes(),
              ElementsAre("192.0.2.0/24 type 1 nhid 1 proto 87", "192.0.2.0/24 type 1 nhid 2 proto 186"));
  // The first cannot become what the second already is.
  EXPECT_EQ(kTaken, run(put(route(twins, 2, kTheirs))));
  ASSERT_EQ("ok", run(put(route(twins, 2))));  // 44: replaces the first only
  EXPECT_THAT(routes(),
              ElementsAre("192.0.2.0/24 type 1 nhid 2 proto 186", "192.0.2.0/24 type 1 nhid 2 proto 87"));
  EXPECT_EQ(kOurs, kernel().get_route(twins).value()->route.protocol);
  DeleteKernelRoute theirs{twins, std::nullopt, kTheirs, {}};
  EXPECT_EQ("ok", run(theirs));
  EXPECT_EQ("ok", run(del(twins)));
  EXPECT_EQ("ESRCH No such process", run(del(twins)));
}

// Case 47, and what follows from it: metric 0 means "any" to an IPv4 delete, although it is a metric of its
// own. So a delete of a row of metric 0 that is already gone hits the next one, unless protocol or nexthop
// tell them apart.
TEST_P(KernelCases, DeleteWithoutMetric) {
  add_nexthops();
  ASSERT_EQ("ok",
            world_->run({add(route(key("192.0.2.0/24", 20), 1)), add(route(key("192.0.2.0/24", 10), 2))}));
  EXPECT_EQ("ESRCH No such process", run(del(key("192.0.2.0/24", 30))));
  EXPECT_EQ("ok", run(del(key("192.0.2.0/24"))));
  EXPECT_THAT(routes(), ElementsAre("192.0.2.0/24 metric 20 type 1 nhid 1 proto 87"));
  EXPECT_EQ("ESRCH No such process", run(del(key("192.0.2.0/24"), 2)));
}

// Case 52: classic IPv6 paths of one key.
TEST_P(KernelCases, ClassicIpv6Paths) {
  const RouteKey where = key("2001:db8:1::/64");
  const auto one = classic(where, {{e0_, address("2001:db8:70::2"), 1, 0}});
  const auto other = classic(where, {{e1_, address("2001:db8:71::2"), 1, 0}});
  ASSERT_EQ("ok", run(add(one)));
  EXPECT_EQ(kTaken, run(add(other)));
  EXPECT_EQ("ok", world_->foreign_append(other));
  const auto found = kernel().get_route(where).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(2u, found->paths.size());
}

// Case 58, the classic part: after carrier loss and admin down a multipath route stays, with flags, and
// single paths tell.
TEST_P(KernelCases, ClassicRoutesOnDeadLinks) {
  const RouteKey many = key("192.0.2.0/24");
  const RouteKey single = key("192.0.3.0/24");
  ASSERT_EQ(
      "ok",
      world_->run({add(classic(many, {{e0_, address("10.7.0.2"), 3, 0}, {e1_, address("10.7.1.2"), 1, 0}})),
                   add(classic(single, {{e0_, address("10.7.0.2"), 1, 0}}))}));
  const std::string e0 = std::to_string(e0_);
  const std::string tail = " via 10.7.1.2 dev " + std::to_string(e1_) + " proto 186";
  const std::string begin = "192.0.2.0/24 type 1 via 10.7.0.2 dev " + e0 + " weight 3";
  world_->set_carrier("e0", false);
  EXPECT_THAT(routes(), ElementsAre(begin + " linkdown" + tail,
                                    "192.0.3.0/24 type 1 via 10.7.0.2 dev " + e0 + " linkdown proto 186"));
  world_->set_carrier("e0", true);
  EXPECT_THAT(routes(),
              ElementsAre(begin + tail, "192.0.3.0/24 type 1 via 10.7.0.2 dev " + e0 + " proto 186"));
  world_->set_up("e0", false);
  EXPECT_THAT(routes(), ElementsAre(begin + " dead linkdown" + tail));
  world_->set_up("e0", true);
  EXPECT_THAT(routes(), ElementsAre(begin + tail));
  world_->remove_link("e1");
  world_->remove_link("e0");
  EXPECT_THAT(routes(), IsEmpty());
}

// Cases 62 and 63: resilient groups.
TEST_P(KernelCases, ResilientGroups) {
  add_nexthops();
  KernelNexthop timers = resilient(20, {1}, 0);
  std::get<NexthopGroup>(timers.object.body).resilient.idle_timer_cs = 500;
  try_all({
      {"62, no buckets", add(resilient(20, {1, 2}, 0)),
       "EINVAL Number of buckets not specified for nexthop group insertion"},
      {"62, 1 for 2 members", add(resilient(20, {1, 2}, 1)), "ok"},
      {"62, 65535", add(resilient(21, {1, 2}, 65535)), "ok"},
      {"63", put(resilient(20, {1, 2}, 2)),
       "EINVAL Can not change number of buckets of a resilient nexthop group."},
      {"63", put(timers), "ok"},
      {"27", add(group(22, {{20, 1}})), "EINVAL Resilient group can not be a nexthop within a group"},
      {"route", add(route(key("192.0.2.0/24"), 20)), "ok"},
  });
  EXPECT_THAT(nexthops(), Contains("id 20 group 1 buckets 1 idle 500 unbalanced 0 proto 87"));
}

// Cases 64 and 65: nexthops of a bridge's forwarding database.
TEST_P(KernelCases, FdbNexthops) {
  add_nexthops();
  KernelNexthop on_dev = fdb(20, "10.7.0.2");
  on_dev.ifindex = e0_;
  KernelNexthop fdb_group = group(30, {{20, 1}, {21, 1}});
  std::get<NexthopGroup>(fdb_group.object.body).fdb = true;
  KernelNexthop wrong_group = group(31, {{1, 1}});
  std::get<NexthopGroup>(wrong_group.object.body).fdb = true;
  KernelNexthop mixed_group = group(31, {{20, 1}, {22, 1}});
  std::get<NexthopGroup>(mixed_group.object.body).fdb = true;
  const char* no_route = "EINVAL Route cannot point to a fdb nexthop";
  try_all({
      {"64", add(on_dev), "EINVAL Fdb attribute can not be used with encap, oif or blackhole"},
      {"64", add(fdb(20, "10.7.0.2")), "ok"},
      {"64", add(fdb(21, "10.9.9.9")), "ok"},
      {"64, v6", add(fdb(22, "2001:db8::1")), "ok"},
      {"64", add(fdb_group), "ok"},
      {"64", add(wrong_group), "EINVAL FDB nexthop group can only have fdb nexthops"},
      {"64", add(mixed_group), "EINVAL FDB nexthop group cannot have mixed family nexthops"},
      {"64", add(group(31, {{20, 1}})), "EINVAL Non FDB nexthop group cannot have fdb nexthops"},
      {"64", put(via(20, "10.7.0.2", e0_)), "EINVAL Cannot change nexthop FDB status while in a group"},
      {"65", add(route(key("192.0.2.0/24"), 20)), no_route},
      {"65", add(route(key("192.0.2.0/24"), 30)), no_route},
      {"65, v6", add(route(key("2001:db8:1::/64"), 22)), no_route},
  });
}

// Case 70's better half: a failed step in a batch stops none behind it, and each failure is told with its
// place.
TEST_P(KernelCases, AFailedStepStopsNoOther) {
  std::vector<KernelStep> steps;
  for (uint32_t i = 0; i < 3'000; ++i) {
    steps.push_back(i % 3 == 0 ? add(via(i + 1, "192.0.2.1", e0_)) : add(blackhole(i + 1)));
  }
  const BatchOutcome outcome = kernel().execute(steps);
  ASSERT_TRUE(outcome.transport.ok());
  EXPECT_EQ(3'000u, outcome.executed);
  ASSERT_EQ(1'000u, outcome.failures.size());
  for (size_t i = 0; i < 1'000; ++i) {
    EXPECT_EQ(3 * i, outcome.failures[i].index);
    EXPECT_EQ(kNoGateway, answer_text(outcome.failures[i].error, outcome.failures[i].words));
  }
  EXPECT_EQ(2'000u, nexthops().size());
  EXPECT_EQ(3u, kernel().counters().batches);
  EXPECT_EQ(3'000u, kernel().counters().messages_sent);
}

}  // namespace
}  // namespace waypost::kernel_sync
