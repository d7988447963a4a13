// What FakeKernel adds to the rules that tests/kernel holds against the running kernel: planted faults, the
// look between steps, and waiting across threads.
#include "kernel_sync/fake_kernel.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace waypost::kernel_sync {
namespace {

IpAddress address(const char* text) {
  return parse_address(text).value();
}

KernelStep put_nexthop(uint32_t id, const char* gateway, uint32_t ifindex) {
  Nexthop nexthop;
  nexthop.gateway = address(gateway);
  PutKernelNexthop put;
  put.nexthop.object = {NexthopId(id), 87, nexthop};
  put.nexthop.ifindex = ifindex;
  return put;
}

KernelStep put_route(const char* to, uint8_t length, uint32_t nexthop) {
  PutKernelRoute put;
  put.route.route.key = {kMainTable, {address(to), length}, 0, 0};
  put.route.route.nexthop = NexthopId(nexthop);
  put.route.route.protocol = 87;
  return put;
}

class FakeKernelTest : public testing::Test {
 protected:
  FakeKernelTest() {
    e0_ = kernel_.fib().add_link("e0", true, true);
    kernel_.fib().add_address("e0", {address("10.7.0.1"), 24});
    kernel_.wait(0);
  }
  BatchOutcome run(const std::vector<KernelStep>& steps) { return kernel_.execute(steps); }
  size_t routes() {
    size_t count = 0;
    kernel_.dump_routes(Family::kIpv4, kMainTable, [&](const KernelRoute&) { ++count; });
    return count;
  }

