// What is known of this host beside its FIB: links by name, asked for one by one when a name is first needed
// and remembered until an event says otherwise, and the local addresses. The syncer's thread alone.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel_sync/kernel.h"

namespace waypost::kernel_sync {

class Host {
 public:
  explicit Host(Kernel& kernel) : kernel_(kernel) {}

  // The link of this name; none where there is none. One question to the kernel, the first time.
  Result<std::optional<KernelLink>> link(const std::string& name);
  Result<std::optional<KernelLink>> link(uint32_t ifindex);
  // For words: the name, or "interface 7".
  std::string name_of(uint32_t ifindex);

  // Forgets what was known of it: an event says that something happened, the kernel says what is now. Returns
  // the names concerned: the link's, and the one it had before.
  std::vector<std::string> on_link(const LinkEvent& event);
  void forget(const std::string& name) { by_name_.erase(name); }
  // After an overrun: one dump instead of many questions.
  DumpOutcome reload_links();

  // Adds to *changed the addresses that became local or ceased to be.
  DumpOutcome reload_addresses(std::set<IpAddress>* changed);
  bool is_local(const IpAddress& address) const { return local_.count(address) != 0; }

 private:
  Kernel& kernel_;
  std::unordered_map<std::string, std::optional<KernelLink>> by_name_;
  std::unordered_map<uint32_t, std::string> names_;  // of the links in by_name_
  std::set<IpAddress> local_;
};

}  // namespace waypost::kernel_sync
