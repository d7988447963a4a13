#include "kernel_sync/fake_kernel.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "model/limits.h"

namespace waypost::kernel_sync {

namespace {

// True for the next `left` calls.
bool strikes(int& left) {
  if (left <= 0) return false;
  --left;
  return true;
}

}  // namespace

FakeKernel::FakeKernel() {
  capabilities_value = {true, true, true, true, true, "fake"};
  fib_.on_announce([this](KernelEvent event, bool by_request) {
    if (by_us_ && by_request) return;  // the event socket's filter (KERNEL.md K17)
    queue(std::move(event));
  });
}

void FakeKernel::queue(KernelEvent event) {
  if (events_.size() >= faults.event_limit) {
    overrun_ = true;
  } else {
    events_.push_back(std::move(event));
  }
  changed_.notify_all();
}

FakeAnswer FakeKernel::apply(const KernelStep& step) {
  struct Visitor {
    FakeFib& fib;
    FakeAnswer operator()(const PutKernelNexthop& put) const { return fib.put_nexthop(put); }
    FakeAnswer operator()(const DeleteKernelNexthop& erase) const { return fib.delete_nexthop(erase.id); }
    FakeAnswer operator()(const PutKernelRoute& put) const {
      return fib.put_route(put.route,
                           put.exclusive ? FakeFib::PutMode::kExclusive : FakeFib::PutMode::kReplace);
    }
    FakeAnswer operator()(const DeleteKernelRoute& erase) const { return fib.delete_route(erase); }
  };
  return std::visit(Visitor{fib_}, step);
}

void FakeKernel::carry_out(const KernelStep& step, size_t index, BatchOutcome& outcome) {
  std::optional<FakeAnswer> answer;
  if (faults.refuse) answer = faults.refuse(step);
  if (!answer) {
    by_us_ = true;
    answer = apply(step);
    by_us_ = false;
  }
  if (!answer->ok()) outcome.failures.push_back({index, answer->error, answer->words});
  if (after_step) after_step(step, *answer);
}

BatchOutcome FakeKernel::execute(std::span<const KernelStep> steps) {
  const std::lock_guard lock(mutex_);
  BatchOutcome outcome;
  const bool lost =
      faults.lost_sockets > 0 && faults.lost_after < steps.size() && strikes(faults.lost_sockets);
  const size_t known = lost ? faults.lost_after : steps.size();
  const size_t done = lost ? std::min(known + faults.lost_but_done, steps.size()) : known;
  for (size_t i = 0; i < done; ++i) {
    carry_out(steps[i], i, outcome);
    if (i >= known && !outcome.failures.empty() && outcome.failures.back().index == i)
      outcome.failures.pop_back();
  }
  outcome.executed = known;
  if (lost) {
    outcome.transport = Error{ErrorCode::kIo, "netlink: answers were lost: planted",
                              "the state of the steps behind is unknown: dump and compare"};
  }
  counters_.messages_sent += done;
  counters_.batches += (done + limits::kNetlinkBatch - 1) / limits::kNetlinkBatch;
  counters_.errors += outcome.failures.size();
  return outcome;
}

BatchOutcome FakeKernel::foreign(std::span<const KernelStep> steps) {
  const std::lock_guard lock(mutex_);
  BatchOutcome outcome;
  for (size_t i = 0; i < steps.size(); ++i) {
    const FakeAnswer answer = apply(steps[i]);
    if (!answer.ok()) outcome.failures.push_back({i, answer.error, answer.words});
  }
  outcome.executed = steps.size();
  return outcome;
}

FakeAnswer FakeKernel::foreign_append(const KernelRoute& route) {
  const std::lock_guard lock(mutex_);
  return fib_.put_route(route, FakeFib::PutMode::kAppend);
}

std::vector<KernelPath> FakeKernel::forward(const IpAddress& address) const {
  const std::lock_guard lock(mutex_);
  const auto row = fib_.lookup(address);
  if (!row || row->route.type != RouteType::kUnicast) return {};
  return fib_.paths_of(*row);
}

template <typename Row>
DumpOutcome FakeKernel::dump(std::vector<Row> rows, const std::function<void(const Row&)>& visit,
                             bool may_be_short) {
  ++counters_.dumps;
  DumpOutcome outcome = DumpOutcome::kComplete;
  if (strikes(faults.failed_dumps)) {
    outcome = DumpOutcome::kFailed;
  } else if (strikes(faults.torn_dumps)) {
    outcome = DumpOutcome::kInterrupted;
    ++counters_.dumps_interrupted;
  }
  const bool half = outcome != DumpOutcome::kComplete || (may_be_short && strikes(faults.short_dumps));
  const size_t count = half ? rows.size() / 2 : rows.size();
  for (size_t i = 0; i < count; ++i) visit(rows[i]);
  if (may_be_short && count != 0 && strikes(faults.restarted_dumps)) {
    if (faults.amid_dump) faults.amid_dump();
    visit(rows[0]);
  }
  return outcome;
}

DumpOutcome FakeKernel::dump_nexthops(const std::function<void(const KernelNexthop&)>& visit) {
  const std::lock_guard lock(mutex_);
  std::vector<KernelNexthop> rows;
  for (const auto& [id, nexthop] : fib_.nexthops()) rows.push_back(nexthop);
  return dump(std::move(rows), visit, false);
}

DumpOutcome FakeKernel::dump_routes(Family family, std::optional<TableId> table,
                                    const std::function<void(const KernelRoute&)>& visit) {
  const std::lock_guard lock(mutex_);
  std::vector<KernelRoute> rows;
  fib_.visit_routes(family, table, [&](const KernelRoute& row) { rows.push_back(row); });
  return dump(std::move(rows), visit, true);
}

DumpOutcome FakeKernel::dump_addresses(const std::function<void(const KernelAddress&)>& visit) {
  const std::lock_guard lock(mutex_);
  return dump(fib_.addresses(), visit, false);
}

DumpOutcome FakeKernel::dump_links(const std::function<void(const KernelLink&)>& visit) {
  const std::lock_guard lock(mutex_);
  ++counters_.link_dumps;
  std::vector<KernelLink> rows;
  for (const auto& [ifindex, link] : fib_.links()) rows.push_back(link);
  return dump(std::move(rows), visit, false);
}

Status FakeKernel::plant_failed_get() {
  if (!strikes(faults.failed_gets)) return {};
  return Error{ErrorCode::kIo, "netlink query: planted", {}};
}

Result<std::optional<KernelNexthop>> FakeKernel::get_nexthop(NexthopId id) {
  const std::lock_guard lock(mutex_);
  if (const Status status = plant_failed_get(); !status) return status.error();
  const KernelNexthop* found = fib_.find_nexthop(id);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

Result<std::optional<KernelRoute>> FakeKernel::match_route(const IpAddress& address, TableId table) {
  const std::lock_guard lock(mutex_);
  if (const Status status = plant_failed_get(); !status) return status.error();
  return fib_.match(address, table);
}

Result<std::optional<KernelRoute>> FakeKernel::lookup(const IpAddress& address) {
  const std::lock_guard lock(mutex_);
  if (const Status status = plant_failed_get(); !status) return status.error();
  return fib_.lookup(address);
}

Result<std::optional<KernelRoute>> FakeKernel::get_route(const RouteKey& key) {
  const std::lock_guard lock(mutex_);
  if (const Status status = plant_failed_get(); !status) return status.error();
  return fib_.find_route(key);
}

Result<bool> FakeKernel::has_route(const RouteKey& key) {
  const auto found = get_route(key);
  if (!found.ok()) return found.error();
  return found->has_value();
}

Result<std::optional<KernelLink>> FakeKernel::get_link(std::string_view name) {
  const std::lock_guard lock(mutex_);
  ++counters_.link_gets;
  if (const Status status = plant_failed_get(); !status) return status.error();
  const KernelLink* found = fib_.find_link(std::string(name));
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

Result<std::optional<KernelLink>> FakeKernel::get_link(uint32_t ifindex) {
  const std::lock_guard lock(mutex_);
  ++counters_.link_gets;
  if (const Status status = plant_failed_get(); !status) return status.error();
  const auto found = fib_.links().find(ifindex);
  return found != fib_.links().end() ? std::optional(found->second) : std::nullopt;
}

void FakeKernel::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void FakeKernel::change(const std::function<void(FakeFib&)>& act) {
  const std::lock_guard lock(mutex_);
  act(fib_);
}

KernelCounters FakeKernel::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

Result<int> FakeKernel::compat_mode() {
  const std::lock_guard lock(mutex_);
  return fib_.compat_mode;
}

std::vector<KernelEvent> FakeKernel::wait(int timeout_ms) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return woken_ || overrun_ || !events_.empty(); };
  if (wait_blocks && timeout_ms < 0) {
    changed_.wait(lock, ready);
  } else if (wait_blocks && timeout_ms > 0) {
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready);
  }
  std::vector<KernelEvent> result;
  if (std::exchange(woken_, false)) result.push_back(WakeEvent{});
  if (std::exchange(overrun_, false)) {
    ++counters_.overruns;
    ++counters_.events;
    result.push_back(OverrunEvent{});
  }
  while (!events_.empty() && result.size() < limits::kMaxEventsPerWait) {
    ++counters_.events;
    result.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  return result;
}

Status FakeKernel::set_compat_mode(int mode) {
  const std::lock_guard lock(mutex_);
  fib_.compat_mode = mode;
  return {};
}

}  // namespace waypost::kernel_sync
