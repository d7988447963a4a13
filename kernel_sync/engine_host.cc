// The engine's ears: what happens on the host, and what has to be looked at because of it.

#include <spdlog/spdlog.h>

#include "kernel_sync/engine.h"

namespace waypost::kernel_sync {
namespace {

// Up to this many nexthops on links in doubt are asked for one by one; more cost a dump.
constexpr size_t kAskedSuspects = 512;
// So often are events taken at once in the middle of a dump; the rest wait for the next time.
constexpr int kListenTurns = 16;

std::string to_string(const Observation& seen) {
  return std::to_string(seen.nexthops.missing) + " nexthops and " + std::to_string(seen.routes.missing) +
         " routes missing, " + std::to_string(seen.nexthops.extra) + " and " +
         std::to_string(seen.routes.extra) + " extra, " + std::to_string(seen.nexthops.different) + " and " +
         std::to_string(seen.routes.different) + " different";
}

}  // namespace

void Engine::handle(std::vector<KernelEvent> events, uint64_t now_ms) {
  if (!events.empty()) work_.progress = true;
  Learner learner = this->learner(now_ms);
  for (const KernelEvent& event : events) {
    if (const LinkEvent* link = std::get_if<LinkEvent>(&event)) {
      link_event(*link, now_ms);
    } else if (std::holds_alternative<AddressEvent>(event)) {
      host_changed_ = addresses_changed_ = true;
    } else if (const NexthopEvent* nexthop = std::get_if<NexthopEvent>(&event)) {
      learner.event(*nexthop);
    } else if (const RouteEvent* route = std::get_if<RouteEvent>(&event)) {
      learner.event(*route);
    } else if (std::holds_alternative<OverrunEvent>(event) && !mutant("overrun_ignored")) {
      // KERNEL.md K16: everything is unknown. What is still queued is older than the loss, so it is taken
      // first.
      overrun_ = true;
    }
  }
  drained_ = events.size() < limits::kMaxEventsPerWait;
  take_drift(learner);
  if (host_changed_ && settle_at_ms_ == UINT64_MAX) settle_at_ms_ = now_ms + options_.link_settle_ms;
}

// Events while a dump runs: taken as ever, and remembered by their keys.
void Engine::listen(Heard& heard, uint64_t now_ms) {
  bool more = true;
  for (int turn = 0; more && turn < kListenTurns; ++turn) {
    std::vector<KernelEvent> events = kernel_.wait(0);
    more = events.size() >= limits::kMaxEventsPerWait;
    for (const KernelEvent& event : events) {
      if (const RouteEvent* route = std::get_if<RouteEvent>(&event)) {
        heard.routes.insert(route->route.route.key);
      } else if (const NexthopEvent* nexthop = std::get_if<NexthopEvent>(&event)) {
        heard.too_much = heard.too_much || nexthop->deleted;
      }
    }
    if (heard.routes.size() > limits::kMaxTouchedRoutes) heard.too_much = true;
    if (heard.too_much) heard.routes.clear();
    handle(std::move(events), now_ms);
  }
}

void Engine::link_event(const LinkEvent& event, uint64_t now_ms) {
  for (const std::string& name : host_.on_link(event)) {
    const uint32_t device = fib_.devices.find(name);
    if (device != 0 && fib_.desired.count_on(device) != 0) dirty_devices_.insert(device);
  }
  // KERNEL.md K12, K13: what is on this link is in an unknown state.
  if (fib_.installed.count_on(event.link.ifindex) != 0) suspect_links_.insert(event.link.ifindex);
  host_changed_ = host_changed_ || !dirty_devices_.empty() || !suspect_links_.empty();
  if (settle_at_ms_ == UINT64_MAX && host_changed_) settle_at_ms_ = now_ms + options_.link_settle_ms;
}

void Engine::settle_host(uint64_t now_ms) {
  settle_at_ms_ = UINT64_MAX;
  if (!suspect_links_.empty()) check_suspects(now_ms);
  if (addresses_changed_ && host_.reload_addresses(&dirty_gateways_) != DumpOutcome::kComplete) {
    settle_at_ms_ = now_ms + options_.link_settle_ms;
    return;
  }
  addresses_changed_ = false;
  resolve_again();
  if (!host_changed_) return;
  host_changed_ = false;
  // What the kernel refused may be possible now: a gateway on link, a source address, a device.
  auto refused = [](const auto&, const Failure& failure) {
    return failure.settled && !failure.put_off && failure.state != RowState::kConflict;
  };
  fib_.route_failures.hurry(now_ms, refused);
  fib_.nexthop_failures.hurry(now_ms, refused);
}

void Engine::check_suspects(uint64_t now_ms) {
  if (mutant("silent_cascade_ignored")) {
    suspect_links_.clear();
    return;
  }
  std::vector<NexthopId> suspects;
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, const NexthopTable::Row& row) {
    if (row.device != 0 && !row.group && suspect_links_.count(row.device) != 0) suspects.push_back(id);
    return suspects.size() <= kAskedSuspects;
  });
  suspect_links_.clear();
  Learner learner = this->learner(now_ms);
  if (suspects.size() > kAskedSuspects) {
    const Observation seen = observer(learner, now_ms).look_at_nexthops();
    if (!seen.status.ok()) resync_ = true;
  } else {
    for (NexthopId id : suspects) questions_.nexthops.insert(id);
  }
  learner.drift = {};  // what the kernel drops with a link is no drift
  take_drift(learner);
}

