#include <gtest/gtest.h>

#include "model/row_codec.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

InlinePath path(const std::string& gateway, const std::string& device, uint16_t weight = 1) {
  return {.nexthop = via(gateway, device), .weight = weight};
}

uint64_t interned(TestStore& store) {
  return store->counts().interned;
}

// An operator's first minutes: nexthops, a group, routes by id; the revision rises with each change and with
// nothing else.
TEST(Apply, AnOperatorsFirstMinutes) {
  TestStore store;
  EXPECT_EQ(store.say(put(1, via("10.0.0.1", "e0"))), "ok");
  EXPECT_EQ(store.say(put(2, via("10.0.1.1", "e1"))), "ok");
  EXPECT_EQ(store.say(put_group(100, {1, 2})), "ok");
  EXPECT_EQ(store.say(put_route("192.0.2.0/24", 100)), "ok");
  EXPECT_EQ(store->stamp().revision, Revision(4));
  EXPECT_EQ(store.say(put_route("192.0.2.0/24", 100, Verb::kReplace)), "ok");
  EXPECT_EQ(store->stamp().revision, Revision(4)) << "the same row again is no change";
  EXPECT_EQ(store->counts().nexthops, 3u);
  EXPECT_EQ(store->counts().groups, 1u);
  EXPECT_EQ(store->view().route(key_of("192.0.2.0/24"))->nexthop, NexthopId(100));
  EXPECT_TRUE(store->verify().ok());
  store.reopen();
  EXPECT_EQ(store->stamp().revision, Revision(4));
  EXPECT_TRUE(store->verify().ok());
}

// 720,022 two-path routes must cost one group: equal contents are one object, whichever way they were
// written, and it goes with its last user in the same transaction.
TEST(Apply, InlinePathsShareOneGroupThatGoesWithItsLastUser) {
  TestStore store;
  const std::vector<InlinePath> two = {path("10.0.0.1", "e0"), path("10.0.1.1", "e1")};
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(store.say(put_route("198.51." + std::to_string(i) + ".0/24", two)), "ok");
  EXPECT_EQ(interned(store), 3u);
  EXPECT_EQ(store.say(put_route("203.0.113.0/24", {path("10.0.0.1", "e0")})), "ok");
  EXPECT_EQ(interned(store), 3u) << "the single path is a member already";
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(store.say(drop_route("198.51." + std::to_string(i) + ".0/24")), "ok");
  EXPECT_EQ(interned(store), 1u) << "the group and the unused member are gone";
  EXPECT_EQ(store.say(drop_route("203.0.113.0/24")), "ok");
  EXPECT_EQ(interned(store), 0u);
  EXPECT_TRUE(store->verify().ok()) << store->verify().error().message;
}

// The cursor of interned ids rotates, so an id that has just gone does not come back with another meaning.
TEST(Apply, InternedIdsRotate) {
  TestStore store;
  store.say(put_route("198.51.100.0/24", {path("10.0.0.1", "e0")}));
  const NexthopId first = store->view().route(key_of("198.51.100.0/24"))->nexthop;
  store.say(drop_route("198.51.100.0/24"));
  store.say(put_route("198.51.100.0/24", {path("10.0.0.2", "e0")}));
  EXPECT_EQ(store->view().route(key_of("198.51.100.0/24"))->nexthop, NexthopId(first.value() + 1));
}

