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

// Two ids next to each other, from the end of the scratch range downwards, that nobody uses.
std::optional<NexthopId> free_pair(Query& query) {
  const auto is_free = [&](uint32_t id) {
    auto answer =
        query.get([&](auto sequence, auto& out) { encode_get_nexthop(NexthopId(id), sequence, out); });
    return answer && answer->failure.error == ENOENT;
  };
  for (uint32_t i = 0; i < kIdTries; ++i) {
    const uint32_t id = limits::kLastScratchId - 1 - 2 * i;
    if (is_free(id) && is_free(id + 1)) return NexthopId(id);
  }
  return std::nullopt;
}

// A group of one lone blackhole takes any weight and type that the kernel knows, and needs no device
// (KERNEL.md K4).
bool takes_group(Executor& executor, KernelCounters& counters, NexthopId blackhole, NexthopGroup group) {
  group.members = {{blackhole, group.members[0].weight}};
  PutKernelNexthop put;
  put.nexthop.object = {blackhole.next(), 0, std::move(group)};
  put.exclusive = true;
  const KernelStep add = put;
  const BatchOutcome outcome = executor.run({&add, 1}, counters);
  if (!outcome.transport || !outcome.failures.empty()) return false;
  const KernelStep remove = DeleteKernelNexthop{blackhole.next()};
  executor.run({&remove, 1}, counters);
  return true;
}

void probe_groups(Executor& executor, Query& query, KernelCounters& counters, Capabilities& result) {
  const auto id = free_pair(query);
  if (!id) return;
  Nexthop blackhole;
  blackhole.blackhole = true;
  PutKernelNexthop put;
  put.nexthop.object = {*id, 0, blackhole};
  put.exclusive = true;
  const KernelStep add = put;
  const BatchOutcome outcome = executor.run({&add, 1}, counters);
  if (!outcome.transport || !outcome.failures.empty()) return;

  NexthopGroup wide;
  wide.members = {{*id, kWideWeight}};
  result.wide_weights = takes_group(executor, counters, *id, wide);
  NexthopGroup resilient;
  resilient.type = GroupType::kResilient;
  resilient.members = {{*id, 1}};
  resilient.resilient.buckets = 1;
  result.resilient_groups = takes_group(executor, counters, *id, resilient);

  const KernelStep remove = DeleteKernelNexthop{*id};
  executor.run({&remove, 1}, counters);
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
