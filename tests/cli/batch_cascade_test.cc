// With --cascade a line of a batch may take more rows along than a transaction holds: it runs as a job, in
// its place, and what stands behind it goes on.
#include <gtest/gtest.h>

#include "model/limits.h"
#include "tests/cli/live_cli.h"

namespace waypost::cli {
namespace {

constexpr int kMany = static_cast<int>(limits::kMaxChangesPerTransaction) + 4'000;

std::string prefix(int index) {
  return "10." + std::to_string(index / 256) + "." + std::to_string(index % 256) + ".0/24";
}

std::string routes(int first, int count, int nexthop) {
  std::string lines;
  for (int i = first; i < first + count; ++i)
    lines += "route add " + prefix(i) + " nhid " + std::to_string(nexthop) + "\n";
  return lines;
}

class BatchCascade : public testing::Test {
 protected:
  LiveCli cli_;
};

TEST_F(BatchCascade, RunsInItsPlaceAndTheRestGoesOn) {
  const std::string file = "nexthop add id 1 blackhole\nnexthop add id 2 blackhole\n" + routes(0, kMany, 1) +
                           "nexthop del id 1\nnexthop add id 1 blackhole\n" + routes(0, kMany, 1) +
                           "nexthop del id 1\n" + routes(0, 3'000, 2);
  const LiveCli::Printed printed = cli_.waypost({"--cascade", "-batch", "-"}, file);
  EXPECT_EQ(printed.code, kExitOk) << printed.err;
  EXPECT_NE(printed.err.find("applied 43,773 lines"), std::string::npos) << printed.err;
  EXPECT_EQ(cli_.count("nexthop"), 1);
  EXPECT_EQ(cli_.count("route"), 3'000);
}

// Where -force leaves a refused line out, those behind it still see what stands before them.
TEST_F(BatchCascade, ForceKeepsTheOrderOfTheFile) {
  const std::string file = "nexthop add id 1 blackhole\nnexthop add id 1 blackhole\n" + routes(0, kMany, 1) +
                           "nexthop del id 7\nnexthop del id 1\nnexthop add id 1 blackhole\n" +
                           "route add 10.0.0.0/24 nhid 9\n" + routes(0, 2'000, 1);
  const LiveCli::Printed printed = cli_.waypost({"--cascade", "-force", "-batch", "-"}, file);
  EXPECT_EQ(printed.code, kExitPartly) << printed.err;
  for (const char* line : {":2:", ":20387:", ":20390:"})
    EXPECT_NE(printed.err.find("error: standard input" + std::string(line)), std::string::npos)
        << printed.err;
  EXPECT_NE(printed.err.find("applied 22,387 lines, refused 3"), std::string::npos) << printed.err;
  EXPECT_EQ(cli_.count("route"), 2'000);
}

// One transaction cannot hold it, and says what helps.
TEST_F(BatchCascade, AtomicIsRefused) {
  ASSERT_EQ(cli_.waypost({"-batch", "-"}, "nexthop add id 1 blackhole\n" + routes(0, kMany, 1)).code,
            kExitOk);
  const LiveCli::Printed printed =
      cli_.waypost({"--cascade", "--atomic", "-batch", "-"}, "nexthop del id 1\n");
  EXPECT_EQ(printed.code, kExitRefused);
  EXPECT_NE(printed.err.find("error: standard input:1:"), std::string::npos) << printed.err;
  EXPECT_NE(printed.err.find("leave --atomic out"), std::string::npos) << printed.err;
  EXPECT_EQ(cli_.count("route"), kMany);
}

}  // namespace
}  // namespace waypost::cli