// Equal IPv4 paths merge with their weights added; equal IPv6 paths are refused.
TEST(Apply, EqualPaths) {
  TestStore store;
  EXPECT_EQ(store.say(put_route("192.0.2.0/24", {path("10.0.0.1", "e0", 2), path("10.0.1.1", "e1", 1),
                                                 path("10.0.0.1", "e0", 3)})),
            "ok");
  const auto group = store->view().nexthop(store->view().route(key_of("192.0.2.0/24"))->nexthop);
  ASSERT_TRUE(group->is_group());
  ASSERT_EQ(group->group().members.size(), 2u);
  EXPECT_EQ(group->group().members[0].weight, 5);
  EXPECT_EQ(store.say(put_route("2001:db8::/32", {path("fe80::1", "e0"), path("fe80::1", "e0")})),
            "route 2001:db8::/32 would have the same path twice");
  EXPECT_EQ(store.say(put_route("2001:db8::/32", {path("fe80::1", "e0")})), "ok");
  EXPECT_EQ(store.say(put_route("2001:db8::/32", {path("fe80::2", "e0")}, Verb::kAppend)), "ok");
  EXPECT_EQ(store.say(put_route("2001:db8::/32", {path("fe80::2", "e0")}, Verb::kAppend)),
            "route 2001:db8::/32 would have the same path twice");
  const auto appended = store->view().nexthop(store->view().route(key_of("2001:db8::/32"))->nexthop);
  EXPECT_EQ(appended->group().members.size(), 2u);
  EXPECT_TRUE(store->verify().ok());
}

// A client must neither name nor use an interned object.
TEST(Apply, InternedIdsAreRefusedToClients) {
  TestStore store;
  store.say(put_route("192.0.2.0/24", {path("10.0.0.1", "e0")}));
  const uint32_t id = store->view().route(key_of("192.0.2.0/24"))->nexthop.value();
  const std::string reserved =
      "nexthop id " + std::to_string(id) + " is in the range that is reserved for inline paths";
  EXPECT_EQ(store.say(put(id, via("10.0.0.9", "e0"), Verb::kReplace)), reserved);
  EXPECT_EQ(store.say(drop(id, true)), reserved);
  EXPECT_EQ(store.say(put_group(5, {id})), reserved);
  EXPECT_EQ(store.say(put_route("198.51.100.0/24", id)), reserved);
  EXPECT_EQ(store.say(put(0xFFF0'0000, via("10.0.0.9", "e0"))),
            "nexthop id 4293918720 is in the range that is reserved for kernel_sync's scratch");
}

// Three ways to go on behind a refusal: not at all, up to it, around it.
TEST(Apply, WhatARefusalDoesToTheRest) {
  for (const auto& [on_refusal, applied, refused, rows] : {std::tuple{OnRefusal::kAbort, 0u, 1u, 0u},
                                                           {OnRefusal::kStop, 2u, 1u, 2u},
                                                           {OnRefusal::kContinue, 3u, 2u, 3u}}) {
    TestStore store;
    const TransactionAnswer answer =
        store.run({put(1, via("10.0.0.1", "e0")), put(2, via("10.0.0.2", "e0")),
                   put(1, via("10.0.0.3", "e0")), put(3, via("10.0.0.4", "e0")), put_group(9, {77})},
                  on_refusal);
    EXPECT_EQ(answer.applied, applied);
    EXPECT_EQ(answer.refusals.size(), refused);
    EXPECT_EQ(answer.refusals.front().index, 2u);
    EXPECT_EQ(store->counts().nexthops, rows);
    EXPECT_EQ(answer.revision, Revision(rows == 0 ? 0 : 1));
    EXPECT_TRUE(store->verify().ok());
  }
}

// `nexthop add` without an id takes the lowest free one, also when ids come free in the same transaction.
TEST(Apply, TheLowestFreeId) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0")), put(2, via("10.0.0.2", "e0")), put(4, via("10.0.0.4", "e0"))});
  auto answer = store.run({put(0, via("10.0.0.3", "e0")), put(0, via("10.0.0.5", "e0"))});
  ASSERT_EQ(answer.assigned_ids.size(), 2u);
  EXPECT_EQ(answer.assigned_ids[0], (std::pair{0u, NexthopId(3)}));
  EXPECT_EQ(answer.assigned_ids[1], (std::pair{1u, NexthopId(5)}));
  answer = store.run({drop(2), put(0, via("10.0.0.6", "e0")), put(0, via("10.0.0.7", "e0"))});
  EXPECT_EQ(answer.assigned_ids[0].second, NexthopId(2));
  EXPECT_EQ(answer.assigned_ids[1].second, NexthopId(6));
  answer =
      store.run({put(0, via("10.0.0.8", "e0")), put(7, via("10.0.0.9", "e0")), put(0, via("10.0.1.0", "e0"))},
                OnRefusal::kContinue);
  EXPECT_EQ(answer.assigned_ids.back().second, NexthopId(8)) << "7 was taken, then refused, 8 is next";
}

// Removing a nexthop in use is refused with the count and an example; cascade takes what `ip` takes.
TEST(Apply, RemovingWhatIsInUse) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0")), put(2, via("10.0.1.1", "e1")), put_group(100, {1, 2}),
             put_group(101, {1}), put_route("192.0.2.0/24", 100), put_route("198.51.100.0/24", 101),
             put_route("203.0.113.0/24", 2), put_route("203.0.114.0/24", 2)});
  EXPECT_EQ(store.say(drop(100)), "nexthop 100 is used by 1 route, for example 192.0.2.0/24");
  EXPECT_EQ(store.say(drop(2)), "nexthop 2 is used by 2 routes, for example 203.0.113.0/24");
  EXPECT_EQ(
      store.say(drop(1)),
      "nexthop 1 is the last member of group 101, which is used by 1 route, for example 198.51.100.0/24");
  EXPECT_EQ(store.say(drop(1, true)), "ok");
  EXPECT_EQ(store->counts().routes, 3u);
  EXPECT_FALSE(store->view().nexthop(NexthopId(101)).has_value());
  EXPECT_EQ(store->view().nexthop(NexthopId(100))->group().members.size(), 1u);
  EXPECT_EQ(store.say(drop(2, true)), "ok");
  EXPECT_EQ(store->counts().nexthops, 0u);
  EXPECT_EQ(store->counts().routes, 0u);
  EXPECT_TRUE(store->verify().ok());
}

