// A forest and an oracle get the same random operations and must give the same answers, whatever the
// family, the code path and the shape of the keys; at the end everything is erased and not a block may be
// left.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/trie/oracle.h"

namespace waypost::kernel_sync {
namespace {

// How addresses are drawn, so that every kind of block and every depth comes up.
enum class Shape {
  kNested,  // two or three values a byte: long chains of prefixes within prefixes
  kPage,    // one or two bytes vary fully: nodes with hundreds of entries or children
  kSparse,  // all bytes vary: paths that split and join
};

struct RandomSetting {
  Family family;
  TrieCode code;
  Shape shape;
};

std::string setting_name(const testing::TestParamInfo<RandomSetting>& info) {
  std::string name = info.param.family == Family::kIpv4 ? "Ipv4" : "Ipv6";
  name += info.param.code == TrieCode::kVector ? "Vector" : "Portable";
  return name + (info.param.shape == Shape::kNested ? "Nested"
                 : info.param.shape == Shape::kPage ? "Page"
                                                    : "Sparse");
}

// WAYPOST_SEED repeats a run.
uint64_t seed() {
  const char* given = std::getenv("WAYPOST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : 20'240'817;
}

class RandomTrie : public testing::TestWithParam<RandomSetting> {
 protected:
  void SetUp() override {
    RecordProperty("seed", std::to_string(seed()));
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed()));
    random_.seed(seed());
  }

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  IpAddress random_address() {
    IpAddress address;
    address.family = GetParam().family;
    const int bytes = address_bytes(address.family);
    for (int i = 0; i < bytes; ++i) {
      static constexpr uint8_t kFew[] = {0, 255, 128, 37};
      uint8_t& byte = address.bytes[static_cast<size_t>(i)];
      switch (GetParam().shape) {
        case Shape::kNested:
          byte = kFew[below(i % 3 == 0 ? 2 : 3)];
          break;
        case Shape::kPage:
          byte = i == page_byte_ || i == page_byte_ + 1
                     ? static_cast<uint8_t>(below(i == page_byte_ ? 256 : 64))
                     : 10;
          break;
        case Shape::kSparse:
          byte = static_cast<uint8_t>(below(256));
          break;
      }
    }
    return address;
  }

  Prefix random_prefix() {
    const int bits = address_bits(GetParam().family);
    int length = static_cast<int>(below(static_cast<unsigned>(bits) + 1));
    if (GetParam().shape == Shape::kPage && below(4) != 0)
      length = page_byte_ * 8 + 1 + static_cast<int>(below(16));
    if (below(8) == 0) {
      const int corners[] = {0, 1, 8, 9, bits - 1, bits};
      length = corners[below(6)];
    }
    return {first_bits_of(random_address(), length), static_cast<uint8_t>(length)};
  }

  // Often a key that is there, else the trie would hardly ever be asked for what it holds.
  TrieKey random_key(const TrieOracle& oracle) {
    if (oracle.size() > 0 && below(2) == 0) {
      const auto near = oracle.routes().lower_bound({random_prefix(), 0, 0});
      if (near != oracle.routes().end()) return near->first;
    }
    TrieKey key{random_prefix(), 0, usual_metric(GetParam().family)};
    if (below(8) == 0) key.metric = below(4);
    if (below(32) == 0) key.tos = static_cast<uint8_t>(below(2) * 16);
    return key;
  }

  TrieValue random_value() {
    return below(32) == 0 ? 0xffff'ef00 + below(16) : 0x8000'0000 * below(2) + below(50);
  }

  void compare_walks(TrieForest& forest, TrieId trie, const TrieOracle& oracle) {
    const Prefix after = random_prefix();
    ASSERT_EQ(walk_rows(forest, trie, &after), oracle.walk(&after));
    const Prefix within = random_prefix();
    ASSERT_EQ(subtree_rows(forest, trie, within, nullptr), oracle.subtree(within, nullptr));
    ASSERT_EQ(subtree_rows(forest, trie, within, &after), oracle.subtree(within, &after));
    // Cut into steps, a walk gives the same as at once.
    std::vector<Row> rows;
    for (;;) {
      const std::vector<Row> step = walk_rows(forest, trie, rows.empty() ? nullptr : &rows.back().prefix, 17);
      if (step.empty()) break;
      rows.insert(rows.end(), step.begin(), step.end());
    }
    ASSERT_EQ(rows, oracle.walk(nullptr));
  }

