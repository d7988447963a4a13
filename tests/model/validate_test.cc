// The rules that need nothing but the object: each with the words that an operator sees.
#include <gtest/gtest.h>

#include <functional>

#include "model/limits.h"
#include "model/nexthop.h"
#include "model/route.h"
#include "tests/model/samples.h"

namespace waypost {
namespace {

using test::object;
using test::via;

std::string words_of(const Status& status) {
  return status.ok() ? "ok" : status.error().message;
}

// Samples of every kind are valid, in the form in which they are stored.
TEST(ValidateNexthop, TakesTheSamples) {
  for (const NexthopObject& each : test::sample_nexthops())
    EXPECT_EQ(words_of(validate(each)), "ok") << each.id.value();
}

// One thing wrong at a time.
TEST(ValidateNexthop, RefusesOneWrongThing) {
  const auto words = [](std::variant<Nexthop, NexthopGroup> body, bool interned = false) {
    return words_of(validate(object(7, std::move(body)), interned));
  };
  Nexthop onlink_device = test::device_only("e0", Family::kIpv4);
  onlink_device.onlink = true;
  EXPECT_EQ(words(onlink_device), "onlink needs a gateway on a device");
  EXPECT_EQ(words(Nexthop{}), "a nexthop needs a device, a gateway on a device, or to be a blackhole");
  EXPECT_EQ(words(via("10.0.0.1", "")),
            "a device is required for a nexthop that is neither blackhole nor fdb");
  EXPECT_EQ(words(via("10.0.0.1", ""), true), "ok");
  EXPECT_EQ(words(via("fe80::1", ""), true), "a link-local gateway needs a device");
  EXPECT_EQ(words(via("10.0.0.1", "a/b")), "'a/b' is not a device name");
  EXPECT_EQ(words(via("10.0.0.1", "sixteen_letters_")), "'sixteen_letters_' is not a device name");
  EXPECT_EQ(words(via("224.0.0.1", "e0")), "the gateway can not be a multicast address");
  EXPECT_EQ(words(via("ff02::1", "e0")), "the gateway can not be a multicast address");
  EXPECT_EQ(words(via("255.255.255.255", "e0")), "the gateway can not be a broadcast address");
  EXPECT_EQ(words(via("0.0.0.0", "e0")), "the gateway can not be the unspecified address");
  Nexthop other_family = via("10.0.0.1", "e0");
  other_family.family = Family::kIpv6;
  EXPECT_EQ(words(other_family), "the gateway is not of the family of the nexthop");
  Nexthop both = test::blackhole();
  both.device = "e0";
  EXPECT_EQ(words(both), "a blackhole can not have a gateway, a device, an encap or fdb");
  Nexthop fdb_on_device = test::fdb("10.0.0.1");
  fdb_on_device.device = "e0";
  EXPECT_EQ(words(fdb_on_device), "an fdb nexthop can not have a device or an encap");
  Nexthop inline_ipv4 = via("10.0.0.1", "e0");
  inline_ipv4.encap = EncapSeg6{.mode = 0, .segments = {test::address("fc00::1")}, .hmac = 0};
  EXPECT_EQ(words(inline_ipv4), "seg6 mode inline extends an IPv6 header, so the nexthop can not be IPv4");
}

TEST(ValidateNexthop, RefusesWrongGroups) {
  const auto words = [](NexthopGroup group) { return words_of(validate(object(7, std::move(group)))); };
  EXPECT_EQ(words(test::group({})), "a group needs at least one member");
  EXPECT_EQ(words(test::group({{NexthopId(0), 1}})), "nexthop id 0 can not be a member of a group");
  EXPECT_EQ(words(test::group({{NexthopId(1), 0}})), "the weight of member 1 is 0");
  EXPECT_EQ(words(test::group({{NexthopId(1), 1}, {NexthopId(2), 1}, {NexthopId(1), 2}})),
            "nexthop id 1 can not be used twice in a group");
  std::vector<GroupMember> many;
  for (uint32_t id = 1; id <= limits::kMaxGroupMembers; ++id) many.push_back({NexthopId(id), 1});
  EXPECT_EQ(words(test::group(many)), "ok");
  many.push_back({NexthopId(999), 1});
  EXPECT_EQ(words(test::group(many)), "a group has at most 128 members, this one has 129");
  NexthopGroup buckets = test::group({{NexthopId(1), 1}});
  buckets.resilient.buckets = 8;
  EXPECT_EQ(words(buckets), "buckets and timers belong to a resilient group");
}

TEST(ValidateRoute, TakesTheSamples) {
  for (const Route& each : test::sample_routes())
    EXPECT_EQ(words_of(validate(each)), "ok") << to_string(each.key);
}

TEST(ValidateRoute, RefusesOneWrongThing) {
  const auto words = [](const char* prefix, const std::function<void(Route&)>& spoil) {
    Route route = test::route(prefix, 1);
    spoil(route);
    return words_of(validate(route));
  };
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.key.table = TableId(0); }), "table 0 is no table");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.key.table = kLocalTable; }),
            "table 255 (local) belongs to each host's kernel");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.key.prefix.length = 33; }),
            "the prefix is longer than its address");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.key.prefix.length = 4; }),
            "the prefix has bits set behind its length");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.key.tos = 1; }), "the two low bits of tos belong to ECN");
  EXPECT_EQ(words("::/0", [](Route& r) { r.key.tos = 4; }), "IPv6 routes have no tos");
  EXPECT_EQ(words("::/0", [](Route& r) { r.key.metric = 0; }), "an IPv6 route has no metric 0");
  EXPECT_EQ(words("::/0", [](Route& r) { r.scope = kScopeLink; }), "IPv6 routes have no scope");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.scope = 255; }), "a route can not have the scope nowhere");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.preference = 1; }), "IPv4 routes have no router preference");
  EXPECT_EQ(words("::/0", [](Route& r) { r.preference = 2; }), "a router preference is low, medium or high");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.nexthop = NexthopId(0); }),
            "a unicast route needs a nexthop");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.type = static_cast<RouteType>(2); }),
            "a route is unicast, blackhole, unreachable, prohibit or throw");
  EXPECT_EQ(words("10.0.0.0/8", [](Route& r) { r.prefsrc = test::address("::1"); }),
            "src is not of the route's family");
  EXPECT_EQ(words("10.0.0.0/8",
                  [](Route& r) {
                    r.metrics.values = {{4, 1}, {2, 1400}};
                  }),
            "route metrics stand in ascending order, each once");
  EXPECT_EQ(words("10.0.0.0/8",
                  [](Route& r) {
                    r.metrics.values = {{2, 70'000}};
                  }),
            "an mtu is at most 65520");
  EXPECT_EQ(words("10.0.0.0/8",
                  [](Route& r) {
                    r.metrics.values = {{2, 0}};
                  }),
            "a route metric of 0 is one that is not set");
  EXPECT_EQ(words("10.0.0.0/8",
                  [](Route& r) {
                    r.metrics.values = {{18, 1}};
                  }),
            "route metric 18 is not known");
}

// The key is the object's name in every error: what is by default is left out.
TEST(RouteKeyText, LeavesDefaultsOut) {
  EXPECT_EQ(to_string(test::route("10.0.0.0/8", 1).key), "10.0.0.0/8");
  EXPECT_EQ(to_string(test::route("10.0.0.0/8", 1, 100, 20).key), "10.0.0.0/8 table 100 metric 20");
  EXPECT_EQ(to_string(test::route("::/0", 1).key), "::/0");
  EXPECT_EQ(to_string(test::route("::/0", 1, 254, 1).key), "::/0 metric 1");
  EXPECT_EQ(to_string(test::sample_routes()[6].key),
            "10.1.14.0/24 table 4294967295 tos 0x10 metric 4294967295");
}

TEST(NexthopRanges, AreReserved) {
  EXPECT_FALSE(is_interned(NexthopId(0x7fffffff)));
  EXPECT_TRUE(is_interned(NexthopId(0x80000000)));
  EXPECT_TRUE(is_interned(NexthopId(0xbfffffff)));
  EXPECT_FALSE(is_interned(NexthopId(0xc0000000)));
  EXPECT_FALSE(is_scratch(NexthopId(0xffefffff)));
  EXPECT_TRUE(is_scratch(NexthopId(0xfff00000)));
  EXPECT_TRUE(is_scratch(NexthopId(0xffffefff)));
  EXPECT_FALSE(is_scratch(NexthopId(0xfffff000)));
}

}  // namespace
}  // namespace waypost
