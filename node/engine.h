// Which log this node has: the only place of node/ that names the engines. A member of a cluster finds its
// place in it here, before its store is opened: whose log this is, under which incarnation it writes, and
// whether it needs a snapshot first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/result.h"
#include "node/config.h"
#include "node/order_thread.h"
#include "node/workers.h"
#include "replication/log.h"
#include "store/store.h"

namespace waypost::replication {
class LocalLog;
}

namespace waypost::node {

struct Engine {
  std::unique_ptr<replication::Log> log;
  replication::LocalLog* local = nullptr;  // log, where it is this node's own
  std::string name;                        // "local", "etcd"
  bool clustered = false;                  // others write to it too
  uint64_t incarnation = 0;
  uint64_t highest_revision = 0;  // of the engine, as it was seen before the restart (LOG.md rule 2)
  uint64_t snapshot_bytes = 0;    // fetched by this start
  // Run once, when nothing is written any more: what the engine keeps outside the database.
  std::function<void()> close = [] {};
};

// The node's own log. `disk` runs its appends.
Result<Engine> open_local_engine(store::Store& store, Workers& disk, OrderThread& order);

// What a member knows of its cluster before its store is opened.
struct ClusterPlace {
  std::unique_ptr<replication::Log> log;
  Hash128 cluster;
  uint64_t incarnation = 0;
  uint64_t snapshot_bytes = 0;
};

struct PlaceEvents {
  std::function<void()> belongs;                        // the store is of this cluster: the log said so
  std::function<void()> close_store;                    // a snapshot will take its place
  std::function<void(const std::string& words)> stage;  // what it waits for now
};

// Waits for the cluster (with --join) or makes it, claims the incarnation, and where `ours` (none: there is
// no store yet) lies behind what the log still has, fetches a snapshot of another member and switches to it.
// On the thread that will run `order`. kUnavailable: told to stop meanwhile.
Result<ClusterPlace> find_place(const NodeConfig& config, OrderThread& order,
                                const std::optional<store::StateStamp>& ours, const PlaceEvents& events);
Engine engine_of(ClusterPlace place, const NodeConfig& config);

// `waypost cluster grow`: the node's own log goes on in etcd; afterwards this node takes no changes until it
// is restarted with --log. Repeatable.
void grow(const NodeConfig& config, replication::LocalLog& local, const Hash128& cluster, OrderThread& order,
          std::function<void(Status)> done);

// The ids for a store that is made now by a member of this cluster.
store::StoreOptions with_cluster(store::StoreOptions options, const Hash128& cluster);

// Whether this data directory was a member's of the cluster that the flags name, as far as is known without
// the log.
void remember_cluster(const NodeConfig& config);
bool remembers_cluster(const NodeConfig& config);

// What is remembered of an etcd between runs, in the data directory.
void remember_engine_revision(const std::string& data_dir, uint64_t revision);
uint64_t remembered_engine_revision(const std::string& data_dir);

}  // namespace waypost::node
