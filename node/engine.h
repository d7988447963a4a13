// Which log this node has: the only place of node/ that names the engines.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "model/result.h"
#include "node/config.h"
#include "node/order_thread.h"
#include "node/workers.h"
#include "replication/log.h"
#include "store/store.h"

namespace waypost::node {

struct Engine {
  std::unique_ptr<replication::Log> log;
  std::string name;        // "local", "etcd"
  bool clustered = false;  // others write to it too
  uint64_t incarnation = 0;
  uint64_t highest_revision = 0;  // of the engine, as it was seen before the restart (LOG.md rule 2)
  // Run once, when nothing is written any more: what the engine keeps outside the database.
  std::function<void()> close = [] {};
};

// `disk` runs the local engine's appends.
Result<Engine> open_engine(const NodeConfig& config, store::Store& store, Workers& disk, OrderThread& order);

}  // namespace waypost::node
