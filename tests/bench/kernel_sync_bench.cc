// usage: kernel_sync_bench [--count N] [--prefixes FILE] [--ipv6 FILE] [--compat 0|1] [--groups N]
//
// kernel_sync from a loaded store to the running kernel, in a network namespace of its own; prints lines
// "WHAT MILLISECONDS" (or bytes) to be set beside netlink_floor's:
//
//   import       N routes over 64 (or --groups) two-path groups, from the syncer's start to in sync
//   one-route    a route added with all of them installed, commit to kernel (median of 51)
//   failover     one nexthop replaced under all routes of one group, commit to kernel (median of 11);
//                failover-ipv6 the one under all IPv6 routes
//   restart      from start to in sync over the full FIB; `touched` counts the notifications it caused
//   audit        a whole look
//   withdraw     all routes and their groups gone from the store in one jump
//
// With --nexthops N instead: N IPv6 nexthops, imported and then gone from the store in one jump; with
// --paired 1 every two of them in a group.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "kernel_sync/netlink/netlink_kernel.h"
#include "kernel_sync/syncer.h"
#include "tests/store/harness.h"

namespace {

using namespace waypost;
using namespace waypost::kernel_sync;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void say(const char* what, double value) {
  std::printf("%s %.3f\n", what, value);
  std::fflush(stdout);
}

void ip(const std::string& arguments) {
  if (std::system(("ip " + arguments).c_str()) != 0) std::exit(1);
}

std::vector<std::string> prefixes(const std::string& file, size_t count) {
  std::vector<std::string> out;
  std::ifstream lines(file);
  for (std::string line; out.size() < count && std::getline(lines, line);) out.push_back(line);
  for (uint32_t index = 0; file.empty() && out.size() < count; ++index)
    out.push_back(std::to_string(20 + (index >> 16)) + "." + std::to_string(index >> 8 & 255) + "." +
                  std::to_string(index & 255) + ".0/24");
  return out;
}

class Bench {
 public:
  Bench(int compat, uint32_t groups) : groups_(groups) {
    options_.data_directory = store_.directory();
    options_.mark_path = marks_.path() + "/mark";
    options_.audit_period_ms = 0;
    options_.compat_mode = compat == 0 ? CompatModePolicy::kSetZero : CompatModePolicy::kLeave;
  }

  void start() {
    syncer_ = std::make_unique<Syncer>(options_, *store_, [] { return open_netlink_kernel(); });
    const Status status = syncer_->start();
    if (!status.ok()) std::fprintf(stderr, "error: %s\n", status.error().message.c_str()), std::exit(1);
  }
  void stop() { syncer_.reset(); }
  void wait() {
    syncer_->notify();
    std::promise<WaitReport> answer;
    syncer_->wait(store_->stamp().revision, {}, std::chrono::minutes(5),
                  [&](WaitReport report) { answer.set_value(std::move(report)); });
    const WaitReport report = answer.get_future().get();
    if (!report.reached) std::fprintf(stderr, "error: not in sync\n"), std::exit(1);
  }

