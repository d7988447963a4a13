// KERNEL.md's numbered facts K1 to K13, each confirmed in both worlds by a test of its name.
#include <algorithm>

#include "tests/kernel/contract.h"

namespace waypost::kernel_sync {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class KernelFacts : public KernelContract {};
INSTANTIATE_TEST_SUITE_P(Contract, KernelFacts, testing::Values(Engine::kReal, Engine::kFake), engine_of);

// One id space for single nexthops and groups, both families and every owner.
TEST_P(KernelFacts, K01OneIdSpace) {
  add_nexthops();
  EXPECT_EQ("EEXIST File exists", run(add(via(1, "2001:db8:70::2", e0_))));
  EXPECT_EQ("EEXIST File exists", run(add(group(1, {{2, 1}}))));
  EXPECT_EQ("EEXIST File exists", run(add(with_protocol(blackhole(1), kTheirs))));
  EXPECT_EQ("ok", run(add(blackhole(4294967295))));
  EXPECT_THAT(nexthops(), Contains("id 4294967295 v4 blackhole proto 87"));
}

// A route is named by family, table, prefix, tos and metric; its owner, type and nexthop are not part of the
// name.
TEST_P(KernelFacts, K02TheKeyOfARoute) {
  add_nexthops();
  const std::string taken = "EEXIST File exists";
  ASSERT_EQ("ok", run(add(route(key("192.0.2.0/24"), 1))));
  EXPECT_EQ(taken, run(add(route(key("192.0.2.0/24"), 2, kTheirs))));
  EXPECT_EQ(taken, run(add(error_route(key("192.0.2.0/24"), RouteType::kUnreachable))));
  EXPECT_EQ("ok", run(add(route(key("192.0.2.0/24", 5), 1))));
  EXPECT_EQ("ok", run(add(route(key("192.0.2.0/24", 0, 254, 16), 1))));
  EXPECT_EQ("ok", run(add(route(key("192.0.2.0/24", 0, 4294967295), 1))));
  EXPECT_EQ("ok", run(add(route(key("2001:db8:1::/64"), 3))));
  EXPECT_EQ(taken, run(add(error_route(key("2001:db8:1::/64"), RouteType::kProhibit))));
  EXPECT_EQ("ok", run(add(route(key("2001:db8:1::/64", 5), 3))));
  EXPECT_EQ("EINVAL Invalid dsfield (tos): ECN bits must be 0",
            run(add(route(key("192.0.2.0/24", 0, 254, 1), 1))));
  EXPECT_EQ("EINVAL Invalid prefix for given prefix length", run(add(route(key("192.0.2.1/24"), 1))));
  // IPv6 masks the bits behind the length, and its metric 0 is 1024.
  RouteKey unnamed = key("2001:db8:2::1/64");
  unnamed.metric = 0;
  EXPECT_EQ("ok", run(add(route(unnamed, 3))));
  EXPECT_TRUE(has_route(key("2001:db8:2::/64", 1024)));
  // Table 0 is main.
  EXPECT_EQ("ok", run(add(route(key("198.51.100.0/24", 0, 0), 1))));
  EXPECT_TRUE(has_route(key("198.51.100.0/24")));
  EXPECT_THAT(
      routes(),
      ElementsAre("192.0.2.0/24 metric 5 type 1 nhid 1 proto 87",
                  "192.0.2.0/24 table 4294967295 type 1 nhid 1 proto 87",
                  "192.0.2.0/24 tos 0x10 type 1 nhid 1 proto 87", "192.0.2.0/24 type 1 nhid 1 proto 87",
                  "198.51.100.0/24 type 1 nhid 1 proto 87", "2001:db8:1::/64 metric 5 type 1 nhid 3 proto 87",
                  "2001:db8:1::/64 type 1 nhid 3 proto 87", "2001:db8:2::/64 type 1 nhid 3 proto 87"));
}

// What an id is, it stays.
TEST_P(KernelFacts, K03NoChangeOfKind) {
  add_nexthops();
  ASSERT_EQ("ok", run(add(group(20, {{1, 1}, {2, 1}}))));
  ASSERT_EQ("ok", run(add(resilient(30, {1, 2}, 8))));
  EXPECT_EQ("EINVAL Can not replace a nexthop with a nexthop group.", run(put(group(1, {{2, 1}}))));
  EXPECT_EQ("EINVAL Can not replace a nexthop group with a nexthop.", run(put(blackhole(20))));
  EXPECT_EQ("EINVAL Can not replace a nexthop group with one of a different type.",
            run(put(resilient(20, {1, 2}, 8))));
  EXPECT_EQ("EINVAL Can not replace a nexthop group with one of a different type.",
            run(put(group(30, {{1, 1}, {2, 1}}))));
  EXPECT_EQ("EINVAL Can not change number of buckets of a resilient nexthop group.",
            run(put(resilient(30, {1, 2}, 16))));
  EXPECT_EQ("EINVAL Blackhole nexthop can not be a member of a group with more than one path",
            run(put(blackhole(1))));
  EXPECT_EQ("ok", run(put(resilient(30, {2}, 0))));
  EXPECT_THAT(nexthops(), Contains("id 30 group 2 buckets 8 idle 12000 unbalanced 0 proto 87"));
}

// What a group may hold, and with what weight.
TEST_P(KernelFacts, K04WhatAGroupMayHold) {
  add_nexthops();
  ASSERT_EQ("ok", run(add(group(20, {{1, 1}, {2, 65535}}))));
  EXPECT_EQ("EINVAL Hash-threshold group can not be a nexthop within a group",
            run(add(group(21, {{20, 1}}))));
  EXPECT_EQ("EINVAL Nexthop id can not be used twice in a group", run(add(group(21, {{1, 1}, {1, 2}}))));
  EXPECT_EQ("EINVAL Invalid length for nexthop group attribute", run(add(group(21, {}))));
  EXPECT_EQ("EINVAL Blackhole nexthop can not be used in a group with more than 1 path",
            run(add(group(21, {{1, 1}, {10, 1}}))));
  EXPECT_EQ("EINVAL Invalid nexthop id", run(add(group(21, {{1, 1}, {99, 1}}))));
  EXPECT_EQ("ok", run(add(group(21, {{10, 300}}))));
  ASSERT_EQ("ok", run(add(via(5, "10.7.0.2", e0_))));
  EXPECT_EQ("ok", run(add(group(22, {{1, 1}, {5, 1}}))));
  EXPECT_THAT(nexthops(), Contains("id 20 group 1 2,65535 proto 87"));
  EXPECT_THAT(nexthops(), Contains("id 21 group 10,300 proto 87"));
  EXPECT_TRUE(kernel().capabilities().wide_weights);
}

// Where a gateway must be.
TEST_P(KernelFacts, K05WhereAGatewayMustBe) {
  add_nexthops();
  EXPECT_EQ("ENETUNREACH Nexthop has invalid gateway", run(add(via(20, "10.8.0.2", e0_))));
  EXPECT_EQ("ENETUNREACH Nexthop has invalid gateway", run(add(via(20, "10.7.1.2", e0_))));
  EXPECT_EQ("ok", run(add(via(20, "10.8.0.2", e0_, true))));
  EXPECT_EQ("EHOSTUNREACH No route to host", run(add(via(21, "2001:db8:99::2", e0_))));
  EXPECT_EQ("ok", run(add(via(21, "2001:db8:99::2", e0_, true))));
  EXPECT_EQ("ok", run(add(via(22, "10.7.0.1", e0_))));  // an own address: IPv4 takes it
  EXPECT_EQ("EINVAL Gateway can not be a local address", run(add(via(23, "2001:db8:70::1", e0_))));
  EXPECT_EQ("EINVAL Gateway can not be a local address", run(add(via(23, "2001:db8:71::1", e0_))));
  EXPECT_EQ("ok", run(add(via(24, "fe80::1", e0_))));
  EXPECT_EQ("EINVAL Device attribute required for non-blackhole and non-fdb nexthops",
            run(add(via(25, "fe80::1", 0))));
  // IPv4 routes may use IPv6 gateways, not the other way round.
  EXPECT_EQ("ok", run(add(route(key("192.0.2.0/24"), 3))));
  EXPECT_EQ("EINVAL IPv6 routes can not use an IPv4 nexthop", run(add(route(key("2001:db8:1::/64"), 1))));
  EXPECT_EQ("EINVAL IPv6 routes can not use an IPv4 nexthop", run(add(route(key("2001:db8:1::/64"), 10))));
}

// The owner of a single nexthop is the last writer, that of a group the first.
TEST_P(KernelFacts, K06WhoOwnsAReplacedObject) {
  add_nexthops();
  ASSERT_EQ("ok", run(add(group(20, {{1, 1}}))));
  ASSERT_EQ("ok", run(put(with_protocol(via(1, "10.7.0.3", e0_), kTheirs))));
  ASSERT_EQ("ok", run(put(with_protocol(group(20, {{1, 2}}), kTheirs))));
  EXPECT_THAT(nexthops(), Contains("id 1 v4 via 10.7.0.3 dev " + std::to_string(e0_) + " proto 186"));
  EXPECT_THAT(nexthops(), Contains("id 20 group 1,2 proto 87"));
}

// A put creates or overwrites, whoever owns what is there.
TEST_P(KernelFacts, K07PutOverwritesAnyOwner) {
  EXPECT_EQ("ok", run(put(via(1, "10.7.0.2", e0_))));
  world_->foreign(
      {put(with_protocol(via(2, "10.7.1.2", e1_), kTheirs)), put(route(key("192.0.2.0/24"), 2, kTheirs))});
  EXPECT_EQ("ok", run(put(via(2, "10.7.1.3", e1_))));
  EXPECT_EQ("ok", run(put(route(key("192.0.2.0/24"), 1))));
  EXPECT_THAT(nexthops(), Contains("id 2 v4 via 10.7.1.3 dev " + std::to_string(e1_) + " proto 87"));
  EXPECT_THAT(routes(), ElementsAre("192.0.2.0/24 type 1 nhid 1 proto 87"));
}

// A deleted nexthop leaves each of its groups, and each such group is announced; one that left before costs
// nothing.
TEST_P(KernelFacts, K08DeletingAMemberTouchesItsGroups) {
  add_nexthops();
  ASSERT_EQ("ok", run(add(group(20, {{1, 1}, {2, 1}}))));
  ASSERT_EQ("ok", run(add(group(21, {{1, 1}, {2, 1}}))));
  events();
  world_->foreign({del(1)});
  const std::string gone = "deleted nexthop id 1 v4 via 10.7.0.2 dev " + std::to_string(e0_) + " proto 87";
  EXPECT_THAT(events(), UnorderedElementsAre(gone, "new nexthop id 20 group 2 proto 87",
                                             "new nexthop id 21 group 2 proto 87"));
  ASSERT_EQ("ok", world_->run({add(via(1, "10.7.0.2", e0_)), put(group(20, {{2, 1}, {1, 1}})),
                               put(group(20, {{2, 1}}))}));
  events();
  world_->foreign({del(1)});
  EXPECT_THAT(events(), ElementsAre(gone));
}

// With the last member goes the group; with a nexthop or group go its routes. IPv4 says nothing of them; IPv6
// says so at compat mode 1 and nothing at 0.
TEST_P(KernelFacts, K09WhatGoesWithANexthop) {
  for (const int mode : {1, 0}) {
    set_mode(mode);
    add_nexthops();
    ASSERT_EQ("ok",
              world_->run({add(group(20, {{1, 1}})), add(group(21, {{3, 1}, {4, 1}})),
                           add(route(key("192.0.2.0/24"), 20)), add(route(key("192.0.3.0/24"), 1)),
                           add(route(key("2001:db8:1::/64"), 21)), add(route(key("2001:db8:2::/64"), 3))}));
    events();
    world_->foreign({del(1), del(3), del(21)});
    EXPECT_FALSE(has_nexthop(20));
    EXPECT_THAT(routes(), IsEmpty());
    const std::string e0 = std::to_string(e0_);
    std::vector<std::string> expected = {"deleted nexthop id 1 v4 via 10.7.0.2 dev " + e0 + " proto 87",
                                         "deleted nexthop id 20 group 1 proto 87",
                                         "deleted nexthop id 3 v6 via 2001:db8:70::2 dev " + e0 + " proto 87",
                                         "new nexthop id 21 group 4 proto 87",
                                         "deleted nexthop id 21 group 4 proto 87"};
    if (mode == 1) {
      expected.push_back("deleted route 2001:db8:1::/64 type 1 nhid 21 proto 87");
      expected.push_back("deleted route 2001:db8:2::/64 type 1 nhid 3 proto 87");
    }
    EXPECT_THAT(events(), testing::UnorderedElementsAreArray(expected));
    ASSERT_EQ("ok", world_->run({del(2), del(4), del(10)}));
  }
}

// One delete of a group withdraws everything that uses it.
TEST_P(KernelFacts, K10OneDeleteWithdrawsAllRoutesOfAGroup) {
  add_nexthops();
  std::vector<KernelStep> steps = {add(group(20, {{1, 1}, {2, 1}})), add(route(key("198.51.100.0/24"), 1))};
  for (uint32_t i = 0; i < 3'000; ++i) {
    steps.push_back(add(route({kMainTable, {IpAddress::v4(0x14000000 + (i << 8)), 24}, 0, 0}, 20)));
  }
  ASSERT_EQ("ok", world_->run(steps));
  ASSERT_EQ(3'001u, routes().size());
  events();
  world_->foreign({del(20)});
  EXPECT_THAT(events(), ElementsAre("deleted nexthop id 20 group 1 2 proto 87"));
  EXPECT_THAT(routes(), ElementsAre("198.51.100.0/24 type 1 nhid 1 proto 87"));
}

// An IPv6 delete ignores the type, so that it may hit another row than meant; IPv4 looks at it.
TEST_P(KernelFacts, K11Ipv6DeleteIgnoresTheType) {
  DeleteKernelRoute narrow{key("2001:db8:1::/64"), RouteType::kUnreachable, std::nullopt, {}};
  ASSERT_EQ("ok", run(add(error_route(key("2001:db8:1::/64"), RouteType::kBlackhole))));
  EXPECT_EQ("ok", run(narrow));
  narrow.key = key("192.0.2.0/24");
  ASSERT_EQ("ok", run(add(error_route(key("192.0.2.0/24"), RouteType::kBlackhole))));
  EXPECT_EQ("ESRCH No such process", run(narrow));
}

// IPv6 routes by nexthop id that somebody appended make rows of one key, of which a replace or a delete meets
// one. Classic ones become one row, which goes as a whole.
TEST_P(KernelFacts, K11AppendedSiblings) {
  add_nexthops();
  const RouteKey by_id = key("2001:db8:1::/64");
  ASSERT_EQ("ok", run(add(route(by_id, 3))));
  ASSERT_EQ("ok", world_->foreign_append(route(by_id, 4)));
  EXPECT_THAT(routes(), ElementsAre("2001:db8:1::/64 type 1 nhid 3 proto 87",
                                    "2001:db8:1::/64 type 1 nhid 4 proto 87"));
  ASSERT_EQ("ok", run(put(route(by_id, 4))));  // two identical rows
  EXPECT_THAT(routes(), ElementsAre("2001:db8:1::/64 type 1 nhid 4 proto 87",
                                    "2001:db8:1::/64 type 1 nhid 4 proto 87"));
  ASSERT_EQ("ok", run(del(by_id)));
  EXPECT_THAT(routes(), ElementsAre("2001:db8:1::/64 type 1 nhid 4 proto 87"));
  ASSERT_EQ("ok", run(del(by_id)));

  const RouteKey paths = key("2001:db8:2::/64");
  world_->foreign({add(classic(paths, {{e0_, address("2001:db8:70::2"), 1, 0}}))});
  ASSERT_EQ("ok", world_->foreign_append(classic(paths, {{e1_, address("2001:db8:71::2"), 1, 0}})));
  ASSERT_EQ(1u, routes().size());
  ASSERT_EQ("ok", run(put(route(paths, 3))));
  EXPECT_THAT(routes(), ElementsAre("2001:db8:2::/64 type 1 nhid 3 proto 87"));
}

// A link that goes down, loses its carrier or disappears takes its nexthops, their places in groups and their
// routes, and the kernel speaks of the link only (and of IPv6 routes at compat mode 1). Nothing comes back
// with the link.
TEST_P(KernelFacts, K12LinkEventsTakeNexthopsSilently) {
  for (const int mode : {1, 0}) {
    for (const std::string how : {"carrier", "down", "delete"}) {
      SCOPED_TRACE(how + " at mode " + std::to_string(mode));
      set_mode(mode);
      add_nexthops();
      ASSERT_EQ("ok",
                world_->run({add(group(20, {{1, 1}, {2, 1}})), add(group(21, {{1, 1}})),
                             add(group(22, {{3, 1}, {4, 1}})), add(route(key("192.0.2.0/24"), 20)),
                             add(route(key("192.0.3.0/24"), 21)), add(route(key("192.0.4.0/24"), 1)),
                             add(route(key("2001:db8:1::/64"), 22)), add(route(key("2001:db8:2::/64"), 3))}));
      events();
      if (how == "carrier") world_->set_carrier("e0", false);
      if (how == "down") world_->set_up("e0", false);
      if (how == "delete") world_->remove_link("e0");
      std::vector<std::string> said = events();
      std::erase_if(said, [](const std::string& line) { return line.find("proto 87") == std::string::npos; });
      if (mode == 1) {
        EXPECT_THAT(said, ElementsAre("deleted route 2001:db8:2::/64 type 1 nhid 3 proto 87"));
      } else {
        EXPECT_THAT(said, IsEmpty());
      }
      const std::string e1 = std::to_string(e1_);
      const std::vector<std::string> left = {"id 10 v4 blackhole proto 87",
                                             "id 2 v4 via 10.7.1.2 dev " + e1 + " proto 87",
                                             "id 20 group 2 proto 87", "id 22 group 4 proto 87",
                                             "id 4 v6 via 2001:db8:71::2 dev " + e1 + " proto 87"};
      EXPECT_EQ(left, nexthops());
      EXPECT_THAT(routes(), ElementsAre("192.0.2.0/24 type 1 nhid 20 proto 87",
                                        "2001:db8:1::/64 type 1 nhid 22 proto 87"));
      if (how == "carrier") world_->set_carrier("e0", true);
      if (how == "down") world_->set_up("e0", true);
      if (how == "delete") {
        world_->add_link("e0");
        world_->add_address("e0", "10.7.0.1/24");
        e0_ = world_->index("e0");
      }
      if (how != "carrier") world_->add_address("e0", "2001:db8:70::1/64");
      EXPECT_EQ(left, nexthops());
      EXPECT_EQ(2u, routes().size());
      ASSERT_EQ("ok", world_->run({del(2), del(4), del(10)}));
    }
  }
}

// A rename says nothing of nexthops and routes: a link event, and the IPv4 addresses whose labels follow. A
// device made anew has another index.
TEST_P(KernelFacts, K13RenameAndRecreate) {
  add_nexthops();
  events();
  world_->rename_link("e0", "x0");
  EXPECT_THAT(events(), ElementsAre("new link x0 up", "new address 10.7.0.1/24 dev " + std::to_string(e0_)));
  EXPECT_EQ(e0_, world_->index("x0"));
  EXPECT_FALSE(kernel().get_link("e0").value().has_value());
  EXPECT_TRUE(has_nexthop(1));
  world_->remove_link("x0");
  EXPECT_THAT(events(), Contains(HasSubstr("deleted link x0")));
  EXPECT_FALSE(has_nexthop(1));
  world_->add_link("e0");
  EXPECT_NE(e0_, world_->index("e0"));
  EXPECT_FALSE(kernel().get_link(e0_).value().has_value());
}

}  // namespace
}  // namespace waypost::kernel_sync