  FakeKernel kernel_;
  uint32_t e0_ = 0;
};

// A test can look at the FIB after each step: here a replaced route is reachable throughout.
TEST_F(FakeKernelTest, ALookBetweenSteps) {
  ASSERT_TRUE(run({put_nexthop(1, "10.7.0.2", e0_), put_route("192.0.2.0", 24, 1)}).failures.empty());
  std::vector<std::string> ways;
  kernel_.after_step = [&](const KernelStep&, const FakeAnswer& answer) {
    EXPECT_TRUE(answer.ok());
    const auto paths = kernel_.forward(address("192.0.2.9"));
    ways.push_back(paths.empty() ? "none" : to_string(*paths[0].gateway));
  };
  run({put_nexthop(2, "10.7.0.3", e0_), put_route("192.0.2.0", 24, 2), DeleteKernelNexthop{NexthopId(1)}});
  EXPECT_EQ((std::vector<std::string>{"10.7.0.2", "10.7.0.3", "10.7.0.3"}), ways);
}

// A lost socket: what is before is known, what is behind may or may not have happened.
TEST_F(FakeKernelTest, ALostSocket) {
  kernel_.faults.lost_sockets = 1;
  kernel_.faults.lost_after = 1;
  kernel_.faults.lost_but_done = 1;
  const std::vector<KernelStep> steps = {put_nexthop(1, "10.7.0.2", e0_), put_nexthop(2, "10.9.9.9", e0_),
                                         put_route("192.0.2.0", 24, 1)};
  const BatchOutcome lost = run(steps);
  EXPECT_FALSE(lost.transport.ok());
  EXPECT_EQ(1u, lost.executed);
  EXPECT_TRUE(lost.failures.empty());
  EXPECT_EQ(1u, routes());  // the connected one
  const BatchOutcome again = run(steps);
  EXPECT_TRUE(again.transport.ok());
  EXPECT_EQ(3u, again.executed);
  ASSERT_EQ(1u, again.failures.size());
  EXPECT_EQ(1u, again.failures[0].index);
  EXPECT_EQ(ENETUNREACH, again.failures[0].error);
}

// Torn, failed and short dumps, each for as many calls as planted; gets are right all the time.
TEST_F(FakeKernelTest, FaultyDumps) {
  ASSERT_TRUE(run({put_nexthop(1, "10.7.0.2", e0_), put_route("192.0.2.0", 24, 1),
                   put_route("192.0.3.0", 24, 1), put_route("192.0.4.0", 24, 1)})
                  .failures.empty());
  const auto dump = [&](size_t& count) {
    count = 0;
    return kernel_.dump_routes(Family::kIpv4, kMainTable, [&](const KernelRoute&) { ++count; });
  };
  size_t count = 0;
  kernel_.faults.torn_dumps = 1;
  EXPECT_EQ(DumpOutcome::kInterrupted, dump(count));
  EXPECT_EQ(2u, count);
  kernel_.faults.failed_dumps = 1;
  EXPECT_EQ(DumpOutcome::kFailed, dump(count));
  kernel_.faults.short_dumps = 1;
  EXPECT_EQ(DumpOutcome::kComplete, dump(count));
  EXPECT_EQ(2u, count);
  EXPECT_TRUE(kernel_.get_route({kMainTable, {address("192.0.4.0"), 24}, 0, 0}).value().has_value());
  EXPECT_EQ(DumpOutcome::kComplete, dump(count));
  EXPECT_EQ(4u, count);
  EXPECT_EQ(4u, kernel_.counters().dumps);
  EXPECT_EQ(1u, kernel_.counters().dumps_interrupted);
  kernel_.faults.failed_gets = 1;
  EXPECT_FALSE(kernel_.get_nexthop(NexthopId(1)).ok());
  EXPECT_TRUE(kernel_.get_nexthop(NexthopId(1)).ok());
}

// A planted refusal stands in for the kernel's answer, and nothing happens.
TEST_F(FakeKernelTest, PlantedRefusals) {
  kernel_.faults.refuse = [](const KernelStep& step) -> std::optional<FakeAnswer> {
    if (std::holds_alternative<PutKernelRoute>(step)) return FakeAnswer{ENOMEM, "Cannot allocate memory"};
    return std::nullopt;
  };
  const BatchOutcome outcome = run({put_nexthop(1, "10.7.0.2", e0_), put_route("192.0.2.0", 24, 1)});
  ASSERT_EQ(1u, outcome.failures.size());
  EXPECT_EQ(ENOMEM, outcome.failures[0].error);
  EXPECT_EQ(1u, routes());
  kernel_.faults.refuse = nullptr;
  EXPECT_TRUE(run({put_route("192.0.2.0", 24, 1)}).failures.empty());
}

// An event queue that overflows says so once and goes on.
TEST_F(FakeKernelTest, OverrunOfEvents) {
  kernel_.faults.event_limit = 2;
  for (uint32_t id = 1; id <= 5; ++id) kernel_.foreign(std::vector{put_nexthop(id, "10.7.0.2", e0_)});
  const std::vector<KernelEvent> events = kernel_.wait(0);
  ASSERT_EQ(3u, events.size());
  EXPECT_TRUE(std::holds_alternative<OverrunEvent>(events[0]));
  EXPECT_EQ(1u, kernel_.counters().overruns);
  EXPECT_TRUE(kernel_.wait(0).empty());
}

// Another thread's change, and its wake, end a wait that has no limit.
TEST_F(FakeKernelTest, WaitingAcrossThreads) {
  std::thread other([&] {
    kernel_.change([&](FakeFib& fib) { fib.set_carrier("e0", false); });
    kernel_.wake();
  });
  bool link = false;
  bool wake = false;
  while (!link || !wake) {
    for (const KernelEvent& event : kernel_.wait(-1)) {
      link = link || std::holds_alternative<LinkEvent>(event);
      wake = wake || std::holds_alternative<WakeEvent>(event);
    }
  }
  other.join();
  EXPECT_TRUE(kernel_.wait(1).empty());
  kernel_.wait_blocks = false;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(kernel_.wait(60'000).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

// The match among many routes costs the lengths that occur, not the routes: 100,000 of them are matched
// 100,000 times in passing.
TEST_F(FakeKernelTest, MatchesAmongManyRoutes) {
  ASSERT_TRUE(run({put_nexthop(1, "10.7.0.2", e0_)}).failures.empty());
  std::vector<KernelStep> steps;
  for (uint32_t i = 0; i < 100'000; ++i) {
    PutKernelRoute put;
    put.route.route.key = {kMainTable, {IpAddress::v4(0x20000000 + (i << 8)), 24}, 0, 0};
    put.route.route.nexthop = NexthopId(1);
    steps.push_back(put);
  }
  ASSERT_TRUE(run(steps).failures.empty());
  for (uint32_t i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(kernel_.match_route(IpAddress::v4(0x20000001 + (i << 8)), kMainTable).value().has_value());
  }
  ASSERT_TRUE(run({DeleteKernelNexthop{NexthopId(1)}}).failures.empty());
  EXPECT_EQ(1u, routes());
}

}  // namespace
}  // namespace waypost::kernel_sync
