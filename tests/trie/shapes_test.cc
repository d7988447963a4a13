// Tables as they come: the whole Internet, and the shapes that spoil a trie's memory or its comparison.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/data/read_prefixes.h"
#include "tests/trie/oracle.h"

namespace waypost::kernel_sync {
namespace {

double bytes_a_route(const TrieForest& forest, TrieId trie) {
  return static_cast<double>(forest.bytes().spans) / static_cast<double>(forest.route_count(trie));
}

class RealTable : public testing::TestWithParam<Family> {};

TEST_P(RealTable, IsHeldSmallAndInOrder) {
  // The Internet's table goes in in random order, comes out in the file's order, and goes without a trace.
  const Family family = GetParam();
  const std::vector<Prefix> prefixes = read_prefixes(WAYPOST_SOURCE_DIR, family);
  std::vector<Prefix> shuffled = prefixes;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  TrieForest forest(family);
  const TrieId trie = forest.make_trie();
  const uint32_t metric = usual_metric(family);
  for (const Prefix& prefix : shuffled) forest.put(trie, {prefix, 0, metric}, 1);
  size_t next = 0;
  forest.walk(trie, nullptr,
              [&](const Prefix& prefix, const TrieRoutes&) { return prefix == prefixes[next++]; });
  EXPECT_EQ(next, prefixes.size());
  EXPECT_LE(bytes_a_route(forest, trie), family == Family::kIpv4 ? 7.0 : 13.0);
  const Status status = forest.check();
  EXPECT_TRUE(status.ok()) << status.error().message;
  for (const Prefix& prefix : prefixes) ASSERT_EQ(forest.erase(trie, {prefix, 0, metric}), 1u);
  EXPECT_EQ(forest.bytes().live, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, RealTable, testing::Values(Family::kIpv4, Family::kIpv6),
                         [](const auto& param_info) {
                           return std::string(param_info.param == Family::kIpv4 ? "Ipv4" : "Ipv6");
                         });

TEST(TrieShapes, NodesThatGrowInStepLeaveNoHoles) {
  // A million host routes, one more in every node at a time: each size of block is wanted by all nodes at
  // once and then by none. The spans of sizes left behind must serve the next ones, and the trie that
  // replaces it.
  TrieForest forest(Family::kIpv4);
  TrieId trie = forest.make_trie();
  size_t first_spans = 0;
  for (int turn = 0; turn < 2; ++turn) {
    for (uint32_t last = 0; last < 256; ++last) {
      for (uint32_t node = 0; node < 3'907; ++node) {
        forest.put(trie, {{IpAddress::v4(10u << 24 | node << 8 | last), 32}, 0, 0}, last);
      }
    }
    EXPECT_EQ(forest.route_count(trie), 1'000'192u);
    EXPECT_LE(bytes_a_route(forest, trie), 5.5);
    const size_t spans = forest.bytes().spans + forest.bytes().pool;
    if (turn == 0) first_spans = spans;
    EXPECT_LE(spans, first_spans);
    forest.drop_trie(trie);
    EXPECT_EQ(forest.bytes().live, 0u);
    trie = forest.make_trie();
  }
}

TEST(TrieShapes, EqualContentOfDifferentHistoryIsNoDifference) {
  // The left trie's nodes were full once and shrank, the right one's grew to the same: blocks of different
  // kinds (they shrink later than they grow) with equal content. Every count around every border is tried.
  TrieForest forest(Family::kIpv4);
  const TrieId left = forest.make_trie();
  const TrieId right = forest.make_trie();
  const auto key = [](uint32_t node, uint32_t last) {
    return TrieKey{{IpAddress::v4(10u << 24 | node << 8 | last), 32}, 0, 0};
  };
  for (uint32_t count = 1; count < 120; ++count) {
    for (uint32_t last = 0; last < 128; ++last) forest.put(left, key(count, last), last);
    for (uint32_t last = 127; last >= count; --last) forest.erase(left, key(count, last));
    for (uint32_t last = 0; last < count; ++last) forest.put(right, key(count, last), last);
  }
  EXPECT_TRUE(diff_rows(forest, left, right, nullptr).empty());
  forest.put(right, key(15, 3), 99);
  forest.erase(left, key(40, 0));
  const std::vector<DifferenceRow> expected = {{key(15, 3).prefix, {{0, 0, 3}}, {{0, 0, 99}}},
                                               {key(40, 0).prefix, {}, {{0, 0, 0}}}};
  EXPECT_EQ(diff_rows(forest, left, right, nullptr), expected);
  // Resumed behind the first, only the second is left; a limit of one stops after it.
  EXPECT_EQ(diff_rows(forest, left, right, &expected[0].prefix).size(), 1u);
  EXPECT_EQ(diff_rows(forest, left, right, nullptr, 1).size(), 1u);
  EXPECT_TRUE(forest.check().ok());
}

TEST(TrieShapes, ChildrenOfDifferentHistoryIsNoDifference) {
  // The same for tables of children: the left node had 256 of them before it came down to as many as the
  // right.
  TrieForest forest(Family::kIpv4);
  const TrieId left = forest.make_trie();
  const TrieId right = forest.make_trie();
  const auto key = [](uint32_t group, uint32_t child) {
    return TrieKey{{IpAddress::v4(group << 24 | child << 16 | 5 << 8 | 1), 32}, 0, 0};
  };
  for (uint32_t count = 1; count < 120; ++count) {
    for (uint32_t child = 0; child < 256; ++child) forest.put(left, key(count, child), child);
    for (uint32_t child = 255; child >= count; --child) forest.erase(left, key(count, child));
    for (uint32_t child = 0; child < count; ++child) forest.put(right, key(count, child), child);
  }
  EXPECT_TRUE(diff_rows(forest, left, right, nullptr).empty());
  forest.erase(right, key(77, 50));
  EXPECT_EQ(diff_rows(forest, left, right, nullptr).size(), 1u);
  EXPECT_TRUE(forest.check().ok());
}

}  // namespace
}  // namespace waypost::kernel_sync
