#include <gtest/gtest.h>

#include "tests/kernel_sync/engine_harness.h"

namespace waypost::kernel_sync {
namespace {

// One transaction with nexthops, a group and routes of both families: all in the kernel, in the order in
// which the kernel takes them, and not one step more.
TEST(Engine, PutsNexthopsThenGroupsThenRoutes) {
  EngineHarness host;
  host.put(route("10.1.0.0/16", 10));
  host.put(route("2001:db8:1::/48", 3));
  host.put(group(10, {1, 2}));
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(via(2, "10.7.1.2", "e1"));
  host.put(via(3, "2001:db8:70::2", "e0"));
  host.commit_and_run();
  EXPECT_EQ(host.take_steps(),
            "add nexthop 1 via 10.7.0.2 dev 2\n"
            "add nexthop 2 via 10.7.1.2 dev 3\n"
            "add nexthop 3 via 2001:db8:70::2 dev 2\n"
            "add group 10 1 2\n"
            "add route 10.1.0.0/16 nhid 10\n"
            "add route 2001:db8:1::/48 nhid 3\n");
  EXPECT_EQ(host.difference(), "");
  EXPECT_TRUE(host.engine->in_sync());
}

}  // namespace
}  // namespace waypost::kernel_sync
