#include "tests/kernel/world.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace waypost::kernel_sync {

namespace {

std::string path_text(const KernelPath& path) {
  std::string text = path.gateway ? " via " + to_string(*path.gateway) : std::string();
  text += " dev " + std::to_string(path.ifindex);
  if (path.weight != 1) text += " weight " + std::to_string(path.weight);
  if ((path.flags & 1) != 0) text += " dead";
  if ((path.flags & 16) != 0) text += " linkdown";
  return text;
}

}  // namespace

std::string engine_name(Engine engine) {
  return engine == Engine::kReal ? "Real" : "Fake";
}

std::unique_ptr<World> make_world(Engine engine) {
  return engine == Engine::kReal ? make_real_world() : make_fake_world();
}

std::string answer_text(int error, const std::string& words) {
  if (error == 0) return "ok";
  const char* name = strerrorname_np(error);
  return std::string(name ? name : "?") + " " + words;
}

std::vector<KernelEvent> World::events() {
  std::vector<KernelEvent> all;
  while (true) {
    std::vector<KernelEvent> some = kernel().wait(0);
    if (some.empty()) return all;
    all.insert(all.end(), some.begin(), some.end());
  }
}

uint32_t World::index(const std::string& name) {
  const auto link = kernel().get_link(name).value();
  if (!link) throw std::runtime_error("no device " + name);
  return link->ifindex;
}

std::string World::run(const KernelStep& step) {
  return run(std::vector<KernelStep>{step});
}

std::string World::run(const std::vector<KernelStep>& steps) {
  const BatchOutcome outcome = kernel().execute(steps);
  if (!outcome.transport) return "transport: " + outcome.transport.error().message;
  if (outcome.failures.empty()) return "ok";
  return answer_text(outcome.failures[0].error, outcome.failures[0].words);
}

std::string describe(const KernelNexthop& nexthop) {
  std::string text = "id " + std::to_string(nexthop.object.id.value());
  if (nexthop.object.is_group()) {
    const NexthopGroup& group = nexthop.object.group();
    text += " group";
    for (const GroupMember& member : group.members) {
      text += " " + std::to_string(member.id.value());
      if (member.weight != 1) text += "," + std::to_string(member.weight);
    }
    if (group.type == GroupType::kResilient) {
      text += " buckets " + std::to_string(group.resilient.buckets);
      text += " idle " + std::to_string(group.resilient.idle_timer_cs);
      text += " unbalanced " + std::to_string(group.resilient.unbalanced_timer_cs);
    }
    if (group.fdb) text += " fdb";
  } else {
    const Nexthop& single = nexthop.object.nexthop();
    text += single.family == Family::kIpv4 ? " v4" : " v6";
    if (single.gateway) text += " via " + to_string(*single.gateway);
    if (nexthop.ifindex != 0) text += " dev " + std::to_string(nexthop.ifindex);
    if (single.onlink) text += " onlink";
    if (single.blackhole) text += " blackhole";
    if (single.fdb) text += " fdb";
    if (single.encap.index() != 0) text += " encap";
  }
  text += " proto " + std::to_string(nexthop.object.protocol);
  if (nexthop.flags != 0) text += " flags " + std::to_string(nexthop.flags);
  return text;
}

std::string describe(const KernelRoute& row) {
  const Route& route = row.route;
  std::string text = to_string(route.key) + " type " + std::to_string(static_cast<int>(route.type));
  if (route.nexthop.value() != 0) text += " nhid " + std::to_string(route.nexthop.value());
  std::vector<std::string> paths;
  for (const KernelPath& path : row.paths) paths.push_back(path_text(path));
  // IPv6 begins with whichever path it just chose.
  if (route.key.prefix.family() == Family::kIpv6) std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) text += path;
  text += " proto " + std::to_string(route.protocol);
  if (route.scope != 0) text += " scope " + std::to_string(route.scope);
  if (route.preference != 0) text += " pref " + std::to_string(route.preference);
  if (route.prefsrc) text += " src " + to_string(*route.prefsrc);
  for (const auto& [number, value] : route.metrics.values) {
    text += " rtax" + std::to_string(number) + "=" + std::to_string(value);
  }
  if (!route.metrics.congestion_control.empty()) text += " cc " + route.metrics.congestion_control;
  if (route.metrics.lock != 0) text += " lock " + std::to_string(route.metrics.lock);
  return text;
}

std::string describe(const KernelEvent& event) {
  const auto with = [](bool deleted, const std::string& text) {
    return (deleted ? "deleted " : "new ") + text;
  };
  struct Visitor {
    decltype(with)& say;
    std::string operator()(const LinkEvent& link) const {
      return say(link.deleted, "link " + link.link.name + (link.link.up ? " up" : " down") +
                                   (link.link.carrier ? "" : " no-carrier"));
    }
    std::string operator()(const AddressEvent& change) const {
      return say(change.deleted, "address " + to_string(change.address.prefix) + " dev " +
                                     std::to_string(change.address.ifindex));
    }
    std::string operator()(const NexthopEvent& change) const {
      return say(change.deleted, "nexthop " + describe(change.nexthop));
    }
    std::string operator()(const RouteEvent& change) const {
      return say(change.deleted, "route " + describe(change.route));
    }
    std::string operator()(const OverrunEvent&) const { return "overrun"; }
    std::string operator()(const WakeEvent&) const { return "wake"; }
  };
  return std::visit(Visitor{with}, event);
}

std::vector<std::string> describe_nexthops(Kernel& kernel) {
  std::vector<std::string> lines;
  if (kernel.dump_nexthops([&](const KernelNexthop& one) { lines.push_back(describe(one)); }) !=
      DumpOutcome::kComplete) {
    lines.push_back("the dump of nexthops failed");
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> describe_routes(Kernel& kernel) {
  std::vector<std::string> lines;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const auto keep = [&](const KernelRoute& row) {
      if (row.route.protocol != 2) lines.push_back(describe(row));
    };
    if (kernel.dump_routes(family, std::nullopt, keep) != DumpOutcome::kComplete) {
      lines.push_back("a dump of routes failed");
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> describe_events(World& world) {
  std::vector<std::string> lines;
  for (const KernelEvent& event : world.events()) lines.push_back(describe(event));
  return lines;
}

}  // namespace waypost::kernel_sync
