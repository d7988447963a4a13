#include "tests/kernel_sync/engine_harness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "kernel_sync/report.h"
#include "model/row_codec.h"

namespace waypost::kernel_sync {

namespace {

// An empty value: the row goes.
Change change_of(NexthopId nexthop, std::string value) {
  Change change;
  change.table = DataTable::kNexthop;
  append_nexthop_key(change.key, nexthop);
  change.old_value = value.empty() ? "x" : "";
  change.new_value = std::move(value);
  return change;
}

Change change_of(const RouteKey& route_key, std::string value) {
  Change change;
  append_route_key(change.key, route_key);
  change.old_value = value.empty() ? "x" : "";
  change.new_value = std::move(value);
  return change;
}

}  // namespace

NexthopObject via(uint32_t nexthop, const std::string& gateway, const std::string& device) {
  Nexthop body;
  body.gateway = address(gateway);
  body.family = body.gateway->family;
  body.device = device;
  return NexthopObject{.id = id(nexthop), .protocol = 4, .body = body};
}

NexthopObject on_device(uint32_t nexthop, const std::string& device, Family family) {
  Nexthop body;
  body.family = family;
  body.device = device;
  return NexthopObject{.id = id(nexthop), .protocol = 4, .body = body};
}

NexthopObject blackhole(uint32_t nexthop, Family family) {
  Nexthop body;
  body.family = family;
  body.blackhole = true;
  return NexthopObject{.id = id(nexthop), .protocol = 4, .body = body};
}

NexthopObject group(uint32_t nexthop, std::vector<uint32_t> members) {
  NexthopGroup body;
  for (uint32_t member : members) body.members.push_back({.id = id(member), .weight = 1});
  return NexthopObject{.id = id(nexthop), .protocol = 4, .body = body};
}

Route route(const std::string& text, uint32_t nexthop, TableId table) {
  Route out;
  out.key = key(text, table);
  out.nexthop = id(nexthop);
  return out;
}

EngineHarness::EngineHarness(bool with_devices) {
  kernel.wait_blocks = false;
  stamp.cluster = Hash128{1, 2};
  stamp.history = Hash128{3, 4};
  options.audit_period_ms = 0;
  static int count = 0;
  options.mark_path =
      ::testing::TempDir() + "waypost-mark-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  if (with_devices) {
    kernel.change([](FakeFib& fib) {
      fib.add_link("e0", true, true);
      fib.add_link("e1", true, true);
    });
    auto with_host = [](const std::string& text, uint8_t length) {
      return Prefix{*parse_address(text), length};
    };
    kernel.change([&](FakeFib& fib) {
      fib.add_address("e0", with_host("10.7.0.1", 24));
      fib.add_address("e1", with_host("10.7.1.1", 24));
      fib.add_address("e0", with_host("2001:db8:70::1", 64));
      fib.add_address("e1", with_host("2001:db8:71::1", 64));
    });
  }
  kernel.after_step = [this](const KernelStep& step, const FakeAnswer& answer) {
    steps_ += words(step) + (answer.ok() ? "" : " -> " + answer.words) + "\n";
    if (watch_foreign_) check_foreign(step);
    for (const RouteKey& wanted : reachable_)
      if (lost_.empty() && !kernel.fib().find_route(wanted))
        lost_ = to_string(wanted) + " was gone after: " + words(step);
  };
  open();
}

EngineHarness::~EngineHarness() {
  ::unlink(options.mark_path.c_str());
}

std::map<RouteKey, uint8_t> EngineHarness::foreign_rows() const {
  std::map<RouteKey, uint8_t> rows;
  for (Family family : {Family::kIpv4, Family::kIpv6})
    kernel.fib().visit_routes(family, std::nullopt, [&](const KernelRoute& found) {
      if (found.route.protocol == 4) rows[found.route.key] = found.route.protocol;
    });
  return rows;
}

