// Random commands over a small universe, so that ids, keys and devices meet often. A command is symbolic: it
// names devices, and means the same in any world.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "tests/kernel/world.h"

namespace waypost::kernel_sync {

struct Command {
  std::string text;
  // What the world answered; links and addresses answer nothing.
  std::function<std::string(World&)> act;
};

class CommandMaker {
 public:
  explicit CommandMaker(uint64_t seed) : random_(seed) {}

  Command next();

 private:
  // Devices and addresses, as they are now: what a command may do to them depends on it.
  struct Device {
    bool present = true;
    bool up = true;
    bool address4 = true;
    bool address6 = true;
  };

  uint32_t below(uint32_t bound) { return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random_); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  template <typename T>
  T pick(const std::vector<T>& from) {
    return from[below(static_cast<uint32_t>(from.size()))];
  }

  Command step_command();
  Command link_command();
  Command query_command();
  KernelNexthop single(uint32_t id);
  KernelNexthop random_group(uint32_t id);
  RouteKey random_key();
  KernelRoute random_route();
  std::vector<KernelPath> random_paths(Family family);
  KernelStep random_step();
  uint32_t single_id() { return 1 + below(10); }
  uint32_t group_id() { return 20 + below(5); }
  uint32_t any_id() { return one_in(2) ? single_id() : group_id(); }

  std::mt19937_64 random_;
  Device devices_[2];
};

}  // namespace waypost::kernel_sync
