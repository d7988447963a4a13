#include "kernel_sync/syncer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/kernel_sync/engine_harness.h"
#include "tests/store/harness.h"

namespace waypost::kernel_sync {
namespace {

using store::TestStore;

// A real store, a fake kernel, and the syncer's own thread between them.
class SyncerTest : public ::testing::Test {
 protected:
  SyncerTest() {
    options_.data_directory = store_.directory();
    options_.mark_path = marks_.path() + "/mark";
    options_.audit_period_ms = 0;
    options_.link_settle_ms = 20;
    add_devices();
  }

  void add_devices() {
    kernel_ = std::make_shared<FakeKernel>();
    kernel_->change([](FakeFib& fib) {
      fib.add_link("e0", true, true);
      fib.add_address("e0", Prefix{address("10.7.0.1"), 24});
    });
  }

  // The syncer owns its Kernel; this one only passes on, so that the test keeps the fake across restarts.
  class Borrowed final : public Kernel {
   public:
    static inline std::atomic<uint64_t> waits = 0;
    explicit Borrowed(std::shared_ptr<FakeKernel> kernel) : kernel_(std::move(kernel)) {}
    BatchOutcome execute(std::span<const KernelStep> steps) override { return kernel_->execute(steps); }
    DumpOutcome dump_nexthops(const std::function<void(const KernelNexthop&)>& visit) override {
      return kernel_->dump_nexthops(visit);
    }
    DumpOutcome dump_routes(Family family, std::optional<TableId> table,
                            const std::function<void(const KernelRoute&)>& visit) override {
      return kernel_->dump_routes(family, table, visit);
    }
    DumpOutcome dump_addresses(const std::function<void(const KernelAddress&)>& visit) override {
      return kernel_->dump_addresses(visit);
    }
    DumpOutcome dump_links(const std::function<void(const KernelLink&)>& visit) override {
      return kernel_->dump_links(visit);
    }
    Result<std::optional<KernelNexthop>> get_nexthop(NexthopId nexthop) override {
      return kernel_->get_nexthop(nexthop);
    }
    Result<std::optional<KernelRoute>> match_route(const IpAddress& to, TableId table) override {
      return kernel_->match_route(to, table);
    }
    Result<std::optional<KernelRoute>> lookup(const IpAddress& to) override { return kernel_->lookup(to); }
    Result<bool> has_route(const RouteKey& route) override { return kernel_->has_route(route); }
    Result<std::optional<KernelRoute>> get_route(const RouteKey& route) override {
      return kernel_->get_route(route);
    }
    Result<std::optional<KernelLink>> get_link(std::string_view name) override {
      return kernel_->get_link(name);
    }
    Result<std::optional<KernelLink>> get_link(uint32_t ifindex) override {
      return kernel_->get_link(ifindex);
    }
    std::vector<KernelEvent> wait(int timeout_ms) override {
      ++waits;
      return kernel_->wait(timeout_ms);
    }
    void wake() override { kernel_->wake(); }
    Result<int> compat_mode() override { return kernel_->compat_mode(); }
    Status set_compat_mode(int mode) override { return kernel_->set_compat_mode(mode); }
    Capabilities capabilities() override { return kernel_->capabilities(); }
    KernelCounters counters() const override { return kernel_->counters(); }

   private:
    std::shared_ptr<FakeKernel> kernel_;
  };

  void start() {
    syncer_ = std::make_unique<Syncer>(options_, *store_, [this]() -> Result<std::unique_ptr<Kernel>> {
      return std::unique_ptr<Kernel>(std::make_unique<Borrowed>(kernel_));
    });
    const Status status = syncer_->start();
    ASSERT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  }

  WaitReport wait(Syncer::Rows rows = {}) {
    syncer_->notify();
    std::promise<WaitReport> answer;
    syncer_->wait(store_->stamp().revision, std::move(rows), std::chrono::seconds(10),
                  [&](WaitReport report) { answer.set_value(std::move(report)); });
    return answer.get_future().get();
  }

