#include "kernel_sync/fib_diff.h"

#include <gtest/gtest.h>

#include "tests/kernel_sync/engine_harness.h"

namespace waypost::kernel_sync {
namespace {

using Kind = FibDifference::Kind;

class FibDiffTest : public testing::Test {
 protected:
  FibDiffTest() {
    put_nexthops(host_);
    for (int index = 0; index < 20; ++index) host_.put(route("10." + std::to_string(index) + ".0.0/16", 1));
    host_.commit_and_run();
  }

  std::vector<FibDifference> differences() {
    std::vector<FibDifference> lines;
    const Status status = FibDiff(*host_.engine).run(host_.now_ms, [&](const FibDifference& line) {
      lines.push_back(line);
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return lines;
  }

  EngineHarness host_;
};

TEST_F(FibDiffTest, NothingWhereBothAgree) {
  EXPECT_EQ(differences().size(), 0u);
}

// Rows that a dump leaves out, or tears, are no differences.
TEST_F(FibDiffTest, DoesNotBelieveADumpAlone) {
  host_.kernel.faults.short_dumps = 2;
  EXPECT_EQ(differences().size(), 0u);
  host_.kernel.faults.torn_dumps = 3;
  EXPECT_EQ(differences().size(), 0u);
}

// A row that goes while the dump runs is shown as it is in the end, and never as something half seen.
TEST_F(FibDiffTest, HearsOfChangesWhileItLooks) {
  host_.kernel.faults.restarted_dumps = 1;
  host_.kernel.faults.amid_dump = [this] {
    host_.kernel.fib().delete_route({.key = key("10.7.0.0/16"), .type = {}, .protocol = {}, .nexthop = {}});
  };
  for (const FibDifference& line : differences()) EXPECT_EQ(to_string(line.row.route), "10.7.0.0/16");
}

TEST_F(FibDiffTest, SaysWhatIsMissingWhatIsOthersAndWhatIsLeft) {
  host_.foreign_delete(key("10.3.0.0/16"));
  host_.foreign_delete(key("10.4.0.0/16"));
  Route theirs = route("10.4.0.0/16", 2);
  theirs.protocol = 186;
  host_.foreign_put(theirs);
  Route left = route("10.200.0.0/16", 1);
  left.protocol = host_.options.protocol;
  host_.foreign_put(left);
  const std::vector<FibDifference> lines = differences();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(to_string(lines[0].row.route), "10.3.0.0/16");
  EXPECT_EQ(lines[0].kind, Kind::kMissing);
  EXPECT_EQ(to_string(lines[1].row.route), "10.4.0.0/16");
  EXPECT_EQ(lines[1].kind, Kind::kDifferent);
  EXPECT_NE(lines[1].found.find("proto bgp"), std::string::npos) << lines[1].found;
  EXPECT_EQ(to_string(lines[2].row.route), "10.200.0.0/16");
  EXPECT_EQ(lines[2].kind, Kind::kExtra);
}

TEST_F(FibDiffTest, NexthopsTakenAwayAndLeftOver) {
  host_.foreign_delete(id(3));
  NexthopObject left = via(77, "10.7.0.77", "e0");
  left.protocol = host_.options.protocol;
  host_.foreign_put(left, host_.ifindex("e0"));
  const std::vector<FibDifference> lines = differences();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].row.nexthop, id(3));
  EXPECT_EQ(lines[0].kind, Kind::kMissing);
  EXPECT_EQ(lines[1].row.nexthop, id(77));
  EXPECT_EQ(lines[1].kind, Kind::kExtra);
  EXPECT_NE(lines[1].found.find("via 10.7.0.77 dev e0"), std::string::npos) << lines[1].found;
}

// A look that fails says so, and shows nothing.
TEST_F(FibDiffTest, AFailedLookIsAnError) {
  host_.kernel.faults.failed_dumps = 5;
  const Status status = FibDiff(*host_.engine).run(host_.now_ms, [](const FibDifference&) { return true; });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace waypost::kernel_sync