std::string EngineHarness::unfinished() const {
  const Work& work = const_cast<Engine&>(*engine).work();
  std::string out = "hold: " + engine->hold() + " problem: " + engine->problem();
  auto add = [&](const char* name, const IdSet& ids) {
    for (std::optional<NexthopId> at = ids.first(); at; at = ids.after(*at))
      out += std::string(" ") + name + " " + std::to_string(at->value());
  };
  add("unresolved", work.unresolved);
  add("nexthop", work.nexthops);
  add("group", work.groups);
  add("shrinking", work.shrinking);
  add("leaving", work.leaving);
  add("leaving group", work.leaving_groups);
  add("waiting", work.waiting);
  add("again", work.again_nexthops);
  add("kept", work.kept);
  for (std::optional<NexthopId> at = work.waiting.first(); at; at = work.waiting.after(*at)) {
    out +=
        " users " + std::to_string(engine->fib().routes.specs().users(*at, Side::kOurs).total()) + " groups";
    engine->fib().installed.for_each_group_of(
        *at, [&](NexthopId other) { out += " " + std::to_string(other.value()); });
  }
  for (const RouteKey& route_key : work.up_routes) out += " up " + to_string(route_key);
  for (const RouteKey& route_key : work.down_routes) out += " down " + to_string(route_key);
  for (const RouteKey& route_key : work.again) out += " again " + to_string(route_key);
  engine->fib().route_failures.for_each([&](const RouteKey& route_key, const Failure& failure) {
    if (!failure.settled)
      out += " failing " + to_string(route_key) + ": " + engine->fib().words[failure.words];
    return true;
  });
  engine->fib().nexthop_failures.for_each([&](NexthopId nexthop, const Failure& failure) {
    if (!failure.settled)
      out += " failing " + std::to_string(nexthop.value()) + ": " + engine->fib().words[failure.words];
    return true;
  });
  return out;
}

// Other processes act only between rounds: what goes with a step of ours went by it.
void EngineHarness::check_foreign(const KernelStep& step) {
  std::map<RouteKey, uint8_t> now = foreign_rows();
  for (const auto& [route_key, owner] : foreign_before_)
    if (foreign_damage_.empty() && now.count(route_key) == 0)
      foreign_damage_ = "the foreign route " + to_string(route_key) + " went with: " + words(step);
  foreign_before_ = std::move(now);
}

bool EngineHarness::installable(NexthopId nexthop) const {
  auto found = nexthops.find(nexthop);
  if (found == nexthops.end()) return false;
  if (found->second.is_group()) {
    const auto& members = found->second.group().members;
    return std::any_of(members.begin(), members.end(),
                       [&](const GroupMember& member) { return installable(member.id); });
  }
  const Nexthop& body = found->second.nexthop();
  if (body.blackhole) return true;
  const KernelLink* link = kernel.fib().find_link(body.device);
  if (link == nullptr || !link->up || !link->carrier) return false;
  if (!body.gateway || kernel.fib().is_local(*body.gateway)) return false;
  // On link here: a gateway in a connected network of the device.
  return std::any_of(
      kernel.fib().addresses().begin(), kernel.fib().addresses().end(), [&](const KernelAddress& own) {
        return own.ifindex == link->ifindex && own.prefix.family() == body.gateway->family &&
               masked(own.prefix.address, own.prefix.length) == masked(*body.gateway, own.prefix.length);
      });
}

void EngineHarness::open() {
  kernel.wait(0);
  engine = std::make_unique<Engine>(options, kernel, 1);
  const Status status = engine->open(now_ms);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  replay();
}

void EngineHarness::restart() {
  engine.reset();
  open();
}

void EngineHarness::replay() {
  ChangeSet all;
  all.revision = stamp.revision;
  for (const auto& [nexthop, object] : nexthops) {
    all.changes.push_back(change_of(nexthop, encode_nexthop_value(object)));
  }
  for (const auto& [route_key, value] : routes) {
    all.changes.push_back(change_of(route_key, encode_route_value(value)));
  }
  EXPECT_TRUE(engine->apply({&all, 1}, stamp).ok());
  engine->begin(stamp);
}

