// `fib diff` and `fib get`: the store beside the kernel as it is now.
#pragma once

#include <functional>

#include "kernel_sync/engine.h"
#include "kernel_sync/status.h"
#include "store/store.h"

namespace waypost::kernel_sync {

class FibDiff {
 public:
  using Visit = std::function<bool(const FibDifference&)>;

  explicit FibDiff(Engine& engine) : engine_(engine), fib_(engine.fib()) {}

  // Looks at the kernel as an audit does, so that no line comes of a dump alone; nexthops, then routes, by
  // key. What differs is mended by the rounds that follow. Errors: kUnavailable where the look fails.
  Status run(uint64_t now_ms, const Visit& visit);

 private:
  bool nexthops(const Visit& visit);
  void routes(const Visit& visit);
  bool nexthop(NexthopId id, const NexthopTable::Row* row, const NexthopTable::Row* found,
               const Visit& visit);
  bool route(const RouteTables::Difference& row, const Visit& visit);

  Engine& engine_;
  Fib& fib_;
};

Result<FibGetReport> get_from_fib(Engine& engine, const store::Store& store, const IpAddress& address,
                                  TableId table);

}  // namespace waypost::kernel_sync
