// What a service needs to answer: references to the parts that Node builds and outlives.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernel_sync/syncer.h"
#include "node/config.h"
#include "node/free_space.h"
#include "node/order_thread.h"
#include "node/workers.h"
#include "replication/log.h"
#include "replication/replica.h"
#include "rpc/call.h"
#include "store/store.h"

namespace waypost::replication {
class LocalLog;
}

namespace waypost::node {

class Jobs;
class Membership;
class Watchers;

struct Parts {
  const NodeConfig& config;
  OrderThread& order;
  Workers& readers;
  store::Store& store;
  replication::Log& log;          // order thread only
  replication::Replica& replica;  // order thread only
  FreeSpace& space;
  Membership& membership;       // order thread only
  Watchers& watchers;           // order thread only
  Jobs& jobs;                   // order thread only
  kernel_sync::Syncer* syncer;  // none where kernel_sync is off
  std::string engine;           // "local", "etcd"
  // Where the log is this node's own; otherwise none. Order thread only.
  replication::LocalLog* local = nullptr;
  uint64_t started_us = 0;  // wall clock
  std::atomic<bool>& stopping;
  uint64_t snapshot_received_bytes = 0;
  std::atomic<uint64_t> snapshot_sent_bytes = 0;
};

using SharedCall = std::shared_ptr<rpc::Call>;

// Each answers one kind of request; called on the order thread.
void serve(Parts& parts, SharedCall call);  // tells them apart
void serve_propose(Parts& parts, SharedCall call);
void serve_control(Parts& parts, SharedCall call);
void serve_list(Parts& parts, SharedCall call);
void serve_get(Parts& parts, SharedCall call);
void serve_history(Parts& parts, SharedCall call);
void serve_diff(Parts& parts, SharedCall call);
void serve_fib_status(Parts& parts, SharedCall call);
void serve_fib_wait(Parts& parts, SharedCall call);
void serve_fib_get(Parts& parts, SharedCall call);
void serve_fib_diff(Parts& parts, SharedCall call);
void serve_fib_action(Parts& parts, SharedCall call);
void serve_node_status(Parts& parts, SharedCall call);
void serve_members(Parts& parts, SharedCall call);
void serve_check(Parts& parts, SharedCall call);
void serve_trim(Parts& parts, SharedCall call);
void serve_grow(Parts& parts, SharedCall call);
void serve_snapshot(Parts& parts, SharedCall call);

std::string hash_bytes(const Hash128& hash);  // 16 bytes, big-endian

// Runs `work` on a reader, over a view that is at least as new as this call, unless `stale`: then as new as
// the node is. Answers the call itself where that cannot be.
void read(Parts& parts, SharedCall call, bool stale, std::function<void(store::ReadView)> work);
// Runs `work` on a reader; answers the call itself where the readers have too much to do.
void on_reader(Parts& parts, const SharedCall& call, std::function<void()> work);

}  // namespace waypost::node
