#include <gtest/gtest.h>

#include "tests/kernel_sync/engine_harness.h"

namespace waypost::kernel_sync {
namespace {

// A route of each family over nexthops of both devices.
void fill_both_families(EngineHarness& host) {
  put_nexthops(host);
  host.put(route("10.2.0.0/16", 1));
  host.put(route("2001:db8:1::/48", 3));
  host.commit_and_run();
  ASSERT_EQ(host.difference(), "");
}

// The row behind ours that `append` with our own number makes is found and cleaned (KERNEL.md K11, cases
// 43-46).
TEST(Twins, AreCleaned) {
  EngineHarness host;
  host.put(via(4, "2001:db8:71::2", "e1"));
  fill_both_families(host);
  for (const char* prefix_text : {"10.2.0.0/16", "2001:db8:1::/48"}) {
    KernelRoute twin;
    twin.route = route(prefix_text, prefix_text[0] == '1' ? 2 : 4);
    twin.route.protocol = host.options.protocol;
    ASSERT_EQ(host.kernel.foreign_append(twin).words, "");
    host.run();
    EXPECT_EQ(host.engine->audit(host.now_ms, 1).ok(), true);
    host.run();
    size_t rows = 0;
    host.kernel.fib().visit_routes(
        twin.route.key.prefix.family(), std::nullopt,
        [&](const KernelRoute& found) { rows += found.route.key == twin.route.key; });
    EXPECT_EQ(rows, 1u) << prefix_text;
  }
  EXPECT_EQ(host.difference(), "");
}

// A dump beside another owner's changes shows a row of ours twice: that is no twin, and nothing is deleted
// for it.
TEST(Twins, NoneWhereARowIsShownTwice) {
  EngineHarness host;
  fill_both_families(host);
  host.run();
  const uint64_t steps = host.engine->counters().steps;
  for (uint32_t turn = 1; turn <= 3; ++turn) {
    host.kernel.faults.restarted_dumps = 2;
    host.kernel.faults.amid_dump = [&] {
      for (const char* text : {"198.51.100.0/24", "2001:db8:99::/48"}) {
        KernelRoute other;
        other.route.key = key(text);
        other.route.key.metric = turn * 10 + static_cast<uint32_t>(host.kernel.faults.restarted_dumps);
        other.route.type = RouteType::kUnreachable;
        other.route.protocol = 186;
        ASSERT_EQ(host.kernel.foreign_append(other).words, "");
      }
    };
    EXPECT_TRUE(host.engine->audit(host.now_ms, turn).ok());
    EXPECT_EQ(host.kernel.faults.restarted_dumps, 0);
    host.run();
    EXPECT_EQ(host.engine->counters().steps, steps);
  }
  EXPECT_EQ(host.engine->counters().repaired_routes, 0u);
  EXPECT_EQ(host.difference(), "");
}

}  // namespace
}  // namespace waypost::kernel_sync
