#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/kernel/syncer_host.h"

namespace waypost::kernel_sync {
namespace {

// Ten thousand routes from the store into the kernel; a restart over them changes not one object: nobody
// hears of anything.
TEST_F(SyncerKernelTest, ImportAndRestartWithoutTouching) {
  start();
  fill(10'000);
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(ours(), 10'003u);
  EXPECT_EQ(differences(), 0u);
  EXPECT_TRUE(syncer_->status().in_sync);
  world_->events();
  stop();
  start();
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(world_->events().size(), 0u);
  EXPECT_EQ(differences(), 0u);
}

// Link down: the routes over it go, the group's stay; up again: all back within a second of the link
// (SEMANTICS.md B10).
TEST_F(SyncerKernelTest, LinkDownAndUp) {
  start();
  fill(1'000);
  ASSERT_TRUE(wait().reached);
  world_->set_up("e0", false);
  until([&] { return syncer_->status().nexthops.pending == 2; });
  WaitReport report = wait({.nexthops = {id(1), id(10)}, .routes = {}});
  ASSERT_EQ(report.not_installed_count, 1u);
  EXPECT_EQ(report.not_installed[0].reason, "device e0 is down");
  EXPECT_EQ(ours(), 1'001u);
  EXPECT_EQ(differences(), 0u);
  world_->set_up("e0", true);
  world_->add_address("e0", "2001:db8:70::1/64");
  const int64_t took = until([&] { return ours() == 1'003; });
  EXPECT_LT(took, 1'000);
  RecordProperty("back_after_ms", static_cast<int>(took));
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(differences(), 0u);
}

// A rename in the middle of an import, back again, then the device deleted and made anew: in the end
// everything is where it belongs.
TEST_F(SyncerKernelTest, RenameDeleteRecreate) {
  start();
  fill(3'000);
  syncer_->notify();
  world_->rename_link("e0", "east");
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(wait({.nexthops = {id(1)}, .routes = {}}).not_installed_count, 1u);
  world_->rename_link("east", "e0");
  until([&] { return syncer_->status().nexthops.installed == 4 && ours() == 3'003; });
  world_->remove_link("e0");
  until([&] { return ours() == 3'001; });
  world_->add_link("e0");
  world_->add_address("e0", "10.7.0.1/24");
  world_->add_address("e0", "2001:db8:70::1/64");
  const int64_t took = until([&] { return ours() == 3'003; });
  EXPECT_LT(took, 1'000);
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(differences(), 0u);
}

// Routes and nexthops of others stay as they are, also one that uses our nexthop and one in our place.
TEST_F(SyncerKernelTest, ForeignObjectsStay) {
  ip("route add 192.0.2.0/24 via 10.7.0.9 proto bird");
  ip("route add blackhole 172.16.1.0/24 proto static");
  ip("nexthop add id 77 via 10.7.1.9 dev e1 proto bird");
  start();
  fill(100);
  store_.run({store::put(77, store::via("10.7.0.3", "e0"))});
  WaitReport report = wait({.nexthops = {id(77)}, .routes = {key("172.16.1.0/24")}});
  ASSERT_EQ(report.not_installed_count, 2u);
  EXPECT_EQ(report.not_installed[0].reason, "nexthop id in conflict: taken by proto 12");
  EXPECT_EQ(report.not_installed[1].reason, "route of proto 4 in the way");
  ip("route add 198.51.100.0/24 nhid 2 proto static");
  until([&] { return syncer_->status().foreign_routes >= 3; });
  store_.run({store::drop(10, true), store::drop(2, true), store::drop(77)});
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(routes(4).size(), 2u);
  EXPECT_EQ(routes(12).size(), 1u);
  report = wait({.nexthops = {id(2)}, .routes = {}});
  ASSERT_EQ(report.not_installed_count, 1u);
  EXPECT_EQ(report.not_installed[0].reason, "held by foreign route 198.51.100.0/24 proto 4");
  ip("route del 198.51.100.0/24");
  until([&] { return syncer_->status().kernel_nexthops == 2; });
}

// Someone flushes the table, deletes the nexthop under it, replaces it: back within a second, and counted.
TEST_F(SyncerKernelTest, TamperingIsRepaired) {
  start();
  fill(1'000);
  ASSERT_TRUE(wait().reached);
  auto back = [&] { return ours() == 1'003; };
  ip("route flush table main 172.16.1.0/24");
  EXPECT_LT(until(back), 1'000);
  ip("nexthop flush proto 87");
  EXPECT_LT(until(back), 1'000);
  ip("nexthop del id 10");
  EXPECT_LT(until(back), 1'000);
  ip("nexthop replace id 1 via 10.7.0.77 dev e0 proto 87");
  until([&] {
    const auto found = world_->kernel().get_nexthop(id(1));
    return found.ok() && *found && (*found)->object.nexthop().gateway == address("10.7.0.2");
  });
  ASSERT_TRUE(wait().reached);
  EXPECT_EQ(differences(), 0u);
  until([&] { return syncer_->status().repaired_nexthops >= 5; });
}

// Half of a few thousand IPv6 routes are replaced in our name and as many deleted: the answers to "what is
// there now?" come by a few dumps, not by one for each, and all is right within a second.
TEST_F(SyncerKernelTest, ManyIpv6RoutesChangedByOthers) {
  start();
  fill(100);
  std::vector<Command> commands;
  auto nth6 = [](uint32_t index) { return "2001:db8:2:" + std::to_string(index) + "::/64"; };
  for (uint32_t index = 0; index < 3'000; ++index) commands.push_back(store::put_route(nth6(index), 3));
  store_.run(std::move(commands));
  ASSERT_TRUE(wait().reached);
  const std::vector<std::string> before = describe_routes(world_->kernel());
  const uint64_t dumps = syncer_->status().kernel.dumps;
  std::vector<KernelStep> tampering;
  for (uint32_t index = 0; index < 3'000; index += 2) {
    tampering.push_back(put(error_route(key(nth6(index)), RouteType::kBlackhole)));
    tampering.push_back(del(key(nth6(index + 1))));
  }
  (void)world_->foreign(tampering);
  const int64_t took = until([&] { return describe_routes(world_->kernel()) == before; });
  EXPECT_LT(took, 1'000);
  ASSERT_TRUE(wait().reached);
  until([&] { return syncer_->status().repaired_routes >= 3'000; });
  EXPECT_LT(syncer_->status().kernel.dumps, dumps + 10);
  EXPECT_EQ(differences(), 0u);
}

// An id changes its kind under a thousand routes, and none of them is ever missing (SEMANTICS.md B6).
TEST_F(SyncerKernelTest, KindChangesUnderRoutes) {
  start();
  fill(1'000);
  ASSERT_TRUE(wait().reached);
  std::atomic<bool> stop_looking = false;
  std::atomic<uint64_t> looks = 0, missing = 0;
  std::thread watcher([&] {
    const Result<std::unique_ptr<Kernel>> kernel = open_netlink_kernel({.watch = false});
    for (uint32_t index = 0; !stop_looking; index = (index + 7) % 1'000) {
      const auto found = (*kernel)->get_route(key(nth(index)));
      ++looks;
      if (!found.ok() || !*found) ++missing;
    }
  });
  stop();
  // While the syncer is away, the group goes and a nexthop takes its id: it sees one jump.
  std::vector<Command> commands = {store::put_group(11, {1, 2})};
  for (uint32_t index = 0; index < 1'000; ++index)
    commands.push_back(store::put_route(nth(index), 11, Verb::kReplace));
  commands.push_back(store::drop(10));
  commands.push_back(store::put(10, store::via("10.7.1.9", "e1")));
  for (uint32_t index = 0; index < 1'000; ++index)
    commands.push_back(store::put_route(nth(index), 10, Verb::kReplace));
  commands.push_back(store::drop(11));
  store_.run(std::move(commands));
  start();
  ASSERT_TRUE(wait().reached);
  stop_looking = true;
  watcher.join();
  EXPECT_EQ(missing, 0u) << "of " << looks;
  EXPECT_GT(looks, 100u);
  EXPECT_EQ(ours(), 1'003u);
  EXPECT_EQ(differences(), 0u);
}

}  // namespace
}  // namespace waypost::kernel_sync
