#include "kernel_sync/netlink/probe.h"

#include <linux/lwtunnel.h>
#include <sys/utsname.h>

#include <cerrno>
#include <optional>

#include "kernel_sync/netlink/encode.h"
#include "model/limits.h"

namespace waypost::kernel_sync::netlink {

namespace {

constexpr uint32_t kIdTries = 16;
constexpr uint16_t kWideWeight = 1'000;

// An id that nobody uses, from the end of the scratch range downwards.
std::optional<NexthopId> free_id(Query& query) {
  for (uint32_t i = 0; i < kIdTries; ++i) {
    const uint32_t id = limits::kLastScratchId - i;
    auto answer =
        query.get([&](auto sequence, auto& out) { encode_get_nexthop(NexthopId(id), sequence, out); });
    if (answer && answer->failure.error == ENOENT) return NexthopId(id);
  }
  return std::nullopt;
}

// The kernel looks at type and weights before it looks for the members. So a group of one absent member is
// refused for its member by a kernel that knows the rest, and for the rest by one that does not: nothing is
// ever made, and nobody who listens hears of the question.
bool takes_group(Executor& executor, KernelCounters& counters, NexthopId absent, NexthopGroup group) {
  group.members = {{absent, group.members[0].weight}};
  PutKernelNexthop put;
  put.nexthop.object = {absent, 0, std::move(group)};
  put.exclusive = true;
  const KernelStep add = put;
  const BatchOutcome outcome = executor.run({&add, 1}, counters);
  return outcome.transport && outcome.failures.size() == 1 &&
         outcome.failures[0].words.starts_with("Invalid nexthop id");
}

void probe_groups(Executor& executor, Query& query, KernelCounters& counters, Capabilities& result) {
  const auto id = free_id(query);
  if (!id) return;
  NexthopGroup wide;
  wide.members = {{*id, kWideWeight}};
  result.wide_weights = takes_group(executor, counters, *id, wide);
  NexthopGroup resilient;
  resilient.type = GroupType::kResilient;
  resilient.members = {{*id, 1}};
  resilient.resilient.buckets = 1;
  result.resilient_groups = takes_group(executor, counters, *id, resilient);
}

bool knows_encap(Executor& executor, uint16_t type) {
  auto reply = executor.ask([&](auto sequence, auto& out) { encode_probe_encap(type, sequence, out); });
  return reply && reply->error != EOPNOTSUPP && reply->error != EPERM;
}

}  // namespace

Capabilities probe_capabilities(Executor& executor, Query& query, KernelCounters& counters) {
  Capabilities result;
  utsname name;
  if (uname(&name) == 0) result.release = name.release;
  probe_groups(executor, query, counters, result);
  result.encap_ip = knows_encap(executor, LWTUNNEL_ENCAP_IP);
  result.encap_ip6 = knows_encap(executor, LWTUNNEL_ENCAP_IP6);
  result.encap_seg6 = knows_encap(executor, LWTUNNEL_ENCAP_SEG6);
  return result;
}

}  // namespace waypost::kernel_sync::netlink