  uint64_t ours() {
    uint64_t count = 0;
    kernel_->change([&](FakeFib& fib) {
      for (Family family : {Family::kIpv4, Family::kIpv6})
        fib.visit_routes(family, std::nullopt, [&](const KernelRoute& found) {
          count += found.route.protocol == options_.protocol;
        });
      for (const auto& [nexthop, found] : fib.nexthops()) count += found.object.protocol == options_.protocol;
    });
    return count;
  }

  // One nexthop and this many routes over it.
  void fill(uint32_t count) {
    store_.run({store::put(1, store::via("10.7.0.2", "e0"))});
    std::vector<Command> commands;
    for (uint32_t index = 0; index < count; ++index) {
      commands.push_back(store::put_route(
          "10." + std::to_string(16 + index / 256) + "." + std::to_string(index % 256) + ".0/24", 1));
      if (commands.size() == 4'000) store_.run(std::exchange(commands, {}));
    }
    if (!commands.empty()) store_.run(std::move(commands));
  }

  TestStore store_;
  store::TemporaryDirectory marks_;
  std::shared_ptr<FakeKernel> kernel_;
  SyncerOptions options_;
  std::unique_ptr<Syncer> syncer_;
};

// What is committed while the syncer runs is in the kernel when wait() says so, and gone again when it is
// deleted.
TEST_F(SyncerTest, FollowsTheStore) {
  start();
  fill(100);
  WaitReport report = wait({.nexthops = {id(1)}, .routes = {key("10.16.5.0/24")}});
  EXPECT_TRUE(report.reached);
  EXPECT_EQ(report.not_installed_count, 0u);
  EXPECT_EQ(ours(), 101u);
  store_.run({store::drop(1, true)});
  EXPECT_TRUE(wait().reached);
  EXPECT_EQ(ours(), 0u);
}

// Withdrawals that follow each other wait for those behind them, so that many may become one (KERNEL.md K10);
// the thread sleeps meanwhile.
TEST_F(SyncerTest, SleepsWhileWithdrawalsGather) {
  start();
  fill(30'000);
  ASSERT_TRUE(wait().reached);
  const uint64_t before = Borrowed::waits;
  for (uint32_t turn = 0; turn < 25; ++turn) {
    std::vector<Command> commands;
    for (uint32_t index = turn * 1'100; index < turn * 1'100 + 1'100; ++index)
      commands.push_back(store::drop_route("10." + std::to_string(16 + index / 256) + "." +
                                           std::to_string(index % 256) + ".0/24"));
    store_.run(std::move(commands));
    syncer_->notify();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(Borrowed::waits - before, 25u * 20);
  EXPECT_TRUE(wait().reached);
  EXPECT_EQ(ours(), 2'501u);
}

// Rows that this host cannot take: the wait ends, and says which and why.
TEST_F(SyncerTest, SaysWhatIsNotInstalled) {
  start();
  store_.run({store::put(7, store::via("10.9.0.2", "eth7")), store::put_route("10.1.0.0/16", 7)});
  const WaitReport report = wait({.nexthops = {id(7)}, .routes = {key("10.1.0.0/16")}});
  EXPECT_TRUE(report.reached);
  ASSERT_EQ(report.not_installed_count, 2u);
  EXPECT_EQ(report.not_installed[0].reason, "device eth7 does not exist");
  EXPECT_EQ(report.not_installed[1].reason, "nexthop 7 is pending: device eth7 does not exist");
  const FibStatus status = syncer_->status();
  EXPECT_TRUE(status.in_sync);
}

// A restart over a full FIB adopts what is there: not one step.
TEST_F(SyncerTest, RestartTouchesNothing) {
  start();
  fill(500);
  ASSERT_TRUE(wait().reached);
  syncer_->stop();
  size_t steps = 0;
  kernel_->after_step = [&](const KernelStep&, const FakeAnswer&) { ++steps; };
  start();
  EXPECT_TRUE(wait().reached);
  EXPECT_EQ(steps, 0u);
  EXPECT_EQ(ours(), 501u);
}

// What was deleted from the store while the syncer was away goes at its start: the mark proves that the store
// is the same.
TEST_F(SyncerTest, SweepsWithProof) {
  start();
  fill(50);
  ASSERT_TRUE(wait().reached);
  syncer_->stop();
  store_.run({store::drop_route("10.16.3.0/24")});
  start();
  EXPECT_TRUE(wait().reached);
  EXPECT_EQ(ours(), 50u);
  EXPECT_EQ(syncer_->status().hold, "");
}

// The mark is gone, or another store came: nothing is removed, the status says why, and `fib sweep` goes on.
TEST_F(SyncerTest, HoldsWithoutProof) {
  start();
  fill(50);
  ASSERT_TRUE(wait().reached);
  syncer_->stop();
  store_.run({store::drop(1, true)});
  ::unlink(options_.mark_path.c_str());
  start();
  EXPECT_TRUE(wait().reached);
  EXPECT_EQ(ours(), 51u);
  FibStatus status = syncer_->status();
  EXPECT_FALSE(status.in_sync);
  EXPECT_NE(status.hold.find("51 of 51 objects in the kernel are not in the store"), std::string::npos)
      << status.hold;
  EXPECT_NE(status.hold.find("waypost fib sweep"), std::string::npos);
  // What is committed now still goes in, under the hold.
  store_.run({store::put(2, store::via("10.7.0.3", "e0")), store::put_route("10.99.0.0/16", 2)});
  EXPECT_EQ(wait({.nexthops = {id(2)}, .routes = {key("10.99.0.0/16")}}).not_installed_count, 0u);
  EXPECT_EQ(ours(), 53u);
  std::promise<bool> swept;
  syncer_->sweep([&](Status result) { swept.set_value(result.ok()); });
  EXPECT_TRUE(swept.get_future().get());
  EXPECT_EQ(ours(), 2u);
}

// `fib release` takes away what is ours and nothing else, and then stays idle.
TEST_F(SyncerTest, ReleaseRemovesOursOnly) {
  start();
  fill(20);
  ASSERT_TRUE(wait().reached);
  PutKernelRoute foreign;
  foreign.route.route = route("192.0.2.0/24", 0);
  foreign.route.route.protocol = 4;
  foreign.route.route.type = RouteType::kBlackhole;
  const KernelStep step = foreign;
  ASSERT_TRUE(kernel_->foreign({&step, 1}).failures.empty());
  std::promise<uint64_t> released;
  syncer_->release([&](Result<uint64_t> count) { released.set_value(count.ok() ? *count : 0); });
  EXPECT_EQ(released.get_future().get(), 21u);
  EXPECT_EQ(ours(), 0u);
  EXPECT_TRUE(kernel_->fib().find_route(key("192.0.2.0/24")));
}

// The same without a daemon.
TEST_F(SyncerTest, ReleaseOffline) {
  start();
  fill(20);
  ASSERT_TRUE(wait().reached);
  syncer_->stop();
  Result<uint64_t> count = release_offline(options_, *kernel_);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 21u);
  EXPECT_EQ(ours(), 0u);
}

// `fib diff` shows what another process did before the syncer has mended it, and is empty after.
TEST_F(SyncerTest, DiffAndGet) {
  start();
  fill(5);
  ASSERT_TRUE(wait().reached);
  std::promise<size_t> lines;
  size_t count = 0;
  syncer_->diff(
      [&](const FibDifference&) {
        ++count;
        return true;
      },
      [&](Status result) { lines.set_value(result.ok() ? count : 999); });
  EXPECT_EQ(lines.get_future().get(), 0u);
  std::promise<FibGetReport> got;
  syncer_->get(address("10.16.3.9"), kMainTable,
               [&](Result<FibGetReport> report) { got.set_value(*report); });
  const FibGetReport report = got.get_future().get();
  ASSERT_TRUE(report.desired && report.kernel);
  EXPECT_EQ(to_string(report.desired->key), "10.16.3.0/24");
  EXPECT_EQ(to_string(report.kernel->route.key), "10.16.3.0/24");
  EXPECT_EQ(report.kernel_device, "e0");
}

}  // namespace
}  // namespace waypost::kernel_sync
