#include "tests/sim/linearizability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace waypost::sim {
namespace {

Operation put(uint64_t call, uint64_t back, uint32_t key, uint64_t value) {
  return {1,    call,
          back, back == kNever ? Outcome::kUnknown : Outcome::kDone,
          0,    {{ActionKind::kPut, key, value}}};
}
Operation read(uint64_t call, uint64_t back, uint32_t key, uint64_t value) {
  return {2, call, back, Outcome::kDone, 0, {{ActionKind::kRead, key, value}}};
}
Verdict::Of verdict(const std::vector<Operation>& operations) {
  return check_linearizable(operations).of;
}

constexpr Verdict::Of kGood = Verdict::Of::kLinearizable;
constexpr Verdict::Of kBad = Verdict::Of::kViolation;

// The mistakes a store can make, in the smallest history each: the checker must see every one of them.
TEST(Linearizability, SeesEachMistake) {
  EXPECT_EQ(verdict({put(1, 2, 7, 10), put(3, 4, 7, 11), read(5, 6, 7, 10)}), kBad) << "a stale read";
  EXPECT_EQ(verdict({put(1, 2, 7, 10), read(3, 4, 7, 0)}), kBad) << "a lost write";
  EXPECT_EQ(verdict({put(1, kNever, 7, 10), put(2, 3, 7, 11), read(4, 5, 7, 10), put(6, 7, 7, 12),
                     read(8, 9, 7, 10)}),
            kBad)
      << "a write that happened twice";
  EXPECT_EQ(verdict({put(1, 9, 7, 10), read(2, 3, 7, 10), read(4, 5, 7, 0)}), kBad)
      << "a read that went back";
  Operation add{1, 5, 6, Outcome::kDone, 0, {{ActionKind::kAdd, 7, 12}}};
  EXPECT_EQ(verdict({put(1, 2, 7, 10), add}), kBad) << "an add where there was something";
  Operation two{1, 1, 2, Outcome::kDone, 0, {{ActionKind::kPut, 7, 10}, {ActionKind::kPut, 8, 11}}};
  EXPECT_EQ(verdict({two, read(3, 4, 7, 10), read(5, 6, 8, 0)}), kBad) << "half a transaction";
}

// What overlaps may have come in any order, and what has no answer may have happened or not.
TEST(Linearizability, AllowsWhatIsOpen) {
  EXPECT_EQ(verdict({put(1, 9, 7, 10), read(2, 3, 7, 0), read(4, 5, 7, 10)}), kGood);
  EXPECT_EQ(verdict({put(1, kNever, 7, 10), read(2, 3, 7, 0)}), kGood);
  EXPECT_EQ(verdict({put(1, kNever, 7, 10), read(2, 3, 7, 0), read(4, 5, 7, 10)}), kGood);
  Operation refused{1, 3, 4, Outcome::kRefused, 0, {{ActionKind::kAdd, 7, 12}}};
  EXPECT_EQ(verdict({put(1, 2, 7, 10), refused, read(5, 6, 7, 10)}), kGood);
}

// Every order of a small history, tried one by one.
bool brute_force(const std::vector<Operation>& operations) {
  std::vector<size_t> order(operations.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    bool good = true;
    for (size_t i = 0; i < order.size() && good; ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        good &= operations[order[j]].return_us >= operations[order[i]].call_us;
    std::map<uint32_t, uint64_t> state;
    for (size_t i = 0; i < order.size() && good; ++i) {
      const Operation& operation = operations[order[i]];
      uint64_t& value = state[operation.actions[0].key];
      const Action& action = operation.actions[0];
      const bool refused = (action.kind == ActionKind::kAdd && value != 0) ||
                           (action.kind == ActionKind::kDelete && value == 0);
      if (action.kind == ActionKind::kRead) {
        good = value == action.value;
      } else {
        good = refused == (operation.outcome == Outcome::kRefused);
        if (!refused) value = action.kind == ActionKind::kDelete ? 0 : action.value;
      }
    }
    if (good) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

// Random histories of six operations, right ones and wrong ones: the search and the trial of every order
// agree.
TEST(Linearizability, AgreesWithEveryOrderTried) {
  std::mt19937_64 random(20260401);
  size_t good = 0;
  for (int round = 0; round < 3'000; ++round) {
    std::vector<Operation> operations;
    for (uint64_t i = 0; i < 6; ++i) {
      const uint64_t call = random() % 12;
      Operation operation{1, call, call + 1 + random() % 6, Outcome::kDone, 0, {}};
      Action action{static_cast<ActionKind>(random() % 4), static_cast<uint32_t>(1 + random() % 2), i + 1};
      if (action.kind == ActionKind::kRead) action.value = random() % 4;
      const bool may_refuse = action.kind == ActionKind::kAdd || action.kind == ActionKind::kDelete;
      if (may_refuse && random() % 2 == 0) operation.outcome = Outcome::kRefused;
      operation.actions.push_back(action);
      operations.push_back(operation);
    }
    const bool expected = brute_force(operations);
    good += expected ? 1 : 0;
    ASSERT_EQ(verdict(operations), expected ? kGood : kBad) << "round " << round;
  }
  EXPECT_GT(good, 100u);
  EXPECT_LT(good, 2'900u);
}

// A history that was written down reads back as it was.
TEST(History, GoesThroughText) {
  Operation operation = put(3, kNever, 7, 10);
  operation.revision = 5;
  const auto parsed = parse_json_line(to_json_line(operation));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, operation);
  EXPECT_FALSE(parse_json_line("{\"client\":1}").ok());
}

}  // namespace
}  // namespace waypost::sim
