#include "kernel_sync/host.h"

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
  std::vector<std::string> touched;
  const KernelLink& link = event.link;
  auto old_name = names_.find(link.ifindex);
  if (old_name != names_.end() && old_name->second != link.name) {
    // Renamed: who asks for the old name is told "none" until another link takes it.
    touched.push_back(old_name->second);
    by_name_[old_name->second] = std::nullopt;
    names_.erase(old_name);
  }
  auto known = by_name_.find(link.name);
  if (known == by_name_.end()) return touched;  // never asked for
  touched.push_back(link.name);
  if (known->second) names_.erase(known->second->ifindex);
  if (event.deleted) {
    // The name may be another link's by now: ask when it is needed.
    by_name_.erase(known);
    return touched;
  }
  known->second = link;
  names_[link.ifindex] = link.name;
  return touched;
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

DumpOutcome Host::reload_addresses() {
  addresses_.clear();
  local_.clear();
  return kernel_.dump_addresses([&](const KernelAddress& address) {
    if (addresses_.insert({address.local, address.ifindex}).second) ++local_[address.local];
  });
}

bool Host::on_address(const AddressEvent& event) {
  const IpAddress& address = event.address.local;
  const bool before = is_local(address);
  const std::pair<IpAddress, uint32_t> entry{address, event.address.ifindex};
  if (!event.deleted) {
    if (addresses_.insert(entry).second) ++local_[address];
  } else if (addresses_.erase(entry) != 0) {
    if (--local_[address] == 0) local_.erase(address);
  }
  return before != is_local(address);
}

}  // namespace waypost::kernel_sync
