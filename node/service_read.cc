// How every read begins: a linearizable point on the log, then a view of the store, on a reader.
#include "model/bytes.h"
#include "node/membership.h"
#include "node/parts_internal.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

constexpr uint32_t kBusyRetryMs = 50;

// "log unreachable; --stale answers revision 812, 12 s old" (LOG.md rule 6).
Error not_linearizable(const Parts& parts, const Error& why) {
  const replication::ReplicaStatus status = parts.replica.status();
  std::string age;
  if (!status.reachable && status.unreachable_since_us > 0) {
    const uint64_t silent_us = parts.order.monotonic_us() - status.unreachable_since_us;
    age = ", " + std::to_string(silent_us / 1'000'000) + " s old";
  }
  return {why.code, why.message,
          "--stale answers revision " + std::to_string(parts.store.stamp().revision.value()) + age +
              ", from this node alone"};
}

}  // namespace

std::string hash_bytes(const Hash128& hash) {
  std::string bytes;
  append_u64(bytes, hash.high);
  append_u64(bytes, hash.low);
  return bytes;
}

void on_reader(Parts& parts, const SharedCall& call, std::function<void()> work) {
  if (parts.readers.waiting() >= limits::kMaxWaitingReads) {
    return call->fail(
        {ErrorCode::kResourceExhausted, "too many requests wait for this node's readers", "ask another node"},
        kBusyRetryMs);
  }
  parts.readers.post([call, work = std::move(work)] {
    if (!call->closed()) work();
  });
}

void read(Parts& parts, SharedCall call, bool stale, std::function<void(store::ReadView)> work) {
  if (const std::optional<Error> refused = parts.membership.refusal()) return call->fail(*refused);
  const auto begin = [&parts, call, work = std::move(work)] {
    on_reader(parts, call, [&parts, work] { work(parts.store.view()); });
  };
  if (stale) return begin();
  parts.replica.barrier(call->milliseconds_left(), [&parts, call, begin](Result<Position> point) {
    if (!point.ok()) return call->fail(not_linearizable(parts, point.error()));
    begin();
  });
}

}  // namespace waypost::node