// Which nexthops come down to something else now.
void Engine::resolve_again() {
  const bool connected = host_changed_;
  fib_.desired.walk(NexthopId(0), [&](NexthopId id, NexthopTable::Row& row) {
    if (row.group) return true;
    const bool here = row.has_gateway && row.device == 0 && !row.fdb;
    const IpAddress gateway{row.ipv6 ? Family::kIpv6 : Family::kIpv4, row.gateway};
    if ((row.device != 0 && dirty_devices_.count(row.device) != 0) || (here && connected) ||
        (row.has_gateway && !dirty_gateways_.empty() && dirty_gateways_.count(gateway) != 0))
      work_.unresolved.insert(id);
    return true;
  });
  dirty_devices_.clear();
  dirty_gateways_.clear();
}

// After an overrun nothing that was known of the host counts any more.
void Engine::forget_host() {
  overrun_ = false;
  resync_ = true;
  host_.reload_links();
  fib_.desired.walk(NexthopId(0), [&](NexthopId id, NexthopTable::Row& row) {
    if (!row.group) work_.unresolved.insert(id);
    return true;
  });
  host_changed_ = true;
}

Observation Engine::look(uint64_t now_ms, const std::string& why) {
  Learner learner = this->learner(now_ms);
  Observation seen = observer(learner, now_ms).look();
  counters_.false_missing += seen.false_missing;
  if (seen.nexthops.total() + seen.routes.total() != 0) {
    spdlog::info("looked at the kernel ({}): {}", why, to_string(seen));
    learner.drift.cause = "found by a look at the kernel (" + why + ")";
  }
  learner.drift.nexthops = seen.nexthops.total();
  learner.drift.routes = seen.routes.total();
  take_drift(learner);
  work_.progress = true;
  return seen;
}

