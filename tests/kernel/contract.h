// The contract suite: every test runs in the real world and in the fake one, and says the same of both.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernel/build.h"
#include "tests/kernel/world.h"

namespace waypost::kernel_sync {

class KernelContract : public testing::TestWithParam<Engine> {
 protected:
  KernelContract() : world_(make_world(GetParam())), e0_(world_->index("e0")), e1_(world_->index("e1")) {}

  Kernel& kernel() { return world_->kernel(); }
  std::string run(const KernelStep& step) { return world_->run(step); }

  // Nexthops 1..4 and 10 as KERNEL.md's cases have them: v4 via e0 and e1, v6 via e0 and e1, a blackhole.
  void add_nexthops() {
    ASSERT_EQ("ok", world_->run({add(via(1, "10.7.0.2", e0_)), add(via(2, "10.7.1.2", e1_)),
                                 add(via(3, "2001:db8:70::2", e0_)), add(via(4, "2001:db8:71::2", e1_)),
                                 add(blackhole(10))}));
  }
  void set_mode(int mode) { ASSERT_TRUE(kernel().set_compat_mode(mode).ok()); }

  std::vector<std::string> nexthops() { return describe_nexthops(kernel()); }
  std::vector<std::string> routes() { return describe_routes(kernel()); }
  std::vector<std::string> events() { return describe_events(*world_); }
  bool has_nexthop(uint32_t id) { return kernel().get_nexthop(NexthopId(id)).value().has_value(); }
  bool has_route(const RouteKey& wanted) { return kernel().get_route(wanted).value().has_value(); }

  std::unique_ptr<World> world_;
  uint32_t e0_;
  uint32_t e1_;
};

inline std::string engine_of(const testing::TestParamInfo<Engine>& info) {
  return engine_name(info.param);
}

}  // namespace waypost::kernel_sync
