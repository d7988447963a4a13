#include "kernel_sync/host.h"

#include <algorithm>
#include <iterator>

namespace waypost::kernel_sync {

Result<std::optional<KernelLink>> Host::link(const std::string& name) {
  auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  Result<std::optional<KernelLink>> asked = kernel_.get_link(name);
  if (!asked.ok()) return asked;
  by_name_[name] = *asked;
  if (*asked) names_[(*asked)->ifindex] = name;
  return asked;
}

Result<std::optional<KernelLink>> Host::link(uint32_t ifindex) {
  auto name = names_.find(ifindex);
  if (name != names_.end()) return link(std::string(name->second));
  Result<std::optional<KernelLink>> asked = kernel_.get_link(ifindex);
  if (asked.ok() && *asked) {
    by_name_[(*asked)->name] = *asked;
    names_[ifindex] = (*asked)->name;
  }
  return asked;
}

std::string Host::name_of(uint32_t ifindex) {
  if (ifindex == 0) return "";
  const Result<std::optional<KernelLink>> asked = link(ifindex);
  if (asked.ok() && *asked) return (*asked)->name;
  return "interface " + std::to_string(ifindex);
}

std::vector<std::string> Host::on_link(const LinkEvent& event) {
  std::vector<std::string> names = {event.link.name};
  auto before = names_.find(event.link.ifindex);
  if (before != names_.end()) {
    if (before->second != event.link.name) names.push_back(before->second);
    names_.erase(before);
  }
  for (const std::string& name : names) by_name_.erase(name);
  return names;
}

DumpOutcome Host::reload_links() {
  by_name_.clear();
  names_.clear();
  const DumpOutcome outcome = kernel_.dump_links([&](const KernelLink& link) {
    by_name_[link.name] = link;
    names_[link.ifindex] = link.name;
  });
  if (outcome == DumpOutcome::kComplete) return outcome;
  // Torn: better nothing known than something wrong.
  by_name_.clear();
  names_.clear();
  return outcome;
}

DumpOutcome Host::reload_addresses(std::set<IpAddress>* changed) {
  std::set<IpAddress> now;
  const DumpOutcome outcome =
      kernel_.dump_addresses([&](const KernelAddress& address) { now.insert(address.local); });
  if (outcome != DumpOutcome::kComplete) return outcome;
  std::set_symmetric_difference(local_.begin(), local_.end(), now.begin(), now.end(),
                                std::inserter(*changed, changed->end()));
  local_ = std::move(now);
  return outcome;
}

}  // namespace waypost::kernel_sync
