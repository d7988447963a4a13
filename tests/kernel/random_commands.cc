#include "tests/kernel/random_commands.h"

#include "tests/kernel/build.h"

namespace waypost::kernel_sync {

namespace {

// Steps are made with these in place of interface indexes, and get the world's own before they run.
constexpr uint32_t kDevice0 = 1'000'000;
constexpr uint32_t kDevice1 = 1'000'001;
constexpr uint32_t kLoopback = 1;
constexpr uint32_t kNoDevice = 999'999;

uint32_t real_index(World& world, uint32_t placeholder) {
  if (placeholder != kDevice0 && placeholder != kDevice1) return placeholder;
  const auto link = world.kernel().get_link(placeholder == kDevice0 ? "e0" : "e1").value();
  return link ? link->ifindex : kNoDevice;
}

KernelStep placed(World& world, KernelStep step) {
  if (auto* nexthop = std::get_if<PutKernelNexthop>(&step)) {
    nexthop->nexthop.ifindex = real_index(world, nexthop->nexthop.ifindex);
  }
  if (auto* row = std::get_if<PutKernelRoute>(&step)) {
    for (KernelPath& path : row->route.paths) path.ifindex = real_index(world, path.ifindex);
  }
  return step;
}

std::string step_text(const KernelStep& step) {
  struct Visitor {
    std::string operator()(const PutKernelNexthop& put) const {
      return (put.exclusive ? "add nexthop " : "put nexthop ") + describe(put.nexthop);
    }
    std::string operator()(const DeleteKernelNexthop& erase) const {
      return "delete nexthop " + std::to_string(erase.id.value());
    }
    std::string operator()(const PutKernelRoute& put) const {
      return (put.exclusive ? "add route " : "put route ") + describe(put.route);
    }
    std::string operator()(const DeleteKernelRoute& erase) const {
      std::string text = "delete route " + to_string(erase.key);
      if (erase.type) text += " type " + std::to_string(static_cast<int>(*erase.type));
      if (erase.protocol) text += " proto " + std::to_string(*erase.protocol);
      if (erase.nexthop.value() != 0) text += " nhid " + std::to_string(erase.nexthop.value());
      return text;
    }
  };
  return std::visit(Visitor{}, step);
}

// Words that need not be the same. A get of an absent key makes its table, which the fake's does not. A
// nexthop that several of its routes and groups refuse is refused in the words of the youngest, and the fake
// does not know their age.
std::string plain(const std::string& answer) {
  if (answer == "ESRCH FIB table does not exist") return "ESRCH No such process";
  for (const char* users : {"EINVAL Scope mismatch with nexthop", "EINVAL Route with host scope",
                            "EINVAL Route cannot point to a fdb nexthop", "EINVAL IPv6 routes can not use",
                            "EINVAL Blackhole nexthop can not be a member of a group"}) {
    if (answer.starts_with(users)) return "EINVAL, in the words of a user";
  }
  return answer;
}

}  // namespace

KernelNexthop CommandMaker::single(uint32_t id) {
  if (one_in(8)) return blackhole(id, one_in(2) ? Family::kIpv4 : Family::kIpv6);
  if (one_in(16)) return fdb(id, one_in(2) ? "10.7.0.9" : "2001:db8::9");
  const uint32_t device = one_in(20) ? pick<uint32_t>({kLoopback, kNoDevice, 0}) : kDevice0 + below(2);
  if (one_in(8)) return on_device(id, device, one_in(2) ? Family::kIpv4 : Family::kIpv6);
  const std::vector<std::string> good = {"10.7.0.2", "10.7.0.3", "10.7.1.2", "2001:db8:70::2",
                                         "2001:db8:71::2"};
  const std::vector<std::string> odd = {"10.7.0.1",      "10.7.1.1", "10.7.0.255",     "192.0.2.1",
                                        "224.0.0.1",     "fe80::1",  "2001:db8:70::1", "ff02::1",
                                        "2001:db8:1::1", "20.0.1.1"};
  return via(id, one_in(6) ? pick(odd) : pick(good), device, one_in(12));
}

KernelNexthop CommandMaker::random_group(uint32_t id) {
  std::vector<std::pair<uint32_t, uint16_t>> members;
  const uint32_t count = one_in(20) ? 0 : 1 + below(4);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t member = one_in(25) ? any_id() : single_id();
    members.emplace_back(member, static_cast<uint16_t>(one_in(4) ? 1 + below(65'535) : 1));
  }
  KernelNexthop result = group(id, members);
  auto& body = std::get<NexthopGroup>(result.object.body);
  if (one_in(16)) body.fdb = true;
  if (one_in(10)) {
    body.type = GroupType::kResilient;
    body.resilient.buckets = static_cast<uint16_t>(below(3) * 8);
    body.resilient.idle_timer_cs = 100 * below(3);
    body.fdb = false;
  }
  return result;
}

RouteKey CommandMaker::random_key() {
  const uint32_t table = one_in(4) ? 100 : 254;
  if (one_in(2)) {
    const std::string to = "20.0." + std::to_string(below(6)) + (one_in(4) ? ".0/23" : ".0/24");
    Prefix where = prefix(to);
    where.address = masked(where.address, where.length);
    if (one_in(40)) where = prefix("20.0.0.1/24");
    const auto tos = static_cast<uint8_t>(one_in(6) ? 8 : one_in(60) ? 1 : 0);
    return {TableId(table), where, tos, one_in(3) ? 5 * (1 + below(2)) : 0};
  }
  const std::string to = "2001:db8:" + std::to_string(below(6)) + (one_in(4) ? "::/47" : "::/48");
  Prefix where = prefix(to);
  where.address = masked(where.address, where.length);
  const auto tos = static_cast<uint8_t>(one_in(60) ? 8 : 0);
  return {TableId(table), where, tos, one_in(3) ? 5 * (1 + below(2)) : 1024};
}

std::vector<KernelPath> CommandMaker::random_paths(Family family) {
  const bool ipv4 = family == Family::kIpv4;
  const KernelPath first = {kDevice0, address(ipv4 ? "10.7.0.2" : "2001:db8:70::2"), 1, 0};
  const KernelPath second = {kDevice1, address(ipv4 ? "10.7.1.2" : "2001:db8:71::2"), 1, 0};
  if (one_in(3)) return {first, second};
  return {one_in(2) ? first : second};
}

KernelRoute CommandMaker::random_route() {
  const RouteKey where = random_key();
  const Family family = where.prefix.family();
  if (one_in(10)) {
    return error_route(where,
                       pick<RouteType>({RouteType::kBlackhole, RouteType::kUnreachable, RouteType::kProhibit,
                                        RouteType::kThrow}),
                       one_in(3) ? any_id() : 0);
  }
  if (one_in(8)) {
    KernelRoute row = route(where, 0, kTheirs);
    row.paths = random_paths(family);
    return row;
  }
  KernelRoute row = route(where, any_id());
  if (one_in(10)) {
    row.route.prefsrc =
        address(family == Family::kIpv4 ? pick<std::string>({"10.7.0.1", "10.7.1.1", "10.7.2.1"})
                                        : pick<std::string>({"2001:db8:70::1", "2001:db8:72::1"}));
  }
  if (one_in(20)) row.route.metrics.values = {{2, 1'400}};
  if (family == Family::kIpv4 && one_in(20)) row.route.scope = pick<uint8_t>({kScopeLink, kScopeHost});
  if (family == Family::kIpv6 && one_in(20)) row.route.preference = 1;
  return row;
}

KernelStep CommandMaker::random_step() {
  switch (below(10)) {
    case 0:
    case 1:
      return PutKernelNexthop{single(one_in(30) ? group_id() : single_id()), one_in(4)};
    case 2:
    case 3:
      return PutKernelNexthop{random_group(one_in(30) ? single_id() : group_id()), one_in(4)};
    case 4:
      return del(one_in(3) ? group_id() : single_id());
    case 5: {
      DeleteKernelRoute erase{random_key(), std::nullopt, std::nullopt, NexthopId(one_in(3) ? any_id() : 0)};
      if (one_in(4)) erase.type = one_in(2) ? RouteType::kUnicast : RouteType::kBlackhole;
      if (one_in(4)) erase.protocol = one_in(2) ? kOurs : kTheirs;
      if (one_in(6)) erase.key.metric = 0;
      return erase;
    }
    default:
      return PutKernelRoute{random_route(), one_in(4)};
  }
}

Command CommandMaker::step_command() {
  KernelStep step = random_step();
  const bool foreign = one_in(4);
  if (auto* put = std::get_if<PutKernelNexthop>(&step); put && foreign)
    put->nexthop.object.protocol = kTheirs;
  return {(foreign ? "foreign: " : "ours: ") + step_text(step), [step, foreign](World& world) {
            const KernelStep here = placed(world, step);
            if (!foreign) return plain(world.run(here));
            const BatchOutcome outcome = world.foreign({here});
            if (outcome.failures.empty()) return std::string("ok");
            return plain(answer_text(outcome.failures[0].error, outcome.failures[0].words));
          }};
}

Command CommandMaker::link_command() {
  const uint32_t which = below(2);
  Device& device = devices_[which];
  const std::string name = "e" + std::to_string(which);
  const std::string address4 = "10.7." + std::to_string(which) + ".1/24";
  const std::string address6 = "2001:db8:7" + std::to_string(which) + "::1/64";
  const auto say = [](std::string text, std::function<void(World&)> act) {
    return Command{text, [act](World& world) {
                     act(world);
                     return std::string();
                   }};
  };
  if (!device.present) {
    device = {true, true, false, false};
    return say("link add " + name, [=](World& world) { world.add_link(name); });
  }
  if (!device.address4) {
    device.address4 = true;
    return say("address add " + address4, [=](World& world) { world.add_address(name, address4); });
  }
  if (device.up && !device.address6) {
    device.address6 = true;
    return say("address add " + address6, [=](World& world) { world.add_address(name, address6); });
  }
  switch (below(6)) {
    case 0:
    case 1: {
      device.up = !device.up;
      if (!device.up) device.address6 = false;
      const bool up = device.up;
      return say("link set " + name + (up ? " up" : " down"), [=](World& world) { world.set_up(name, up); });
    }
    case 2: {
      const bool carrier = !one_in(3);
      return say("link set " + name + (carrier ? " carrier on" : " carrier off"),
                 [=](World& world) { world.set_carrier(name, carrier); });
    }
    case 3:
      device.present = false;
      return say("link del " + name, [=](World& world) { world.remove_link(name); });
    case 4:
      device.address4 = false;
      return say("address del " + address4, [=](World& world) { world.remove_address(name, address4); });
    default:
      if (!device.address6) {
        return say("link set " + name + " carrier on", [=](World& world) { world.set_carrier(name, true); });
      }
      device.address6 = false;
      return say("address del " + address6, [=](World& world) { world.remove_address(name, address6); });
  }
}

Command CommandMaker::query_command() {
  RouteKey where = random_key();
  where.prefix.address = masked(where.prefix.address, where.prefix.length);
  where.tos &= 8;
  if (where.prefix.family() == Family::kIpv6) where.tos = 0;
  return {"get " + to_string(where), [where](World& world) {
            const auto found = world.kernel().get_route(where);
            if (!found) return found.error().message;
            return *found ? describe(**found) : std::string("none");
          }};
}

Command CommandMaker::next() {
  if (one_in(40)) return link_command();
  if (one_in(10)) return query_command();
  if (one_in(200)) {
    const int mode = static_cast<int>(below(2));
    return {"mode " + std::to_string(mode), [mode](World& world) {
              return std::string(world.kernel().set_compat_mode(mode).ok() ? "ok" : "failed");
            }};
  }
  return step_command();
}

}  // namespace waypost::kernel_sync
