// Several routes on one prefix, other metrics than the usual one, and values that no cell can hold: all go
// through shared lists, which must be told apart exactly and cost next to nothing where they are alike.
#include <gtest/gtest.h>

#include "tests/trie/oracle.h"

namespace waypost::kernel_sync {
namespace {

Prefix ten(uint8_t second, uint8_t third) {
  return {IpAddress::v4(10u << 24 | uint32_t{second} << 16 | uint32_t{third} << 8), 24};
}

TEST(RouteLists, OnePrefixHoldsRoutesInOrderOfTosAndMetric) {
  // Three routes come in an odd order, one is replaced, and they go one by one: the usual one is left plain.
  TrieForest forest(Family::kIpv4);
  const TrieId trie = forest.make_trie();
  const Prefix prefix = ten(1, 2);
  EXPECT_EQ(forest.put(trie, {prefix, 16, 5}, 30), kNoValue);
  EXPECT_EQ(forest.put(trie, {prefix, 0, 0}, 10), kNoValue);
  EXPECT_EQ(forest.put(trie, {prefix, 0, 9}, 20), kNoValue);
  EXPECT_EQ(forest.put(trie, {prefix, 0, 9}, 21), 20u);
  const std::vector<TrieRoute> expected = {{0, 0, 10}, {0, 9, 21}, {16, 5, 30}};
  EXPECT_EQ(copy(forest.find_prefix(trie, prefix)), expected);
  EXPECT_EQ(forest.prefix_count(trie), 1u);
  EXPECT_EQ(forest.route_count(trie), 3u);
  EXPECT_EQ(forest.find(trie, {prefix, 0, 1}), kNoValue);
  EXPECT_EQ(forest.erase(trie, {prefix, 0, 1}), kNoValue);
  EXPECT_EQ(forest.erase(trie, {prefix, 16, 5}), 30u);
  EXPECT_EQ(forest.erase(trie, {prefix, 0, 9}), 21u);
  EXPECT_EQ(copy(forest.find_prefix(trie, prefix)), (std::vector<TrieRoute>{{0, 0, 10}}));
  EXPECT_EQ(forest.erase(trie, {prefix, 0, 0}), 10u);
  EXPECT_EQ(forest.prefix_count(trie), 0u);
  EXPECT_TRUE(forest.check().ok());
}

TEST(RouteLists, EveryValueButNoneIsHeld) {
  // Clients' ids, interned ids and scratch ids, at the borders of what a cell can say by itself.
  TrieForest forest(Family::kIpv4);
  const TrieId trie = forest.make_trie();
  for (const TrieValue value :
       {0u, 1u, 0x7fff'ffffu, 0x8000'0000u, 0xbfff'ffffu, 0xc000'0000u, 0xffff'efffu, 0xffff'fffeu}) {
    forest.put(trie, {ten(1, 2), 0, 0}, value);
    EXPECT_EQ(forest.find(trie, {ten(1, 2), 0, 0}), value);
    EXPECT_EQ(forest.longest_match(trie, ten(1, 2).address)->routes[0].value, value);
    EXPECT_TRUE(forest.check().ok());
  }
  EXPECT_EQ(forest.erase(trie, {ten(1, 2), 0, 0}), 0xffff'fffeu);
}

TEST(RouteLists, AnotherMetricForAWholeTableCostsNoMore) {
  // 60,000 routes of metric 20 over ten values share ten lists: per prefix they cost what plain ones do.
  TrieForest plain(Family::kIpv4);
  TrieForest shared(Family::kIpv4);
  const TrieId plain_trie = plain.make_trie();
  const TrieId shared_trie = shared.make_trie();
  for (uint32_t i = 0; i < 60'000; ++i) {
    const Prefix prefix = ten(static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i));
    plain.put(plain_trie, {prefix, 0, 0}, i % 10);
    shared.put(shared_trie, {prefix, 0, 20}, i % 10);
  }
  EXPECT_EQ(shared.bytes().live, plain.bytes().live);
  EXPECT_LT(shared.bytes().lists, 4'096u);
  EXPECT_TRUE(shared.check().ok());
  shared.drop_trie(shared_trie);
  EXPECT_TRUE(shared.check().ok());
  EXPECT_EQ(shared.bytes().live, 0u);
}

TEST(RouteLists, TheUsualMetricOfIpv6Is1024) {
  // 1024 is what the kernel calls an IPv6 route without a metric, so it is the one that costs no list.
  TrieForest forest(Family::kIpv6);
  const TrieId trie = forest.make_trie();
  Prefix prefix;
  prefix.address.family = Family::kIpv6;
  prefix.address.bytes[0] = 0x20;
  prefix.length = 16;
  forest.put(trie, {prefix, 0, 1024}, 7);
  const size_t before = forest.bytes().lists;
  forest.put(trie, {prefix, 0, 1024}, 8);
  EXPECT_EQ(forest.bytes().lists, before);
  forest.put(trie, {prefix, 0, 0}, 9);
  EXPECT_GT(forest.bytes().lists, before);
  EXPECT_EQ(copy(forest.find_prefix(trie, prefix)), (std::vector<TrieRoute>{{0, 0, 9}, {0, 1024, 8}}));
}

TEST(RouteLists, EqualListsOfTwoTriesAreNoDifference) {
  // Two tries get the same routes of two metrics by different ways; a changed one shows with all its prefix
  // has.
  TrieForest forest(Family::kIpv4);
  const TrieId left = forest.make_trie();
  const TrieId right = forest.make_trie();
  for (uint8_t i = 0; i < 100; ++i) {
    forest.put(left, {ten(3, i), 0, 10}, i);
    forest.put(left, {ten(3, i), 0, 20}, 500);
    forest.put(right, {ten(3, i), 0, 20}, 400);
    forest.put(right, {ten(3, i), 0, 10}, i);
    forest.put(right, {ten(3, i), 0, 20}, 500);
  }
  EXPECT_TRUE(diff_rows(forest, left, right, nullptr).empty());
  forest.put(right, {ten(3, 42), 0, 20}, 501);
  const std::vector<DifferenceRow> expected = {
      {ten(3, 42), {{0, 10, 42}, {0, 20, 500}}, {{0, 10, 42}, {0, 20, 501}}}};
  EXPECT_EQ(diff_rows(forest, left, right, nullptr), expected);
  EXPECT_TRUE(forest.check().ok());
}

}  // namespace
}  // namespace waypost::kernel_sync