void EngineHarness::put(const NexthopObject& object) {
  pending_.changes.push_back(change_of(object.id, encode_nexthop_value(object)));
  nexthops[object.id] = object;
}

void EngineHarness::put(const Route& value) {
  pending_.changes.push_back(change_of(value.key, encode_route_value(value)));
  routes[value.key] = value;
}

void EngineHarness::remove(NexthopId nexthop) {
  pending_.changes.push_back(change_of(nexthop, ""));
  nexthops.erase(nexthop);
}

void EngineHarness::remove(const RouteKey& route_key) {
  pending_.changes.push_back(change_of(route_key, ""));
  routes.erase(route_key);
}

void EngineHarness::commit() {
  stamp.revision = stamp.revision.next();
  pending_.revision = stamp.revision;
  EXPECT_TRUE(engine->apply({&pending_, 1}, stamp).ok());
  pending_ = {};
}

void EngineHarness::pump_events() {
  for (auto events = kernel.wait(0);; events = kernel.wait(0)) {
    const bool more = !events.empty();
    engine->handle(std::move(events), now_ms);
    if (!more) return;
  }
}

void EngineHarness::run() {
  for (int round = 0; round < 10'000; ++round) {
    pump_events();
    ++rounds;
    if (watch_foreign_) foreign_before_ = foreign_rows();
    if (!engine->round(now_ms)) return;
  }
  ADD_FAILURE() << "a hot loop: 10000 rounds and still work to do; " << unfinished() << "\n"
                << steps_.substr(0, 2'000);
}

void EngineHarness::commit_and_run() {
  commit();
  run();
}

void EngineHarness::advance(uint64_t ms) {
  const uint64_t until = now_ms + ms;
  run();
  while (now_ms < until) {
    now_ms = std::min(until, std::max(engine->deadline_ms(), now_ms + 1));
    run();
  }
}

void EngineHarness::foreign_put(const NexthopObject& object, uint32_t ifindex_value) {
  KernelNexthop nexthop{.object = object, .ifindex = ifindex_value};
  if (!object.is_group()) std::get<Nexthop>(nexthop.object.body).device.clear();
  const KernelStep step = PutKernelNexthop{.nexthop = nexthop};
  EXPECT_TRUE(kernel.foreign({&step, 1}).failures.empty());
}

void EngineHarness::foreign_put(const Route& value) {
  PutKernelRoute put;
  put.route.route = value;
  const KernelStep step = put;
  EXPECT_TRUE(kernel.foreign({&step, 1}).failures.empty());
}

void EngineHarness::foreign_delete(const RouteKey& route_key) {
  DeleteKernelRoute erase;
  erase.key = route_key;
  const KernelStep step = erase;
  EXPECT_TRUE(kernel.foreign({&step, 1}).failures.empty());
}

void EngineHarness::foreign_delete(NexthopId nexthop) {
  const KernelStep step = DeleteKernelNexthop{nexthop};
  EXPECT_TRUE(kernel.foreign({&step, 1}).failures.empty());
}

uint32_t EngineHarness::ifindex(const std::string& device) const {
  const KernelLink* link = kernel.fib().find_link(device);
  return link == nullptr ? 0 : link->ifindex;
}

RowState EngineHarness::state(const RouteKey& route_key) const {
  return report(engine->fib(), route_key).state;
}
RowState EngineHarness::state(NexthopId nexthop) const {
  return report(engine->fib(), nexthop).state;
}
std::string EngineHarness::reason(const RouteKey& route_key) const {
  return report(engine->fib(), route_key).reason;
}
std::string EngineHarness::reason(NexthopId nexthop) const {
  return report(engine->fib(), nexthop).reason;
}

std::string EngineHarness::difference() const {
  const FakeFib& fib = kernel.fib();
  for (const auto& [nexthop, object] : nexthops) {
    const bool wanted = state(nexthop) == RowState::kInstalled || state(nexthop) == RowState::kDegraded;
    const KernelNexthop* found = fib.find_nexthop(nexthop);
    const bool ours = found != nullptr && found->object.protocol == options.protocol;
    // What another owner's route uses stays, however it is.
    if (ours && !wanted && !engine->fib().foreign_user(nexthop).empty()) continue;
    if (wanted != ours)
      return "nexthop " + std::to_string(nexthop.value()) + (ours ? " should not be there" : " is missing") +
             ": " + to_string(state(nexthop)) + " " + reason(nexthop);
    if (ours && found->object.is_group() != object.is_group()) return "nexthop of the wrong kind";
    if (!ours || object.is_group()) continue;
    if (found->object.nexthop().gateway != object.nexthop().gateway) return "a nexthop has the wrong gateway";
    if (!object.nexthop().device.empty() && found->ifindex != ifindex(object.nexthop().device))
      return "a nexthop is on the wrong device";
  }
  for (const auto& [nexthop, found] : fib.nexthops())
    if (found.object.protocol == options.protocol && nexthops.count(nexthop) == 0 &&
        reason(nexthop).find("held by foreign") != 0)
      return "nexthop " + std::to_string(nexthop.value()) + " is left over";
  for (const auto& [route_key, value] : routes) {
    const auto found = fib.find_route(route_key);
    const bool ours = found && found->route.protocol == options.protocol;
    const bool wanted = state(route_key) == RowState::kInstalled;
    if (wanted != ours)
      return "route " + to_string(route_key) + (ours ? " should not be there" : " is missing") + ": " +
             to_string(state(route_key)) + " " + reason(route_key);
    if (ours && found->route.nexthop != value.nexthop)
      return "route " + to_string(route_key) + " is on nexthop " +
             std::to_string(found->route.nexthop.value());
  }
  std::string left;
  for (Family family : {Family::kIpv4, Family::kIpv6})
    fib.visit_routes(family, std::nullopt, [&](const KernelRoute& found) {
      if (found.route.protocol == options.protocol && routes.count(found.route.key) == 0)
        left = "route " + to_string(found.route.key) + " is left over";
    });
  return left;
}

std::string EngineHarness::take_steps() {
  std::string out;
  out.swap(steps_);
  return out;
}

void put_nexthops(EngineHarness& host) {
  host.put(via(1, "10.7.0.2", "e0"));
  host.put(via(2, "10.7.1.2", "e1"));
  host.put(via(3, "2001:db8:70::2", "e0"));
}

std::string words(const KernelStep& step) {
  if (const auto* put = std::get_if<PutKernelNexthop>(&step)) {
    const NexthopObject& object = put->nexthop.object;
    std::string out = (put->exclusive ? "add " : "replace ") +
                      std::string(object.is_group() ? "group " : "nexthop ") +
                      std::to_string(object.id.value());
    if (object.is_group()) {
      for (const GroupMember& member : object.group().members) out += " " + std::to_string(member.id.value());
    } else {
      if (object.nexthop().gateway) out += " via " + to_string(*object.nexthop().gateway);
      if (put->nexthop.ifindex != 0) out += " dev " + std::to_string(put->nexthop.ifindex);
      if (object.nexthop().blackhole) out += " blackhole";
    }
    return out;
  }
  if (const auto* erase = std::get_if<DeleteKernelNexthop>(&step))
    return "delete nexthop " + std::to_string(erase->id.value());
  if (const auto* put = std::get_if<PutKernelRoute>(&step)) {
    const Route& value = put->route.route;
    return (put->exclusive ? "add route " : "replace route ") + to_string(value.key) +
           (value.type == RouteType::kUnicast ? ""
                                              : " type " + std::to_string(static_cast<int>(value.type))) +
           (value.nexthop.value() == 0 ? "" : " nhid " + std::to_string(value.nexthop.value()));
  }
  return "delete route " + to_string(std::get<DeleteKernelRoute>(step).key);
}

}  // namespace waypost::kernel_sync
