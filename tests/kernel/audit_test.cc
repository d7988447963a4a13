#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/data/read_prefixes.h"
#include "tests/kernel/syncer_host.h"

// Whole: WAYPOST_AUDITS=1000 kernel_test --gtest_filter='Audits.UnderChurn'
//        WAYPOST_AUDITS=10 WAYPOST_TABLE=full kernel_test --gtest_filter='Audits.UnderChurn'
namespace waypost::kernel_sync {
namespace {

constexpr uint32_t kRoutes = 20'000;
constexpr const char* kNothing = "0 nexthops and 0 routes missing, 0 and 0 extra, 0 and 0 different";

class Audits : public SyncerKernelTest {
 protected:
  // Routes of another owner come and go in the same tables, which is what tears dumps (KERNEL.md K15).
  static void others_churn(const std::atomic<bool>& stop, uint32_t rows) {
    const Result<std::unique_ptr<Kernel>> kernel = open_netlink_kernel({.watch = false});
    for (uint32_t turn = 0; !stop; ++turn) {
      std::vector<KernelStep> steps;
      for (uint32_t index = 0; index < rows; ++index) {
        const uint32_t number = (turn / 2 * 7'919 + index * 31) % 65'536;
        for (const std::string& text :
             {"10." + std::to_string(16 + number / 1'024) + "." + std::to_string(number / 4 % 256) + "." +
                  std::to_string(number % 4 * 64) + "/26",
              "2001:db8:5:" + hex(number) + "::/64"}) {
          const RouteKey at = key(text);
          if (turn % 2 == 0) {
            KernelRoute row = error_route(at, RouteType::kUnreachable);
            row.route.protocol = kTheirs;
            steps.push_back(put(row));
          } else {
            steps.push_back(del(at));
          }
        }
      }
      (void)(*kernel)->execute(steps);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  static std::string hex(uint32_t value) {
    char text[9];
    std::snprintf(text, sizeof text, "%x", value);
    return text;
  }

  // Our own changes: routes move between groups, come and go; members of a group change.
  void churn(uint32_t turn) {
    std::vector<Command> commands;
    for (uint32_t index = 0; index < 40; ++index)
      commands.push_back(
          store::put_route(nth((turn * 1'013 + index * 37) % 2'000), turn % 2 ? 1 : 10, Verb::kReplace));
    for (uint32_t index = 0; index < 40; ++index) {
      const std::string passing =
          "172.20." + std::to_string(index) + "." + std::to_string(turn / 2 % 64 * 4) + "/30";
      commands.push_back(turn % 2 ? store::drop_route(passing) : store::put_route(passing, 10));
    }
    commands.push_back(
        store::put(2, store::via("10.7.1." + std::to_string(2 + turn % 50), "e1"), Verb::kReplace));
    ASSERT_TRUE(store_.run(std::move(commands)).refusals.empty());
    syncer_->notify();
  }

  void fill_whole_table() {
    fill(2'000);
    for (Family family : {Family::kIpv4, Family::kIpv6}) {
      const uint32_t nexthop = family == Family::kIpv4 ? 10 : 3;
      std::vector<Command> commands;
      for (const Prefix& to : read_prefixes(WAYPOST_SOURCE_DIR, family)) {
        if (to.family() == Family::kIpv4 && to.address.bytes[0] == 10) continue;
        commands.push_back(store::put_route(to_string(to), nexthop, Verb::kReplace));
        if (commands.size() == 4'096) store_.run(std::exchange(commands, {}));
      }
      store_.run(std::move(commands));
    }
  }

  Status audit() {
    std::promise<Status> audited;
    syncer_->audit([&](Status status) { audited.set_value(std::move(status)); });
    return audited.get_future().get();
  }
  FibStatus fresh_status(uint64_t audits) {
    until([&] { return syncer_->status().audits >= audits; });
    return syncer_->status();
  }
};

// Audits beside changes of our own and of another owner: nobody tampers, so none may find anything missing,
// extra or different, whatever the dumps leave out; and nothing is repaired.
TEST_F(Audits, UnderChurn) {
  const char* wanted = std::getenv("WAYPOST_AUDITS");
  const uint32_t audits = wanted != nullptr ? static_cast<uint32_t>(std::atoi(wanted)) : 25;
  const char* table = std::getenv("WAYPOST_TABLE");
  start();
  table != nullptr ? fill_whole_table() : fill(kRoutes);
  ASSERT_TRUE(wait().reached);
  std::atomic<bool> stop = false;
  std::atomic<uint32_t> turns = 0;
  std::thread others([&] { others_churn(stop, table != nullptr ? 50 : 300); });
  std::thread ours([&] {
    for (uint32_t turn = 0; !stop; ++turn, ++turns) {
      churn(turn);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  uint64_t took_us = 0, failed = 0, found = 0;
  for (uint32_t number = 1; number <= audits; ++number) {
    if (!audit().ok()) ++failed;  // torn five times: nothing is concluded
    if (number % 25 != 0 && number != audits) continue;
    const FibStatus status = fresh_status(number);
    took_us += status.last_audit_took_us;
    if (status.last_audit_result != kNothing && status.last_audit_result.find("torn") == std::string::npos)
      ++found;
  }
  stop = true;
  others.join();
  ours.join();
  ASSERT_TRUE(wait().reached);
  ASSERT_TRUE(audit().ok());
  const FibStatus status = fresh_status(audits + 1);
  const uint64_t samples = (audits + 24) / 25;
  const double ms = static_cast<double>(took_us) / 1e3 / static_cast<double>(samples);
  std::printf(
      "%u audits of %lu routes beside %u transactions: %lu torn, %lu rows not shown by a dump and there; "
      "%.0f ms each, %.3f %% of a core every five minutes\n",
      audits, status.kernel_routes, turns.load(), failed, status.false_missing, ms, ms / 3'000);
  EXPECT_EQ(found, 0u);
  EXPECT_EQ(status.repaired_nexthops + status.repaired_routes, 0u) << status.last_drift;
  EXPECT_EQ(status.last_audit_result, kNothing);
  EXPECT_LT(failed, audits / 2 + 1);
  EXPECT_EQ(differences(), 0u);
}

// What others do to our objects, once where the kernel's events are heard and once where nothing is: repaired
// within a second, or within a period of the audit and its spread.
class Tampering : public Audits, public ::testing::WithParamInterface<bool> {
 protected:
  void measure(const std::string& what, const std::function<void()>& tamper,
               const std::function<bool()>& right) {
    ASSERT_TRUE(right()) << what;
    tamper();
    EXPECT_FALSE(!GetParam() && right()) << what;
    const int64_t took = until(right);
    std::printf("%-40s right again after %ld ms\n", what.c_str(), took);
    EXPECT_LT(took, watch_ ? 1'000 : static_cast<int64_t>(kPeriodMs * 12 / 10 + 300)) << what;
  }
  static constexpr uint64_t kPeriodMs = 1'000;
};

TEST_P(Tampering, IsRepaired) {
  watch_ = GetParam();
  options_.audit_period_ms = watch_ ? 0 : kPeriodMs;
  options_.audit_core_share = 1;
  start();
  fill(1'000);
  std::vector<Command> commands;
  for (uint32_t index = 0; index < 500; ++index)
    commands.push_back(store::put_route("2001:db8:2:" + hex(index) + "::/64", 3));
  for (uint32_t index = 0; index < 500; ++index) {
    Command command = store::put_route(
        "172.17." + std::to_string(index / 250) + "." + std::to_string(index % 250) + "/32", 10);
    std::get<PutRoute>(command).route.key.table = TableId(100);
    commands.push_back(std::move(command));
  }
  store_.run(std::move(commands));
  ASSERT_TRUE(wait().reached);
  const size_t all = ours();
  const std::vector<std::string> nexthops = describe_nexthops(world_->kernel());
  const std::vector<std::string> routes = describe_routes(world_->kernel());
  auto right = [&] {
    return ours() == all && describe_nexthops(world_->kernel()) == nexthops &&
           describe_routes(world_->kernel()) == routes;
  };
  measure(
      "an IPv4 route deleted", [] { ip("route del 10.16.5.0/24"); }, right);
  measure(
      "an IPv6 route deleted", [] { ip("-6 route del 2001:db8:2:5::/64"); }, right);
  measure(
      "an IPv4 route replaced in our name", [] { ip("route replace 10.16.6.0/24 nhid 1 proto 87"); }, right);
  measure(
      "an IPv6 route replaced in our name",
      [] { ip("-6 route replace blackhole 2001:db8:2:6::/64 proto 87 metric 1024"); }, right);
  measure(
      "a nexthop replaced", [] { ip("nexthop replace id 2 via 10.7.1.99 dev e1 proto 87"); }, right);
  measure(
      "a group replaced", [] { ip("nexthop replace id 10 group 1 proto 87"); }, right);
  measure(
      "a table of 500 flushed", [] { ip("route flush table 100"); }, right);
  measure(
      "a nexthop under 501 IPv6 routes deleted", [] { ip("nexthop del id 3"); }, right);
  measure(
      "a group under 1,500 routes deleted", [] { ip("nexthop del id 10"); }, right);
  measure(
      "a member deleted, with its route", [] { ip("nexthop del id 1"); }, right);
  measure(
      "routes put under our number", [] { ip("route add 203.0.113.0/24 nhid 2 proto 87"); }, right);
  measure(
      "everything of ours flushed", [] { ip("nexthop flush proto 87"); }, right);
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(differences(), 0u);
}

INSTANTIATE_TEST_SUITE_P(HeardAndUnheard, Tampering, ::testing::Bool(),
                         [](const auto& heard) { return heard.param ? "Heard" : "Unheard"; });

}  // namespace
}  // namespace waypost::kernel_sync
