#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tests/kernel_sync/engine_harness.h"

namespace waypost::kernel_sync {
namespace {

// A fault of the kernel side, planted before a scenario's next act. Each heals by itself.
struct NamedFault {
  const char* name;
  void (*plant)(EngineHarness& host);
};

// Answers the next `count` steps of one kind with this error instead of the kernel's own.
template <typename Step>
void refuse_next(EngineHarness& host, int error, int count) {
  host.kernel.faults.refuse = [error,
                               left = count](const KernelStep& step) mutable -> std::optional<FakeAnswer> {
    if (!std::holds_alternative<Step>(step) || left == 0) return std::nullopt;
    --left;
    return FakeAnswer{error, std::strerror(error)};
  };
}

const NamedFault kFaults[] = {
    {"none", [](EngineHarness&) {}},
    {"torn dumps", [](EngineHarness& host) { host.kernel.faults.torn_dumps = 3; }},
    {"dumps torn too often", [](EngineHarness& host) { host.kernel.faults.torn_dumps = 12; }},
    {"failed dumps", [](EngineHarness& host) { host.kernel.faults.failed_dumps = 2; }},
    {"short dumps", [](EngineHarness& host) { host.kernel.faults.short_dumps = 2; }},
    {"failed gets", [](EngineHarness& host) { host.kernel.faults.failed_gets = 3; }},
    {"lost socket", [](EngineHarness& host) { host.kernel.faults.lost_sockets = 1; }},
    {"lost socket, half done",
     [](EngineHarness& host) {
       host.kernel.faults.lost_sockets = 2;
       host.kernel.faults.lost_after = 2;
       host.kernel.faults.lost_but_done = 2;
     }},
    {"overrun", [](EngineHarness& host) { host.kernel.faults.event_limit = 1; }},
    {"nexthop put: ENOMEM", [](EngineHarness& host) { refuse_next<PutKernelNexthop>(host, ENOMEM, 2); }},
    {"nexthop put: EPERM", [](EngineHarness& host) { refuse_next<PutKernelNexthop>(host, EPERM, 2); }},
    {"nexthop put: EINVAL", [](EngineHarness& host) { refuse_next<PutKernelNexthop>(host, EINVAL, 2); }},
    {"nexthop put: ENODEV", [](EngineHarness& host) { refuse_next<PutKernelNexthop>(host, ENODEV, 1); }},
    {"nexthop delete: EBUSY", [](EngineHarness& host) { refuse_next<DeleteKernelNexthop>(host, EBUSY, 2); }},
    {"route put: ENOBUFS", [](EngineHarness& host) { refuse_next<PutKernelRoute>(host, ENOBUFS, 3); }},
    {"route put: EINVAL", [](EngineHarness& host) { refuse_next<PutKernelRoute>(host, EINVAL, 3); }},
    {"route put: EEXIST", [](EngineHarness& host) { refuse_next<PutKernelRoute>(host, EEXIST, 1); }},
    {"route delete: EINTR", [](EngineHarness& host) { refuse_next<DeleteKernelRoute>(host, EINTR, 2); }},
    {"route delete: EINVAL", [](EngineHarness& host) { refuse_next<DeleteKernelRoute>(host, EINVAL, 1); }},
};

void expect_right(EngineHarness& host, const std::string& act) {
  host.advance(130'000);
  host.kernel.faults = {};
  EXPECT_EQ(host.difference(), "") << "after: " << act;
  EXPECT_TRUE(host.engine->in_sync()) << "after: " << act << ": " << host.unfinished();
  EXPECT_EQ(host.foreign_damage(), "") << "after: " << act;
}

void fill_with_twenty(EngineHarness& host) {
  put_nexthops(host);
  host.put(group(10, {1, 2}));
  for (int index = 0; index < 20; ++index) host.put(route("10." + std::to_string(index) + ".0.0/16", 10));
  host.put(route("10.100.0.0/16", 1));
  host.put(route("2001:db8:1::/48", 3));
  host.commit();
}

struct NamedAct {
  const char* name;
  void (*act)(EngineHarness& host);
};

const NamedAct kActs[] = {
    {"import", fill_with_twenty},
    {"restart", [](EngineHarness& host) { host.restart(); }},
    {"replace under routes",
     [](EngineHarness& host) {
       host.put(via(1, "10.7.0.9", "e0"));
       host.commit();
     }},
    {"change of kind",
     [](EngineHarness& host) {
       host.put(group(11, {1, 2}));
       host.put(via(10, "10.7.1.9", "e1"));
       host.commit();
     }},
    {"change of kind back",
     [](EngineHarness& host) {
       host.put(group(10, {1, 2}));
       host.commit();
     }},
    {"link down",
     [](EngineHarness& host) { host.kernel.change([](FakeFib& fib) { fib.set_up("e0", false); }); }},
    {"link up",
     [](EngineHarness& host) {
       host.kernel.change([](FakeFib& fib) {
         fib.set_up("e0", true);
         fib.add_address("e0", Prefix{address("2001:db8:70::1"), 64});
       });
     }},
    {"another process flushes",
     [](EngineHarness& host) {
       std::vector<RouteKey> keys;
       host.kernel.fib().visit_routes(Family::kIpv4, kMainTable, [&](const KernelRoute& found) {
         if (found.route.protocol == host.options.protocol) keys.push_back(found.route.key);
       });
       for (const RouteKey& route_key : keys) host.foreign_delete(route_key);
     }},
    {"another process deletes the group",
     [](EngineHarness& host) {
       if (host.in_kernel(id(10)) != nullptr) host.foreign_delete(id(10));
     }},
    {"withdrawal",
     [](EngineHarness& host) {
       for (int index = 0; index < 20; ++index) host.remove(key("10." + std::to_string(index) + ".0.0/16"));
       host.remove(id(11));
       host.remove(id(10));
       host.commit();
     }},
};

// The whole life of a FIB, once under every fault, planted before every act: what is wanted is there in the
// end, what is not is gone, and another owner's route is as it was.
TEST(Faults, EveryActUnderEveryFault) {
  for (const NamedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    EngineHarness host;
    host.watch_foreign();
    Route theirs = route("192.0.2.0/24", 0);
    theirs.type = RouteType::kBlackhole;
    theirs.protocol = 4;
    host.foreign_put(theirs);
    for (const NamedAct& act : kActs) {
      fault.plant(host);
      act.act(host);
      expect_right(host, act.name);
    }
    EXPECT_TRUE(host.in_kernel(theirs.key));
  }
}

// The same acts under the worst of them one behind the other, without time to recover in between.
TEST(Faults, ActsInARush) {
  for (const NamedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    EngineHarness host;
    host.watch_foreign();
    for (const NamedAct& act : kActs) {
      fault.plant(host);
      act.act(host);
      host.advance(30);
    }
    expect_right(host, "all");
  }
}

}  // namespace
}  // namespace waypost::kernel_sync
