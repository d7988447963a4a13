// What a job will do, command by command, planned from one view: routes, then groups, then nexthops coming
// down, the other way round going up (LOG.md rule 12). Each command is guarded by "the row is still as
// planned", so a plan may be cut anywhere and made again. One reader at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/transaction.h"
#include "node/net_changes_internal.h"
#include "rpc/waypost.pb.h"
#include "store/store.h"

namespace waypost::node {

// Takes one command of about `bytes`; false: enough for now (it was taken).
using CommandSink = std::function<bool(Command command, size_t bytes)>;

struct JobPlan {
  // Gives commands to the sink until it has enough. True behind the last one. Looks at a bounded number of
  // rows.
  std::function<Result<bool>(const CommandSink&)> next;
  // Of the phase that next() is in; 0: not known.
  std::string phase;
  uint64_t total = 0;
  // For what a rollback would do; empty: its commands are only counted.
  std::function<rpc::Difference(const Command&)> show;
};

using SharedPlan = std::shared_ptr<JobPlan>;

SharedPlan plan_flush_nexthops(std::shared_ptr<const store::ReadView> view, const rpc::FlushNexthops& flush);
Result<SharedPlan> plan_flush_routes(std::shared_ptr<const store::ReadView> view,
                                     const rpc::FlushRoutes& flush);
Result<SharedPlan> plan_cascade_delete(std::shared_ptr<const store::ReadView> view, NexthopId id);
Result<SharedPlan> plan_rollback(const store::Store& store, std::shared_ptr<const store::ReadView> view,
                                 Revision to);

}  // namespace waypost::node