// del matches the fields that are given against the stored row; without a metric the lowest goes first
// (KERNEL.md case 47).
TEST(Apply, DeletingRoutes) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0")), put_route("192.0.2.0/24", 1, Verb::kAdd, 20),
             put_route("192.0.2.0/24", 1, Verb::kAdd, 10),
             put_route("192.0.2.0/24", {path("10.0.0.9", "e0")}, Verb::kAdd, 30)});
  DeleteRoute wrong = drop_route("192.0.2.0/24");
  wrong.nexthop = NexthopId(7);
  EXPECT_EQ(store.say(wrong), "route 192.0.2.0/24 does not exist");
  EXPECT_EQ(store.say(drop_route("192.0.2.0/24")), "ok");
  EXPECT_FALSE(store->view().route(key_of("192.0.2.0/24", 10)).has_value());
  DeleteRoute by_path = drop_route("192.0.2.0/24");
  by_path.paths = {path("10.0.0.9", "")};
  EXPECT_EQ(store.say(by_path), "ok") << "skips metric 20, whose nexthop was given by id";
  EXPECT_TRUE(store->view().route(key_of("192.0.2.0/24", 20)).has_value());
  EXPECT_EQ(store->counts().routes, 1u);
}

// A guard that does not hold skips its command: jobs planned on an older state do no harm.
TEST(Apply, Guards) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0")), put_route("192.0.2.0/24", 1)});
  const Route stored = *store->view().route(key_of("192.0.2.0/24"));
  const uint64_t guard = row_guard(encode_route_value(stored));
  Route other = stored;
  other.protocol = 4;
  auto answer = store.run({GuardedRoute{.key = stored.key, .expected = guard + 1, .value = {}, .paths = {}},
                           GuardedRoute{.key = stored.key, .expected = guard, .value = other, .paths = {}},
                           GuardedRoute{.key = stored.key, .expected = guard, .value = {}, .paths = {}}});
  EXPECT_EQ(answer.applied, 1u);
  EXPECT_EQ(answer.skipped, 2u);
  EXPECT_EQ(store->view().route(stored.key)->protocol, 4);
  answer = store.run(
      {GuardedNexthop{.id = NexthopId(2),
                      .expected = 0,
                      .value = NexthopObject{.id = {}, .protocol = 0, .body = via("10.0.0.2", "e0")}}});
  EXPECT_EQ(answer.applied, 1u);
  EXPECT_TRUE(store->view().nexthop(NexthopId(2)).has_value());
}

}  // namespace
}  // namespace waypost::store
