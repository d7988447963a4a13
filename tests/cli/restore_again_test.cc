// A stream that is restored a second time finds its rows there, in whatever order it names them, and says
// which are others now.
#include <gtest/gtest.h>

#include "tests/cli/live_cli.h"

namespace waypost::cli {
namespace {

TEST(RestoreAgain, ComparesRowsOfAnyOrderAndDensity) {
  LiveCli cli;
  std::string lines = "nexthop add id 1 blackhole\nnexthop add id 2 blackhole\n";
  for (int i = 0; i < 5'000; ++i)
    lines += "route add 10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24 nhid " +
             (i % 40 == 0 ? "1" : "2") + "\n";
  for (int metric = 0; metric < 300; ++metric)
    lines += "route add 192.0.2.0/24 metric " + std::to_string(metric) + " nhid " +
             (metric % 7 == 0 ? "1" : "2") + "\n";
  ASSERT_EQ(cli.waypost({"-batch", "-"}, lines).code, kExitOk);
  const std::string all = cli.waypost({"route", "save"}).out;
  const std::string few = cli.waypost({"route", "save", "nhid", "1"}).out;
  EXPECT_EQ(cli.waypost({"route", "restore"}, all).err, "restored 0 routes, 5,300 were there already\n");
  EXPECT_EQ(cli.waypost({"route", "restore"}, few).err, "restored 0 routes, 168 were there already\n");
  // Both behind one another: an order that is not the store's, and keys that come twice.
  const std::string both = few + all.substr(4);
  EXPECT_EQ(cli.waypost({"route", "restore"}, both).err, "restored 0 routes, 5,468 were there already\n");

  ASSERT_EQ(cli.waypost({"route", "replace", "10.3.0.0/24", "nhid", "1"}).code, kExitOk);
  ASSERT_EQ(cli.waypost({"route", "del", "10.4.0.0/24"}).code, kExitOk);
  const LiveCli::Printed printed = cli.waypost({"route", "restore"}, all);
  EXPECT_EQ(printed.code, kExitPartly);
  EXPECT_EQ(printed.err,
            "error: route 10.3.0.0/24 exists and is another one\n"
            "hint: delete it first, or `waypost route replace` it\n"
            "restored 1 route, 5,298 were there already, refused 1\n");
}

}  // namespace
}  // namespace waypost::cli