  // One operation on one of two tries, and now and then a comparison of everything.
  void step(TrieForest& forest, const TrieId (&tries)[2], TrieOracle (&oracles)[2]) {
    const unsigned side = below(2);
    TrieOracle& oracle = oracles[side];
    const TrieKey key = random_key(oracle);
    const unsigned choice = below(100);
    if (choice < (growing_ ? 55u : 30u)) {
      const TrieValue value = random_value();
      ASSERT_EQ(forest.put(tries[side], key, value), oracle.put(key, value));
    } else if (choice < 80) {
      ASSERT_EQ(forest.erase(tries[side], key), oracle.erase(key));
    } else if (choice < 85) {
      ASSERT_EQ(forest.find(tries[side], key), oracle.find(key));
      ASSERT_EQ(copy(forest.find_prefix(tries[side], key.prefix)), oracle.find_prefix(key.prefix));
    } else if (choice < 95) {
      IpAddress address = below(2) == 0 ? random_address() : key.prefix.address;
      const std::optional<TrieMatch> match = forest.longest_match(tries[side], address);
      const std::optional<Row> expected = oracle.longest_match(address);
      ASSERT_EQ(match.has_value(), expected.has_value());
      if (match) {
        ASSERT_EQ((Row{match->prefix, copy(match->routes)}), *expected);
      }
    } else {
      ASSERT_EQ(covering_rows(forest, tries[side], key.prefix), oracle.covering(key.prefix));
    }
  }

  std::mt19937_64 random_;
  int page_byte_ = 0;
  bool growing_ = true;
};

TEST_P(RandomTrie, AnswersAsTheOracle) {
  TrieForest forest(GetParam().family, GetParam().code);
  const TrieId tries[2] = {forest.make_trie(), forest.make_trie()};
  TrieOracle oracles[2];
  for (int i = 0; i < 12'000; ++i) {
    if (i % 1'000 == 0) {
      growing_ = below(3) != 0;
      page_byte_ = static_cast<int>(below(static_cast<unsigned>(address_bytes(GetParam().family)) - 1));
    }
    ASSERT_NO_FATAL_FAILURE(step(forest, tries, oracles)) << "at step " << i;
    if (i % 1'000 != 999) continue;
    const Status status = forest.check();
    ASSERT_TRUE(status.ok()) << status.error().message << " at step " << i;
    ASSERT_NO_FATAL_FAILURE(compare_walks(forest, tries[0], oracles[0])) << "at step " << i;
    const Prefix after = random_prefix();
    ASSERT_EQ(diff_rows(forest, tries[0], tries[1], nullptr), oracles[0].diff(oracles[1], nullptr));
    ASSERT_EQ(diff_rows(forest, tries[0], tries[1], &after), oracles[0].diff(oracles[1], &after));
  }
  for (int side = 0; side < 2; ++side) {
    ASSERT_EQ(forest.route_count(tries[side]), oracles[side].size());
    for (const auto& [key, value] : oracles[side].routes()) ASSERT_EQ(forest.erase(tries[side], key), value);
    ASSERT_EQ(forest.prefix_count(tries[side]), 0u);
  }
  ASSERT_TRUE(forest.check().ok());
  ASSERT_EQ(forest.bytes().live, 0u);
}

std::vector<RandomSetting> random_settings() {
  std::vector<RandomSetting> settings;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (const TrieCode code : all_codes()) {
      for (const Shape shape : {Shape::kNested, Shape::kPage, Shape::kSparse}) {
        settings.push_back({family, code, shape});
      }
    }
  }
  return settings;
}

INSTANTIATE_TEST_SUITE_P(All, RandomTrie, testing::ValuesIn(random_settings()), setting_name);

}  // namespace
}  // namespace waypost::kernel_sync
