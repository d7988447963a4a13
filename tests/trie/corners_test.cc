// The places where a trie of this make goes wrong first: its shortest and longest prefixes, every size of a
// node on the way up and down, and cells that look like refs.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/trie/oracle.h"

namespace waypost::kernel_sync {
namespace {

struct CornerSetting {
  Family family;
  TrieCode code;
};

class TrieCorners : public testing::TestWithParam<CornerSetting> {
 protected:
  TrieCorners() : forest_(GetParam().family, GetParam().code), trie_(forest_.make_trie()) {}

  int bits() const { return address_bits(GetParam().family); }
  // The first bytes given, the others `rest`.
  IpAddress address(std::initializer_list<uint8_t> first, uint8_t rest = 0) const {
    IpAddress made;
    made.family = GetParam().family;
    std::fill_n(made.bytes.begin(), address_bytes(made.family), rest);
    std::copy(first.begin(), first.end(), made.bytes.begin());
    return made;
  }
  TrieKey key(const IpAddress& from, int length) const {
    return {{first_bits_of(from, length), static_cast<uint8_t>(length)}, 0, usual_metric(GetParam().family)};
  }
  // The length of the longest match, or -1.
  int match(const IpAddress& to) const {
    const auto found = forest_.longest_match(trie_, to);
    return found ? found->prefix.length : -1;
  }
  void check() const {
    const Status status = forest_.check();
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  TrieForest forest_;
  TrieId trie_;
};

TEST_P(TrieCorners, EveryLengthOfOneAddress) {
  // All prefixes of 255.255... from the default route to the host: each is the longest match until the next
  // longer one comes, and again after that has gone.
  const IpAddress ones = address({}, 255);
  for (int length = 0; length <= bits(); ++length) {
    ASSERT_EQ(match(ones), length - 1);
    ASSERT_EQ(forest_.put(trie_, key(ones, length), static_cast<TrieValue>(length)), kNoValue);
    ASSERT_EQ(match(ones), length);
    ASSERT_NO_FATAL_FAILURE(check());
  }
  ASSERT_EQ(covering_rows(forest_, trie_, key(ones, bits()).prefix).size(), static_cast<size_t>(bits()) + 1);
  ASSERT_EQ(match(address({}, 0)), 0);
  for (int length = bits(); length >= 0; --length) {
    ASSERT_EQ(forest_.erase(trie_, key(ones, length)), static_cast<TrieValue>(length));
    ASSERT_EQ(match(ones), length - 1);
    ASSERT_NO_FATAL_FAILURE(check());
  }
  ASSERT_EQ(forest_.bytes().live, 0u);
}

TEST_P(TrieCorners, ShortestAndLongestAlone) {
  // Each corner length alone in a trie, at the first and at the last address.
  for (const int length : {0, 1, 7, 8, 9, bits() - 9, bits() - 8, bits() - 1, bits()}) {
    for (const uint8_t fill : {0, 255}) {
      const IpAddress at = address({}, fill);
      forest_.put(trie_, key(at, length), 5);
      EXPECT_EQ(match(at), length);
      EXPECT_EQ(match(address({}, static_cast<uint8_t>(~fill))), length == 0 ? 0 : -1);
      EXPECT_EQ(walk_rows(forest_, trie_, nullptr).size(), 1u);
      EXPECT_EQ(subtree_rows(forest_, trie_, key(at, length).prefix, nullptr).size(), 1u);
      ASSERT_NO_FATAL_FAILURE(check());
      EXPECT_EQ(forest_.erase(trie_, key(at, length)), 5u);
      EXPECT_EQ(forest_.bytes().live, 0u);
    }
  }
}

TEST_P(TrieCorners, NothingMatchesInAnEmptyTrie) {
  // An empty trie answers everything with nothing, and erasing from it is harmless.
  EXPECT_EQ(match(address({10})), -1);
  EXPECT_EQ(forest_.find(trie_, key(address({10}), 8)), kNoValue);
  EXPECT_EQ(forest_.erase(trie_, key(address({10}), 8)), kNoValue);
  EXPECT_TRUE(walk_rows(forest_, trie_, nullptr).empty());
  EXPECT_TRUE(covering_rows(forest_, trie_, key(address({10}), 24).prefix).empty());
}

TEST_P(TrieCorners, OnlyTheRootHasADefaultRoute) {
  // A node below the root has no prefix of length zero: a route beside an address must not match it.
  forest_.put(trie_, key(address({10, 0}), 16), 1);
  forest_.put(trie_, key(address({10, 1, 0}), 24), 2);
  EXPECT_EQ(match(address({10, 2})), -1);
  EXPECT_EQ(match(address({10, 1, 1})), -1);
  EXPECT_EQ(match(address({10, 0, 9})), 16);
}

TEST_P(TrieCorners, AnInlineCellIsNeverTakenForChildren) {
  // A node with one route keeps the cell where others keep their children. Cells that would be plausible
  // refs of every kind must be seen as cells by every operation.
  const TrieId other = forest_.make_trie();
  forest_.put(other, key(address({9, 9, 9}), 24), 1);
  for (TrieValue cell = 0; cell < 40; ++cell) {
    const TrieKey lone = key(address({10, 1}), 12);
    const TrieKey below = key(address({10, 1, 2, 3}), 32);
    forest_.put(trie_, lone, cell);
    EXPECT_EQ(match(below.prefix.address), 12);
    EXPECT_EQ(forest_.find(trie_, below), kNoValue);
    EXPECT_EQ(forest_.erase(trie_, below), kNoValue);
    EXPECT_EQ(walk_rows(forest_, trie_, nullptr).size(), 1u);
    EXPECT_EQ(subtree_rows(forest_, trie_, below.prefix, nullptr).size(), 0u);
    EXPECT_EQ(diff_rows(forest_, trie_, other, nullptr).size(), 2u);
    forest_.put(trie_, below, 3);
    EXPECT_EQ(forest_.find(trie_, lone), cell);
    EXPECT_EQ(forest_.erase(trie_, below), 3u);
    ASSERT_NO_FATAL_FAILURE(check());
    EXPECT_EQ(forest_.erase(trie_, lone), cell);
  }
}

TEST_P(TrieCorners, ANodeOfEverySizeUpAndDown) {
  // All 510 prefixes of one node come in random order and go in another: every shape of block is entered from
  // both sides, and at each step all that is there is found.
  std::vector<TrieKey> keys;
  for (int length = 9; length <= 16; ++length) {
    for (unsigned start = 0; start < 256; start += 1u << (16 - length)) {
      keys.push_back(key(address({10, static_cast<uint8_t>(start)}), length));
    }
  }
  ASSERT_EQ(keys.size(), 510u);
  std::mt19937 random(1);
  for (int turn = 0; turn < 2; ++turn) {
    std::shuffle(keys.begin(), keys.end(), random);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(forest_.put(trie_, keys[i], static_cast<TrieValue>(i)), kNoValue);
      ASSERT_EQ(forest_.find(trie_, keys[i / 2]), static_cast<TrieValue>(i / 2));
      ASSERT_NO_FATAL_FAILURE(check());
    }
    for (unsigned byte = 0; byte < 256; ++byte)
      ASSERT_EQ(match(address({10, static_cast<uint8_t>(byte)})), 16);
    for (size_t i = keys.size(); i-- > 0;) {
      ASSERT_EQ(forest_.erase(trie_, keys[i]), static_cast<TrieValue>(i));
      ASSERT_EQ(forest_.find(trie_, keys[i]), kNoValue);
      ASSERT_NO_FATAL_FAILURE(check());
    }
  }
  EXPECT_EQ(forest_.bytes().live, 0u);
}

TEST_P(TrieCorners, AnyNumberOfChildrenUpAndDown) {
  // 256 nodes below one, coming and going in random order: every kind of table of children is entered from
  // both sides. Each child is two levels down, so that the ways grow and join as well.
  std::vector<unsigned> bytes(256);
  std::iota(bytes.begin(), bytes.end(), 0u);
  std::mt19937 random(2);
  const auto key_of = [&](unsigned byte) {
    return key(address({10, static_cast<uint8_t>(byte), 7, 0x80}), 25);
  };
  for (int turn = 0; turn < 2; ++turn) {
    std::shuffle(bytes.begin(), bytes.end(), random);
    for (const unsigned byte : bytes) {
      ASSERT_EQ(forest_.put(trie_, key_of(byte), byte), kNoValue);
      ASSERT_NO_FATAL_FAILURE(check());
    }
    const std::vector<Row> rows = walk_rows(forest_, trie_, nullptr);
    ASSERT_EQ(rows.size(), 256u);
    for (unsigned byte = 0; byte < 256; ++byte) ASSERT_EQ(rows[byte].routes[0].value, byte);
    std::shuffle(bytes.begin(), bytes.end(), random);
    for (const unsigned byte : bytes) {
      ASSERT_EQ(forest_.erase(trie_, key_of(byte)), byte);
      ASSERT_NO_FATAL_FAILURE(check());
    }
  }
  EXPECT_EQ(forest_.bytes().live, 0u);
}

TEST_P(TrieCorners, WaysSplitForkAndJoin) {
  // One long way is cut at every level, by a node on it and by a node beside it, and joins again when that
  // goes.
  const IpAddress zeros = address({}, 0);
  const TrieKey host = key(zeros, bits());
  forest_.put(trie_, host, 1);
  const size_t alone = forest_.bytes().live;
  for (int length = 1; length < bits(); ++length) {
    IpAddress beside = zeros;
    beside.bytes[static_cast<size_t>(length - 1) / 8] |= static_cast<uint8_t>(0x80 >> (length - 1) % 8);
    for (const TrieKey& cut : {key(zeros, length), key(beside, length), key(beside, bits())}) {
      forest_.put(trie_, cut, 2);
      ASSERT_NO_FATAL_FAILURE(check());
      ASSERT_EQ(forest_.find(trie_, host), 1u);
      ASSERT_EQ(walk_rows(forest_, trie_, nullptr).size(), 2u);
      ASSERT_EQ(forest_.erase(trie_, cut), 2u);
      ASSERT_NO_FATAL_FAILURE(check());
      ASSERT_EQ(forest_.bytes().live, alone) << "length " << length;
    }
  }
}

TEST_P(TrieCorners, TriesOfAForestAreApart) {
  // Many tries in one arena hold the same key with different values; dropping some leaves the others, and
  // their ids are given out again, empty.
  std::vector<TrieId> tries;
  for (TrieValue i = 0; i < 300; ++i) {
    tries.push_back(forest_.make_trie());
    forest_.put(tries.back(), key(address({10, 1, 2}), 24), i);
    forest_.put(tries.back(), {key(address({10, 1}), 16).prefix, 0, 7}, i);
  }
  for (size_t i = 0; i < tries.size(); i += 2) forest_.drop_trie(tries[i]);
  ASSERT_NO_FATAL_FAILURE(check());
  for (TrieValue i = 1; i < 300; i += 2) EXPECT_EQ(forest_.find(tries[i], key(address({10, 1, 2}), 24)), i);
  const TrieId again = forest_.make_trie();
  EXPECT_LT(again.value(), 301u);
  EXPECT_EQ(forest_.prefix_count(again), 0u);
  EXPECT_TRUE(walk_rows(forest_, again, nullptr).empty());
  for (size_t i = 1; i < tries.size(); i += 2) forest_.drop_trie(tries[i]);
  ASSERT_NO_FATAL_FAILURE(check());
  EXPECT_EQ(forest_.bytes().live, 0u);
}

TEST_P(TrieCorners, BrokenCallsEndTheProcess) {
  // Host bits, a trie that is not there, the value that means none: bugs of the caller, never stored.
  TrieKey host_bits = key(address({10}, 1), bits());
  host_bits.prefix.length = 8;
  EXPECT_DEATH(forest_.put(trie_, host_bits, 1), "host bits");
  EXPECT_DEATH(forest_.find(TrieId(77), key(address({}), 0)), "no such trie");
  EXPECT_DEATH(forest_.put(trie_, key(address({}), 0), kNoValue), "means none");
}

std::vector<CornerSetting> corner_settings() {
  std::vector<CornerSetting> settings;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (const TrieCode code : all_codes()) settings.push_back({family, code});
  }
  return settings;
}

INSTANTIATE_TEST_SUITE_P(All, TrieCorners, testing::ValuesIn(corner_settings()), [](const auto& param_info) {
  return std::string(param_info.param.family == Family::kIpv4 ? "Ipv4" : "Ipv6") +
         (param_info.param.code == TrieCode::kVector ? "Vector" : "Portable");
});

}  // namespace
}  // namespace waypost::kernel_sync