  void load(const std::vector<std::string>& rows) {
    std::vector<Command> commands;
    for (uint32_t group = 0; group < groups_; ++group) {
      const std::string number = std::to_string(group + 2);
      commands.push_back(store::put(1 + group, store::via("10.7.0." + number, "e0")));
      commands.push_back(store::put(1'001 + group, store::via("10.7.1." + number, "e1")));
      commands.push_back(store::put_group(2'001 + group, {1 + group, 1'001 + group}));
    }
    commands.push_back(store::put(5'000, store::via("2001:db8:70::2", "e0")));
    store_.run(std::move(commands));
    commands.clear();
    uint32_t index = 0;
    for (const std::string& row : rows) {
      const bool ipv6 = row.find(':') != std::string::npos;
      commands.push_back(store::put_route(row, ipv6 ? 5'000 : 2'001 + index++ % groups_));
      if (commands.size() == 4'096) store_.run(std::exchange(commands, {}));
    }
    if (!commands.empty()) store_.run(std::move(commands));
  }

  double commit(std::vector<Command> commands) {
    const auto begin = Clock::now();
    store_.run(std::move(commands));
    wait();
    return since(begin);
  }

  void run(const std::vector<std::string>& rows) {
    auto begin = Clock::now();
    load(rows);
    say("store-load", since(begin));
    const long before = resident();
    begin = Clock::now();
    start();
    wait();
    say("import", since(begin));
    say("import-us-per-route", since(begin) * 1e3 / static_cast<double>(rows.size()));
    wait();
    const FibStatus status = syncer_->status();
    say("trie-bytes", static_cast<double>(status.trie_bytes));
    say("agent-bytes", static_cast<double>(status.agent_bytes));
    say("resident-growth-bytes", static_cast<double>(resident() - before) * 1024);
    std::vector<double> one, failover;
    for (int turn = 0; turn < 51; ++turn)
      one.push_back(commit({store::put_route("198.18." + std::to_string(turn) + ".0/24", 2'001)}));
    say("one-route", median(one));
    for (int turn = 0; turn < 11; ++turn)
      failover.push_back(
          commit({store::put(1, store::via("10.7.0." + std::to_string(100 + turn), "e0"), Verb::kReplace)}));
    say("failover", median(failover));
    failover.clear();
    for (int turn = 0; turn < 11; ++turn)
      failover.push_back(commit({store::put(
          5'000, store::via("2001:db8:70::" + std::to_string(100 + turn), "e0"), Verb::kReplace)}));
    say("failover-ipv6", median(failover));
    begin = Clock::now();
    std::promise<bool> audited;
    syncer_->audit([&](Status result) { audited.set_value(result.ok()); });
    say("audit-ok", audited.get_future().get());
    say("audit", since(begin));
    restart();
    withdraw(rows);
  }

  void nexthops(uint32_t count, bool paired) {
    auto address = [](uint32_t index) {
      char text[64];
      std::snprintf(text, sizeof text, "2001:db8:70::%x:%x", (index + 2) >> 16, (index + 2) & 0xffff);
      return std::string(text);
    };
    auto in_bulk = [&](uint32_t from, uint32_t to, const std::function<Command(uint32_t)>& make) {
      std::vector<Command> commands;
      for (uint32_t id = from; id <= to; ++id) {
        commands.push_back(make(id));
        if (commands.size() == 4'096 || id == to)
          if (!store_.run(std::exchange(commands, {})).refusals.empty())
            std::fprintf(stderr, "refused\n"), std::exit(1);
      }
    };
    in_bulk(1, count, [&](uint32_t id) { return store::put(id, store::via(address(id), "e0")); });
    const uint32_t groups = paired ? count / 2 : 0;
    in_bulk(count + 1, count + groups, [&](uint32_t id) {
      const uint32_t pair = id - count - 1;
      return store::put_group(id, {2 * pair + 1, 2 * pair + 2});
    });
    const long before = resident();
    auto begin = Clock::now();
    start();
    wait();
    say("import", since(begin));
    say("resident-growth-bytes", static_cast<double>(resident() - before) * 1024);
    stop();
    in_bulk(count + 1, count + groups, [](uint32_t id) { return store::drop(id); });
    in_bulk(1, count, [](uint32_t id) { return store::drop(id); });
    options_.sweep_share = 1.0;
    begin = Clock::now();
    start();
    say("flush-look", since(begin));
    begin = Clock::now();
    wait();
    say("flush", since(begin));
  }

 private:
  static long resident() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("VmRSS:", 0) == 0) return std::atol(line.c_str() + 6);
    return 0;
  }

  void restart() {
    stop();
    std::unique_ptr<Kernel> watcher = std::move(open_netlink_kernel()).value();
    watcher->wait(0);
    const auto begin = Clock::now();
    start();
    wait();
    say("restart", since(begin));
    size_t touched = 0;
    for (auto events = watcher->wait(0); !events.empty(); events = watcher->wait(0))
      for (const KernelEvent& event : events)
        touched += std::holds_alternative<RouteEvent>(event) || std::holds_alternative<NexthopEvent>(event);
    say("touched", static_cast<double>(touched));
  }

  // With one group: all routes go with it (KERNEL.md K10).
  void withdraw(const std::vector<std::string>& rows) {
    stop();
    std::vector<Command> commands;
    auto begin = Clock::now();
    for (const std::string& row : rows) {
      commands.push_back(store::drop_route(row));
      if (commands.size() == 4'096) store_.run(std::exchange(commands, {}));
    }
    for (int turn = 0; turn < 51; ++turn)
      commands.push_back(store::drop_route("198.18." + std::to_string(turn) + ".0/24"));
    for (uint32_t group = 0; group < groups_; ++group) commands.push_back(store::drop(2'001 + group));
    if (!store_.run(std::move(commands)).refusals.empty())
      std::fprintf(stderr, "error: refused\n"), std::exit(1);
    say("store-withdraw", since(begin));
    options_.sweep_share = 1.0;
    begin = Clock::now();
    start();
    say("withdraw-look", since(begin));
    begin = Clock::now();
    wait();
    say("withdraw", since(begin));
    size_t left = 0;
    std::unique_ptr<Kernel> watcher = std::move(open_netlink_kernel()).value();
    for (Family family : {Family::kIpv4, Family::kIpv6})
      (void)watcher->dump_routes(family, std::nullopt,
                                 [&](const KernelRoute& found) { left += found.route.protocol == 87; });
    say("left", static_cast<double>(left));
  }

  const uint32_t groups_;
  store::TestStore store_;
  store::TemporaryDirectory marks_;
  SyncerOptions options_;
  std::unique_ptr<Syncer> syncer_;
};

}  // namespace

int main(int argc, char** argv) {
  size_t count = 1'000'000;
  std::string ipv4, ipv6;
  int compat = 0;
  uint32_t groups = 64, nexthops = 0;
  bool paired = false;
  for (int index = 1; index + 1 < argc; index += 2) {
    if (std::strcmp(argv[index], "--count") == 0) count = std::strtoull(argv[index + 1], nullptr, 10);
    if (std::strcmp(argv[index], "--prefixes") == 0) ipv4 = argv[index + 1];
    if (std::strcmp(argv[index], "--ipv6") == 0) ipv6 = argv[index + 1];
    if (std::strcmp(argv[index], "--compat") == 0) compat = std::atoi(argv[index + 1]);
    if (std::strcmp(argv[index], "--nexthops") == 0)
      nexthops = static_cast<uint32_t>(std::strtoul(argv[index + 1], nullptr, 10));
    if (std::strcmp(argv[index], "--paired") == 0) paired = std::atoi(argv[index + 1]) != 0;
    if (std::strcmp(argv[index], "--groups") == 0)
      groups = static_cast<uint32_t>(std::strtoul(argv[index + 1], nullptr, 10));
  }
  if (unshare(CLONE_NEWNET) != 0) {
    std::perror("error: a network namespace needs root");
    return 1;
  }
  ip("link set lo up");
  for (const char* number : {"0", "1"}) {
    const std::string device = std::string("e") + number;
    ip("link add " + device + " type veth peer name " + device + "p");
    ip("link set " + device + "p up");
    ip("link set " + device + " up");
    ip("addr add 10.7." + std::string(number) + ".1/24 dev " + device);
    ip("addr add 2001:db8:7" + std::string(number) + "::1/64 dev " + device + " nodad");
  }
  if (nexthops != 0) {
    Bench(compat, groups).nexthops(nexthops, paired);
    return 0;
  }
  std::vector<std::string> rows = prefixes(ipv4, count);
  if (!ipv6.empty())
    for (std::string& row : prefixes(ipv6, count)) rows.push_back(std::move(row));
  Bench(compat, groups).run(rows);
  return 0;
}
