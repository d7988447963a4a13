#include "kernel_sync/syncer_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "kernel_sync/report.h"
#include "model/row_codec.h"

namespace waypost::kernel_sync {
namespace {

// Commits that follow each other closer than this count as one stream of changes.
constexpr uint64_t kQuietMs = 100;
constexpr uint64_t kPublishEveryMs = 100;
constexpr int kLongestSleepMs = 60'000;

uint64_t wall_us() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

uint64_t SyncerLoop::now_ms() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

Status SyncerLoop::open(const KernelFactory& factory) {
  Result<std::unique_ptr<Kernel>> kernel = factory();
  if (!kernel.ok()) return kernel.error();
  kernel_ = std::move(*kernel);
  to_wake_ = kernel_.get();
  engine_ = std::make_unique<Engine>(options_, *kernel_, now_ms() ^ wall_us());
  if (Status status = engine_->open(now_ms()); !status.ok()) return status;
  engine_->set_route_index(
      [this](NexthopId id, size_t limit, const std::function<void(const RouteKey&)>& visit) {
        store_.view().scan_routes_of(id, {}, [&](std::string_view bytes, std::string_view) {
          if (const std::optional<RouteKey> key = decode_route_key(bytes)) visit(*key);
          return --limit != 0;
        });
      });
  return {};
}

void SyncerLoop::run() {
  load();
  while (!stopping_) {
    std::vector<KernelEvent> events = kernel_->wait(busy_ ? 0 : patience_ms(now_ms()));
    const uint64_t now = now_ms();
    engine_->handle(std::move(events), now);
    run_commands(true);
    if (!released_) take_changes(now);
    if (engine_->audit_due(now) && !busy_ && !released_) (void)engine_->audit(now, wall_us());
    busy_ = engine_->round(now) || behind_;
    if (engine_->settled() && !behind_) synced_revision_ = engine_->revision();
    publish(now, !busy_);
    answer(now);
  }
  engine_->leave_mark(now_ms(), true);
  {
    const std::lock_guard lock(commands_mutex_);
    finished_ = true;
  }
  run_commands(false);
  give_up_waits();
  for (const std::function<void(Status)>& done : settled_calls_)
    done(Error{ErrorCode::kUnavailable, "kernel_sync is stopping"});
  if (release_done_) release_done_(Error{ErrorCode::kUnavailable, "kernel_sync is stopping"});
}

int SyncerLoop::patience_ms(uint64_t now) const {
  uint64_t at = now + kLongestSleepMs;
  at = std::min(at, engine_->deadline_ms());
  for (const Wait& wait : waits_) at = std::min(at, wait.deadline_ms);
  if (now < last_change_ms_ + kQuietMs && !engine_->settled()) at = std::min(at, last_change_ms_ + kQuietMs);
  if (stale_) at = std::min(at, published_ms_ + std::max(kPublishEveryMs, 20 * publishing_took_ms_));
  return static_cast<int>(at > now ? at - now : 0);
}

void SyncerLoop::load() {
  const Status status = engine_->load(store_.view());
  WAYPOST_CHECK(status.ok(), "a row of the store cannot be read");
}

void SyncerLoop::take_changes(uint64_t now) {
  if (notified_.exchange(false)) {
    const store::StateStamp stamp = store_.stamp();
    if (stamp.history != engine_->stamp().history || stamp.cluster != engine_->stamp().cluster ||
        stamp.revision < engine_->revision()) {
      load();
    } else if (stamp.revision > engine_->revision()) {
      last_change_ms_ = now;
      const Result<std::vector<ChangeSet>> changes =
          store_.changes_after(engine_->revision(), limits::kChangesAtOnceBytes);
      if (changes.ok()) {
        const Status status = engine_->apply(*changes, stamp);
        WAYPOST_CHECK(status.ok(), "a change of the store cannot be read");
      } else {
        load();  // the history does not reach back so far
      }
    }
    behind_ = engine_->revision() < store_.stamp().revision;
    if (behind_) notified_ = true;
  }
  engine_->expect_more(behind_ || now < last_change_ms_ + kQuietMs);
}

void SyncerLoop::answer(uint64_t now) {
  const bool settled = engine_->settled() && !behind_;
  for (size_t index = 0; index < waits_.size();) {
    const bool reached = synced_revision_ >= waits_[index].revision && settled;
    if (!reached && now < waits_[index].deadline_ms) {
      ++index;
      continue;
    }
    Wait wait = std::move(waits_[index]);
    waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(index));
    wait.done(report_of(wait, reached));
  }
  if (!settled) return;
  std::vector<std::function<void(Status)>> calls;
  calls.swap(settled_calls_);
  for (const std::function<void(Status)>& done : calls) done({});
  if (!release_done_) return;
  uint64_t left = engine_->fib().routes.count(Side::kOurs);
  engine_->fib().installed.walk(NexthopId(0), [&](NexthopId, const NexthopTable::Row& row) {
    left += row.ours;
    return true;
  });
  std::exchange(release_done_, nullptr)(release_from_ - left);
}

WaitReport SyncerLoop::report_of(const Wait& wait, bool reached) const {
  WaitReport out;
  out.reached = reached;
  out.synced_revision = synced_revision_;
  auto take = [&](RowReport row) {
    if (row.state == RowState::kInstalled || row.state == RowState::kDegraded) return;
    ++out.not_installed_count;
    if (out.not_installed.size() < limits::kMaxReportedRows) out.not_installed.push_back(std::move(row));
  };
  for (NexthopId id : wait.nexthops) take(report(engine_->fib(), id));
  for (const RouteKey& key : wait.routes) take(report(engine_->fib(), key));
  return out;
}

void SyncerLoop::give_up_waits() {
  for (Wait& wait : waits_) wait.done(report_of(wait, false));
  waits_.clear();
}

void SyncerLoop::release(std::function<void(Result<uint64_t>)> done) {
  released_ = true;
  engine_->expect_more(false);
  release_done_ = std::move(done);
  release_from_ = engine_->fib().routes.count(Side::kOurs);
  engine_->fib().installed.walk(NexthopId(0), [&](NexthopId, const NexthopTable::Row& row) {
    release_from_ += row.ours;
    return true;
  });
  engine_->want_nothing();
}

Status SyncerLoop::audit_now() {
  return engine_->audit(now_ms(), wall_us());
}

void SyncerLoop::publish(uint64_t now, bool idle) {
  {
    const std::lock_guard lock(status_mutex_);
    status_.synced_revision = synced_revision_;
    status_.in_sync = engine_->in_sync() && !behind_;
    status_.problem = engine_->problem();
    status_.hold = engine_->hold();
  }
  stale_ = true;
  // The whole picture costs a walk over the nexthops: now and then, and never more than a twentieth of the
  // time; but whoever waited for in sync and asks for the status then finds it, where it costs next to
  // nothing.
  const bool waited_for = engine_->settled() && !waits_.empty() && publishing_took_ms_ <= 1;
  const uint64_t period = std::max(idle ? kPublishEveryMs / 4 : kPublishEveryMs, 20 * publishing_took_ms_);
  if (!waited_for && now < published_ms_ + period) return;
  const uint64_t begin = now_ms();  // `now` is from before the round
  FibStatus status = make_status(*engine_, now);
  status.synced_revision = synced_revision_;
  status.in_sync = status.in_sync && !behind_;
  status.clean = status.clean && !behind_;
  published_ms_ = now;
  publishing_took_ms_ = now_ms() - begin;
  stale_ = !idle;
  const std::lock_guard lock(status_mutex_);
  status_ = std::move(status);
}

FibStatus SyncerLoop::status() const {
  FibStatus status;
  {
    const std::lock_guard lock(status_mutex_);
    status = status_;
  }
  status.store_revision = store_.stamp().revision;
  return status;
}

void SyncerLoop::run_commands(bool running) {
  std::deque<Command> commands;
  {
    const std::lock_guard lock(commands_mutex_);
    commands.swap(commands_);
  }
  for (const Command& command : commands) command(running);
}

void SyncerLoop::post(Command command) {
  {
    const std::lock_guard lock(commands_mutex_);
    if (!finished_) {
      commands_.push_back(std::move(command));
      command = nullptr;
    }
  }
  if (command) return command(false);
  wake();
}

void SyncerLoop::stop() {
  stopping_ = true;
  wake();
}

void SyncerLoop::notify() {
  notified_ = true;
  wake();
}

void SyncerLoop::wake() {
  if (Kernel* kernel = to_wake_) kernel->wake();
}

}  // namespace waypost::kernel_sync