Status Engine::audit(uint64_t now_ms, uint64_t wall_us) {
  const auto begin = std::chrono::steady_clock::now();
  const Observation seen = look(now_ms, "audit");
  const auto took = std::chrono::steady_clock::now() - begin;
  ++counters_.audits;
  counters_.last_audit_us = wall_us;
  counters_.last_audit_took_us =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  counters_.last_audit_result = seen.status.ok() ? to_string(seen) : seen.status.error().message;
  schedule_audit(now_ms, counters_.last_audit_took_us / 1'000);
  return seen.status;
}

// The period +-20 %, and never so often that looking takes more than its share of a core.
void Engine::schedule_audit(uint64_t now_ms, uint64_t took_ms) {
  if (options_.audit_period_ms == 0) {
    next_audit_ms_ = UINT64_MAX;
    return;
  }
  std::uniform_real_distribution<double> spread(0.8, 1.2);
  const double period = static_cast<double>(options_.audit_period_ms) * spread(random_);
  const double least = static_cast<double>(took_ms) / std::max(options_.audit_core_share, 0.001);
  next_audit_ms_ = now_ms + static_cast<uint64_t>(std::max(period, least));
}

void Engine::each_extra_route(const std::function<void(const RouteKey&)>& visit) {
  std::vector<RouteTables::Difference> rows;
  for (const TableKey& table : fib_.routes.tables()) {
    std::optional<Prefix> after;
    for (bool more = true; more;) {
      rows.clear();
      more = fib_.routes.diff(Side::kDesired, Side::kOurs, table, &after, 4'096, &rows);
      for (const RouteTables::Difference& row : rows)
        if (row.left == kNoSpec && work_.down_routes.count(row.key) == 0) visit(row.key);
    }
  }
}

void Engine::decide_sweep() {
  uint64_t extra = 0;
  each_extra_route([&](const RouteKey&) { ++extra; });
  uint64_t ours = fib_.routes.count(Side::kOurs);
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, const NexthopTable::Row& row) {
    ours += row.ours;
    if (row.ours && !is_scratch(id) && fib_.desired.find(id) == nullptr) ++extra;
    return true;
  });
  SweepQuestion question;
  question.mark = marked_;
  question.store = Mark{stamp_.cluster, stamp_.history, stamp_.revision};
  question.extra = extra;
  question.ours = ours;
  question.objects_allowed = options_.sweep_objects;
  question.share_allowed = options_.sweep_share;
  question.mark_path = options_.mark_path;
  sweep_decided_ = true;
  const std::string why = why_hold(question);
  if (!why.empty()) hold_extras(why);
}

void Engine::hold_extras(const std::string& why) {
  spdlog::error("sweeping is held: {}", why);
  hold_ = why;
  each_extra_route([&](const RouteKey& key) { fib_.routes.hold(key); });
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, NexthopTable::Row& row) {
    if (!row.ours || is_scratch(id) || fib_.desired.find(id) != nullptr) return true;
    row.held = 1;
    work_.stay(id);
    return true;
  });
}

void Engine::sweep() {
  hold_.clear();
  fib_.routes.release_all();
  for (const TableKey& table : fib_.routes.tables()) work_.scan_down(table);
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, NexthopTable::Row& row) {
    if (row.held) work_.nexthops.insert(id);
    row.held = 0;
    return true;
  });
  work_.progress = true;
}

void Engine::want_nothing() {
  fib_.desired.clear();
  fib_.routes.clear(Side::kDesired);
  fib_.route_failures.clear();
  fib_.nexthop_failures.clear();
  ++fib_.epoch;
  loaded_ = true;
  sweep_decided_ = true;
  fib_.installed.walk(NexthopId(0), [&](NexthopId id, NexthopTable::Row& row) {
    row.held = 0;
    work_.nexthops.insert(id);
    return true;
  });
  sweep();
}

void Engine::leave_mark(uint64_t now_ms, bool at_once) {
  const Mark mark{stamp_.cluster, stamp_.history, stamp_.revision};
  if (!in_sync() || marked_ == mark || (!at_once && marked_ms_ != 0 && now_ms < marked_ms_ + kMarkEveryMs))
    return;
  set_mark();
  marked_ms_ = now_ms;
}

void Engine::set_mark() {
  marked_ = Mark{stamp_.cluster, stamp_.history, stamp_.revision};
  if (Status status = write_mark(options_.mark_path, *marked_); !status.ok())
    spdlog::warn("no mark of this sync: {}", status.error().message);
}

}  // namespace waypost::kernel_sync
