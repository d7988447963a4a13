#include "node/kernel.h"

#include <unistd.h>

#include <cctype>
#include <filesystem>

#include "kernel_sync/netlink/netlink_kernel.h"

namespace waypost::node {

namespace {

// The proof of SEMANTICS.md B4 must go with the FIB: /run is emptied by a reboot, and a namespace has an
// inode of its own. One file for each network namespace, as there is one kernel_sync in each.
std::string mark_path() {
  std::error_code error;
  std::string space = std::filesystem::read_symlink("/proc/self/ns/net", error).string();
  for (char& c : space) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  }
  const std::string directory = "/run/waypost";
  std::filesystem::create_directories(directory, error);
  return directory + "/fib-mark-" + space;
}

kernel_sync::SyncerOptions syncer_options(const NodeConfig& config) {
  kernel_sync::SyncerOptions options;
  options.protocol = config.protocol;
  options.data_directory = config.data_dir;
  options.mark_path = mark_path();
  options.compat_mode = config.compat_mode_leave ? kernel_sync::CompatModePolicy::kLeave
                                                 : kernel_sync::CompatModePolicy::kSetZero;
  options.audit_period_ms = config.audit_period_s * 1'000;
  options.sweep_objects = config.sweep_objects;
  options.sweep_share = config.sweep_share;
  options.unreachable_on_pending = config.unreachable_on_pending;
  return options;
}

}  // namespace

Result<std::unique_ptr<KernelSync>> KernelSync::open(const NodeConfig& config, const store::Store& store) {
  Result<kernel_sync::NamespaceLock> lock = kernel_sync::NamespaceLock::acquire();
  if (!lock.ok()) return lock.error();
  std::unique_ptr<KernelSync> kernel(new KernelSync(std::move(*lock)));
  kernel->syncer_ = std::make_unique<kernel_sync::Syncer>(syncer_options(config), store,
                                                          [] { return kernel_sync::open_netlink_kernel(); });
  if (Status status = kernel->syncer_->start(); !status.ok()) return status.error();
  return kernel;
}

Result<uint64_t> release_kernel(const NodeConfig& config) {
  const Result<kernel_sync::NamespaceLock> lock = kernel_sync::NamespaceLock::acquire();
  if (!lock.ok()) return lock.error();
  kernel_sync::NetlinkOptions options;
  options.watch = false;
  Result<std::unique_ptr<kernel_sync::Kernel>> kernel = kernel_sync::open_netlink_kernel(options);
  if (!kernel.ok()) return kernel.error();
  return kernel_sync::release_offline(syncer_options(config), **kernel);
}

}  // namespace waypost::node
