// `fib diff` and `fib get`: the store beside a fresh look at the kernel. They change nothing.
#pragma once

#include <functional>

#include "kernel_sync/engine.h"
#include "kernel_sync/status.h"
#include "store/store.h"

namespace waypost::kernel_sync {

class FibDiff {
 public:
  using Visit = std::function<bool(const FibDifference&)>;

  FibDiff(Engine& engine, uint64_t now_ms)
      : engine_(engine), fib_(engine.fib()), learner_(engine.learner(now_ms)) {}

  // Nexthops, then routes, by key. Errors: kUnavailable where a dump fails.
  Status run(const Visit& visit);

 private:
  bool nexthops(const Visit& visit, Status* status);
  bool routes(Family family, const Visit& visit, Status* status);
  bool nexthop(NexthopId id, const KernelNexthop* found, const Visit& visit);
  bool route(const RouteTables::Difference& row, const Visit& visit);

  Engine& engine_;
  Fib& fib_;
  Learner learner_;
};

Result<FibGetReport> get_from_fib(Engine& engine, const store::Store& store, const IpAddress& address,
                                  TableId table);

}  // namespace waypost::kernel_sync
