#include "kernel_sync/report.h"

#include <map>

#include "kernel_sync/resolve.h"
#include "model/parse.h"

namespace waypost::kernel_sync {
namespace {

void add(StateCounts& counts, RowState state, uint64_t rows) {
  switch (state) {
    case RowState::kInstalled:
      counts.installed += rows;
      return;
    case RowState::kPending:
      counts.pending += rows;
      return;
    case RowState::kLocalHere:
      counts.local_here += rows;
      return;
    case RowState::kDegraded:
      counts.degraded += rows;
      return;
    case RowState::kRefused:
      counts.refused += rows;
      return;
    case RowState::kConflict:
      counts.conflict += rows;
      return;
    case RowState::kUnknown:
      counts.unknown += rows;
      return;
  }
}

RowState nexthop_state(const NexthopTable::Row& row) {
  const RowState state = static_cast<RowState>(row.state);
  const bool there = state == RowState::kInstalled || state == RowState::kDegraded;
  return there && !row.realized ? RowState::kUnknown : state;
}

// Of a route whose nexthop keeps it out.
RowState route_state_by(RowState nexthop) {
  switch (nexthop) {
    case RowState::kLocalHere:
      return RowState::kLocalHere;
    case RowState::kUnknown:
    case RowState::kInstalled:
    case RowState::kDegraded:
      return RowState::kUnknown;
    default:
      return RowState::kPending;
  }
}

}  // namespace

const char* to_string(RowState state) {
  switch (state) {
    case RowState::kInstalled:
      return "installed";
    case RowState::kPending:
      return "pending";
    case RowState::kLocalHere:
      return "local-here";
    case RowState::kDegraded:
      return "degraded";
    case RowState::kRefused:
      return "refused";
    case RowState::kConflict:
      return "conflict";
    case RowState::kUnknown:
      return "unknown";
  }
  return "unknown";
}

RowReport report(const Fib& fib, NexthopId id) {
  RowReport out;
  out.nexthop = id;
  const NexthopTable::Row* row = fib.desired.find(id);
  if (row == nullptr) {
    const NexthopTable::Row* there = fib.installed.find(id);
    out.state = there == nullptr || !there->ours ? RowState::kInstalled : RowState::kUnknown;
    if (there == nullptr || !there->ours) return out;  // not wanted and not there: as it should be
    out.reason = fib.foreign_user(id);
    if (!out.reason.empty()) out.state = RowState::kConflict;
    if (there->held) out.reason = "sweeping is held";
    return out;
  }
  out.state = nexthop_state(*row);
  if (out.state != RowState::kInstalled) out.reason = reason_words(fib, id, *row);
  if (row->degraded) {
    const size_t all = fib.desired.group(*row).members.size();
    const size_t in = fib.wanted(id, *row).object.group().members.size();
    out.reason =
        "degraded, " + std::to_string(all - in) + " of " + std::to_string(all) + " out: " + out.reason;
  }
  return out;
}

RowReport report(const Fib& fib, const RouteKey& key) {
  RowReport out;
  out.is_route = true;
  out.route = key;
  const SpecId desired = fib.routes.find(Side::kDesired, key);
  const SpecId ours = fib.routes.find(Side::kOurs, key);
  if (desired == kNoSpec) {
    out.state = ours == kNoSpec ? RowState::kInstalled : RowState::kUnknown;
    if (fib.routes.held(key)) out.reason = "sweeping is held";
    return out;
  }
  const NexthopId nexthop = fib.routes.specs()[desired].nexthop;
  const NexthopTable::Row* row = nexthop.value() == 0 ? nullptr : fib.desired.find(nexthop);
  if (row != nullptr && !row->usable) {
    const RowReport of_nexthop = report(fib, nexthop);
    out.state = route_state_by(of_nexthop.state);
    out.reason = "nexthop " + std::to_string(nexthop.value()) + " is " + to_string(of_nexthop.state) + ": " +
                 of_nexthop.reason;
    return out;
  }
  if (const Failure* failure = fib.route_failures.find(key)) {
    out.state = failure->settled ? failure->state : RowState::kUnknown;
    out.reason = fib.words[failure->words];
    return out;
  }
  const bool through_scratch = row != nullptr && fib.scratch.count(nexthop) != 0;
  if (ours == desired && (row == nullptr || row->realized) && !through_scratch)
    out.state = RowState::kInstalled;
  return out;
}

StateCounts count_nexthops(const Fib& fib) {
  StateCounts counts;
  fib.desired.walk(NexthopId(0), [&](NexthopId, const NexthopTable::Row& row) {
    add(counts, nexthop_state(row), 1);
    return true;
  });
  return counts;
}

// By spec, not by route: a million routes over a few nexthops are counted at a glance. Differing ones that no
// failure explains are what is still on its way.
StateCounts count_routes(const Fib& fib) {
  StateCounts counts;
  uint64_t out = 0;
  fib.routes.specs().for_each_spec(Side::kDesired, [&](SpecId id, const SpecUsers& users) {
    const NexthopId nexthop = fib.routes.specs()[id].nexthop;
    const NexthopTable::Row* row = nexthop.value() == 0 ? nullptr : fib.desired.find(nexthop);
    if (row == nullptr || row->usable) return;
    add(counts, route_state_by(nexthop_state(*row)), users.total());
    out += users.total();
  });
  fib.route_failures.for_each([&](const RouteKey& key, const Failure& failure) {
    const SpecId desired = fib.routes.find(Side::kDesired, key);
    if (desired == kNoSpec || !failure.settled) return true;
    const NexthopId nexthop = fib.routes.specs()[desired].nexthop;
    const NexthopTable::Row* row = nexthop.value() == 0 ? nullptr : fib.desired.find(nexthop);
    if (row != nullptr && !row->usable) return true;
    add(counts, failure.state, 1);
    ++out;
    return true;
  });
  const uint64_t wanted = fib.routes.count(Side::kDesired);
  const uint64_t there = fib.routes.count(Side::kOurs);
  const uint64_t rest = wanted > out ? wanted - out : 0;
  counts.installed = std::min(rest, there);
  counts.unknown += rest - counts.installed;
  return counts;
}

std::vector<RowReport> examples(const Fib& fib) {
  std::vector<RowReport> out;
  std::map<std::pair<bool, RowState>, size_t> counts;
  auto take = [&](RowReport row) {
    if (counts[{row.is_route, row.state}]++ < limits::kMaxReportedRows / 2) out.push_back(std::move(row));
  };
  fib.desired.walk(NexthopId(0), [&](NexthopId id, const NexthopTable::Row& row) {
    const RowState state = nexthop_state(row);
    if (state != RowState::kInstalled && counts[{false, state}] < limits::kMaxReportedRows / 2)
      take(report(fib, id));
    return true;
  });
  size_t looked_at = 0;
  fib.route_failures.for_each([&](const RouteKey& key, const Failure&) {
    take(report(fib, key));
    return ++looked_at < 1'024;
  });
  return out;
}

std::vector<std::string> fights(const Fib& fib, uint64_t now_ms) {
  std::vector<std::string> out;
  auto say = [&](const std::string& name, uint32_t count, uint64_t delay_ms) {
    if (out.size() < limits::kMaxReportedRows)
      out.push_back(name + ": put right " + std::to_string(count) + " times, the next repair waits " +
                    std::to_string(delay_ms / 1'000) + " s");
  };
  fib.nexthop_repairs.for_each_fight(now_ms, [&](NexthopId id, const Repairs<NexthopId>::Entry& entry) {
    say("nexthop " + std::to_string(id.value()), entry.count, fib.nexthop_repairs.delay_ms(id, now_ms));
  });
  fib.route_repairs.for_each_fight(now_ms, [&](const RouteKey& key, const Repairs<RouteKey>::Entry& entry) {
    say("route " + to_string(key), entry.count, fib.route_repairs.delay_ms(key, now_ms));
  });
  return out;
}

FibStatus make_status(const Engine& engine, uint64_t now_ms) {
  const Fib& fib = engine.fib();
  FibStatus status;
  status.history = engine.stamp().history;
  status.in_sync = engine.in_sync();
  status.nexthops = count_nexthops(fib);
  status.routes = count_routes(fib);
  const auto trouble = [](const StateCounts& counts) {
    return counts.pending + counts.refused + counts.conflict;
  };
  status.clean = status.in_sync && trouble(status.nexthops) + trouble(status.routes) == 0;
  status.examples = examples(fib);
  status.hold = engine.hold();
  status.held_objects = engine.held_objects();
  fib.installed.walk(NexthopId(0), [&](NexthopId, const NexthopTable::Row& row) {
    ++(row.ours ? status.kernel_nexthops : status.foreign_nexthops);
    return true;
  });
  status.kernel_routes = fib.routes.count(Side::kOurs);
  status.foreign_routes = fib.routes.count(Side::kForeign);
  const EngineCounters& counters = engine.counters();
  status.repaired_nexthops = counters.repaired_nexthops;
  status.repaired_routes = counters.repaired_routes;
  status.last_drift = counters.last_drift;
  status.fights = fights(fib, now_ms);
  status.audits = counters.audits;
  status.last_audit_us = counters.last_audit_us;
  status.last_audit_took_us = counters.last_audit_took_us;
  status.last_audit_result = counters.last_audit_result;
  status.false_missing = counters.false_missing;
  status.compat_mode = fib.compat_mode;
  status.capabilities = fib.capabilities;
  status.kernel = engine.kernel().counters();
  const TrieBytes tries = fib.routes.trie_bytes();
  status.trie_bytes = tries.spans + tries.lists;
  status.agent_bytes = fib.bytes();
  status.problem = engine.problem();
  return status;
}

std::string kernel_words(const KernelNexthop& found, Host& host) {
  KernelNexthop named = found;
  if (!named.object.is_group()) std::get<Nexthop>(named.object.body).device = host.name_of(found.ifindex);
  return nexthop_words(named.object, NameTables::defaults());
}

std::string kernel_words(const KernelRoute& found, Host& host) {
  std::vector<InlinePath> paths;
  for (const KernelPath& path : found.paths) {
    InlinePath inline_path;
    inline_path.nexthop.gateway = path.gateway;
    inline_path.nexthop.device = host.name_of(path.ifindex);
    inline_path.weight = path.weight;
    paths.push_back(inline_path);
  }
  return route_words(found.route, paths, NameTables::defaults());
}

}  // namespace waypost::kernel_sync
