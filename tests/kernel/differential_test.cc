// Random commands to the running kernel and to the fake: the same answers, the same announcements, the same
// dumps. This is what keeps the fake honest. WAYPOST_SEED repeats a run, WAYPOST_COMMANDS makes a longer one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "tests/kernel/random_commands.h"

namespace waypost::kernel_sync {
namespace {

constexpr size_t kCompareEvery = 20;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

// All rows but what only a real host has: anycast and multicast.
std::vector<std::string> all_routes(Kernel& kernel) {
  std::vector<std::string> lines;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    EXPECT_EQ(DumpOutcome::kComplete, kernel.dump_routes(family, std::nullopt, [&](const KernelRoute& row) {
      const int type = static_cast<int>(row.route.type);
      if (type != 4 && type != 5) lines.push_back(describe(row));
    }));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// What is said of nexthops and of routes that are not the kernel's own.
std::vector<std::string> said(World& world) {
  std::vector<std::string> lines;
  for (const KernelEvent& event : world.events()) {
    const auto* row = std::get_if<RouteEvent>(&event);
    if (std::holds_alternative<NexthopEvent>(event) || (row && row->route.route.protocol != 2)) {
      lines.push_back(describe(event));
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The lines of `left` that `right` has not; both are sorted.
std::string only_in(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  std::vector<std::string> lines;
  std::set_difference(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(lines));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Pair {
 public:
  explicit Pair(uint64_t seed)
      : maker_(seed), fake_(make_fake_world()), real_(make_real_world({seed % 2 == 1, true})) {}

  // False at the first difference, which it reports.
  bool run(size_t commands) {
    for (size_t i = 0; i < commands; ++i) {
      const Command command = maker_.next();
      history_.push_back(command.text);
      const std::string real = command.act(*real_);
      const std::string fake = command.act(*fake_);
      if (real != fake) return differs("answers", real + "\n", fake + "\n");
      if (i % kCompareEvery == kCompareEvery - 1 && !compare()) return false;
    }
    return compare();
  }

 private:
  bool compare() {
    const auto check = [&](const char* what, const std::vector<std::string>& real,
                           const std::vector<std::string>& fake) {
      return real == fake || differs(what, only_in(real, fake), only_in(fake, real));
    };
    return check("announcements", said(*real_), said(*fake_)) &&
           check("nexthops", describe_nexthops(real_->kernel()), describe_nexthops(fake_->kernel())) &&
           check("routes", all_routes(real_->kernel()), all_routes(fake_->kernel()));
  }

  bool differs(const char* what, const std::string& real, const std::string& fake) {
    std::string last;
    for (size_t i = history_.size() - std::min<size_t>(history_.size(), 40); i < history_.size(); ++i) {
      last += std::to_string(i) + ": " + history_[i] + "\n";
    }
    ADD_FAILURE() << what << " differ after " << history_.size() << " commands, the last of them:\n"
                  << last << "only the kernel:\n"
                  << real << "only the fake:\n"
                  << fake;
    return false;
  }

  CommandMaker maker_;
  std::unique_ptr<World> fake_;
  std::unique_ptr<World> real_;
  std::vector<std::string> history_;
};

TEST(KernelDifferential, RandomCommands) {
  const uint64_t seed = from_environment("WAYPOST_SEED", 1);
  const uint64_t commands = from_environment("WAYPOST_COMMANDS", 10'000);
  std::cout << "WAYPOST_SEED=" << seed << " WAYPOST_COMMANDS=" << commands << std::endl;
  // Several short worlds meet more beginnings than one long one.
  constexpr uint64_t kWorld = 1'000;
  for (uint64_t done = 0, world = 0; done < commands; done += kWorld, ++world) {
    SCOPED_TRACE("world " + std::to_string(world));
    Pair pair(seed * 1'000'003 + world);
    if (!pair.run(std::min(kWorld, commands - done))) return;
  }
}

}  // namespace
}  // namespace waypost::kernel_sync
