// kernel_sync as the node runs it: its options from the configuration, its kernel the real one.
#pragma once

#include <memory>

#include "kernel_sync/namespace_lock.h"
#include "kernel_sync/syncer.h"
#include "node/config.h"

namespace waypost::node {

class KernelSync {
 public:
  // kFailedPrecondition where another kernel_sync has this network namespace, kPermissionDenied without
  // CAP_NET_ADMIN.
  static Result<std::unique_ptr<KernelSync>> open(const NodeConfig& config, const store::Store& store);

  kernel_sync::Syncer& syncer() { return *syncer_; }

 private:
  explicit KernelSync(kernel_sync::NamespaceLock lock) : lock_(std::move(lock)) {}

  kernel_sync::NamespaceLock lock_;
  std::unique_ptr<kernel_sync::Syncer> syncer_;
};

// `waypostd --release`: the objects taken out of the kernel.
Result<uint64_t> release_kernel(const NodeConfig& config);

}  // namespace waypost::node
