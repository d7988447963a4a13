#include "replication/trim_limit.h"

#include <gtest/gtest.h>

namespace waypost::replication {
namespace {

TrimMember live(uint64_t durable) {
  return {Position(durable), true};
}
TrimMember dead(uint64_t durable) {
  return {Position(durable), false};
}

// A member alone is its own copy: what it holds durably may go.
TEST(TrimLimit, OneMember) {
  EXPECT_EQ(trim_limit({live(50)}, false), Position(51));
  EXPECT_EQ(trim_limit({live(50)}, true), Position(51));
}

// A live member that lags is waited for; over the cap it no longer is, and will heal by a snapshot.
TEST(TrimLimit, WaitsForLiveLaggards) {
  EXPECT_EQ(trim_limit({live(100), live(90), live(10)}, false), Position(11));
  EXPECT_EQ(trim_limit({live(100), live(90), live(10)}, true), Position(91));
}

// A dead member is not waited for.
TEST(TrimLimit, DeadMembersDoNotHoldTheLog) {
  EXPECT_EQ(trim_limit({live(100), live(90), dead(10)}, false), Position(91));
}

// What a single member holds durably stays, also over the cap: crash that member, and only the log has it.
// This is why `durable` counts and not `applied`: two members that applied 100 unsynced may both wake up at
// 40 after a power cut.
TEST(TrimLimit, TwoMustHoldItDurably) {
  EXPECT_EQ(trim_limit({live(100), dead(40), dead(10)}, false), Position(41));
  EXPECT_EQ(trim_limit({live(100), dead(40), dead(10)}, true), Position(41));
  EXPECT_EQ(trim_limit({live(100), dead(0)}, true), Position(1));
}

// Without a member list nothing goes.
TEST(TrimLimit, NobodyKnown) {
  EXPECT_EQ(trim_limit({}, true), Position(1));
}

}  // namespace
}  // namespace waypost::replication
