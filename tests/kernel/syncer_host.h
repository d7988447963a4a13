// A store, the syncer's thread and the running kernel, in a network namespace of its own with e0 and e1.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernel_sync/netlink/netlink_kernel.h"
#include "kernel_sync/syncer.h"
#include "tests/kernel/build.h"
#include "tests/kernel/world.h"
#include "tests/store/harness.h"

namespace waypost::kernel_sync {

inline NexthopId id(uint32_t value) {
  return NexthopId(value);
}

class SyncerKernelTest : public ::testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;

  SyncerKernelTest() : world_(make_real_world()) {
    options_.data_directory = store_.directory();
    options_.mark_path = marks_.path() + "/mark";
    options_.audit_period_ms = 0;
  }

  void start() {
    syncer_ = std::make_unique<Syncer>(options_, *store_,
                                       [this] { return open_netlink_kernel({.watch = watch_}); });
    const Status status = syncer_->start();
    ASSERT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  }
  void stop() { syncer_.reset(); }

  WaitReport wait(Syncer::Rows rows = {}) {
    syncer_->notify();
    std::promise<WaitReport> answer;
    syncer_->wait(store_->stamp().revision, std::move(rows), std::chrono::seconds(30),
                  [&](WaitReport report) { answer.set_value(std::move(report)); });
    return answer.get_future().get();
  }

  // The rows of another look at the kernel, beside the syncer's.
  std::vector<KernelRoute> routes(uint8_t protocol) {
    std::vector<KernelRoute> rows;
    for (Family family : {Family::kIpv4, Family::kIpv6}) {
      const DumpOutcome outcome =
          world_->kernel().dump_routes(family, std::nullopt, [&](const KernelRoute& found) {
            if (found.route.protocol == protocol) rows.push_back(found);
          });
      EXPECT_EQ(outcome, DumpOutcome::kComplete);
    }
    return rows;
  }
  size_t ours() { return routes(options_.protocol).size(); }

  // The lines of `fib diff`; those that only say why a row cannot be here are left out.
  size_t differences() {
    std::promise<bool> done;
    size_t lines = 0;
    syncer_->diff(
        [&](const FibDifference& line) {
          const bool explained =
              line.row.state == RowState::kDegraded ||
              (line.kind == FibDifference::Kind::kMissing && line.row.state != RowState::kInstalled);
          if (!explained) {
            ++lines;
            ADD_FAILURE() << "wanted: " << line.wanted << " found: " << line.found;
          }
          return lines < 5;
        },
        [&](Status status) { done.set_value(status.ok()); });
    EXPECT_TRUE(done.get_future().get());
    return lines;
  }

  // Milliseconds until it is so; a failure after ten seconds.
  int64_t until(const std::function<bool()>& so) {
    const auto begin = Clock::now();
    while (!so()) {
      if (Clock::now() - begin > std::chrono::seconds(10)) {
        ADD_FAILURE() << "not so after ten seconds";
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
  }

  static std::string nth(uint32_t index) {
    return "10." + std::to_string(16 + index / 256) + "." + std::to_string(index % 256) + ".0/24";
  }

  // Nexthops 1 (e0), 2 (e1), 3 (IPv6), group 10 of 1 and 2, `count` routes over the group, a few over each
  // nexthop.
  void fill(uint32_t count) {
    store_.run({store::put(1, store::via("10.7.0.2", "e0")), store::put(2, store::via("10.7.1.2", "e1")),
                store::put(3, store::via("2001:db8:70::2", "e0")), store::put_group(10, {1, 2}),
                store::put_route("172.16.1.0/24", 1), store::put_route("172.16.2.0/24", 2),
                store::put_route("2001:db8:1::/48", 3)});
    for (uint32_t begin = 0; begin < count; begin += 1'000) {
      std::vector<Command> commands;
      for (uint32_t index = begin; index < std::min(begin + 1'000, count); ++index)
        commands.push_back(store::put_route(nth(index), 10));
      store_.run(std::move(commands));
    }
  }

  static void ip(const std::string& arguments) {
    ASSERT_EQ(std::system(("ip " + arguments).c_str()), 0) << arguments;
  }

  std::unique_ptr<World> world_;
  store::TestStore store_;
  store::TemporaryDirectory marks_;
  SyncerOptions options_;
  bool watch_ = true;  // false: the syncer hears no events
  std::unique_ptr<Syncer> syncer_;
};

}  // namespace waypost::kernel_sync
