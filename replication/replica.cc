#include "replication/replica.h"

#include <utility>

#include "model/check.h"
#include "replication/replica_impl.h"

namespace waypost::replication {
namespace {

constexpr uint64_t kMs = 1'000;

uint64_t seed_of(const ReplicaOptions& options) {
  return options.seed != 0 ? options.seed
                           : hash128(options.name + "/" + std::to_string(options.incarnation)).low;
}

}  // namespace

Replica::Impl::Impl(const ReplicaOptions& given, Log& given_log, Clock& given_clock,
                    ApplyFunction given_apply)
    : options(given),
      log(given_log),
      clock(given_clock),
      apply(std::move(given_apply)),
      random(seed_of(given)),
      frontier(given.applied),
      frontier_hash(given.applied_hash),
      applied(given.applied),
      applied_hash(given.applied_hash),
      known_tail(given.applied),
      queue(given.propose_timeout_ms * kMs),
      lost_backoff(0, kMs, 1'000 * kMs),
      retry_backoff(20 * kMs, 50 * kMs, 1'000 * kMs),
      read_backoff(20 * kMs, 50 * kMs, 1'000 * kMs),
      tail_backoff(20 * kMs, 50 * kMs, 1'000 * kMs),
      halt_backoff(50 * kMs, 100 * kMs, 2'000 * kMs),
      engine_revision(given.highest_engine_revision) {
  WAYPOST_CHECK(options.name.size() <= kMaxAppenderName, "a member's name is checked where it is configured");
}

void Replica::Impl::stop() {
  if (stopped) return;
  stopped = true;
  queue.answer_all("this node is stopping");
  while (!barriers.empty()) {
    end_barrier(barriers.begin()->first, Error{ErrorCode::kUnavailable, "this node is stopping"});
  }
}

void Replica::Impl::later(uint64_t delay_us, std::function<void()> work) {
  clock.after(delay_us, [weak = weak_from_this(), work = std::move(work)] {
    const auto self = weak.lock();
    if (self && !self->stopped) work();
  });
}

void Replica::Impl::set_reachable(bool now_reachable) {
  if (reachable == now_reachable) return;
  reachable = now_reachable;
  unreachable_since_us = reachable ? 0 : clock.monotonic_us();
}

std::string Replica::Impl::halt_words() const {
  if (!diverged.empty()) return diverged;
  if (!corrupt.empty()) return corrupt;
  return log_halted;
}

ReplicaStatus Replica::Impl::status() const {
  ReplicaStatus status;
  status.applied = applied;
  status.known_tail = std::max(known_tail, frontier);
  status.lost_races = lost_races;
  status.unknown_outcomes = unknown_outcomes;
  status.appends = appends;
  status.append_bytes = append_bytes;
  status.proposals = proposals;
  status.append_ms_p50 = latency.percentile_ms(0.50);
  status.append_ms_p99 = latency.percentile_ms(0.99);
  status.reachable = reachable;
  status.unreachable_since_us = unreachable_since_us;
  status.trimmed_past = trimmed_past;
  status.halted = halt_words();
  status.engine_revision = engine_revision;
  status.last_appender = last_appender;
  status.proposals_waiting = queue.unanswered();
  return status;
}

Replica::Replica(const ReplicaOptions& options, Log& log, Clock& clock, ApplyFunction apply)
    : impl_(std::make_shared<Impl>(options, log, clock, std::move(apply))) {}

Replica::~Replica() {
  impl_->stop();
}

void Replica::start() {
  WAYPOST_CHECK(!impl_->started, "a replica starts once");
  impl_->started = true;
  impl_->ask_tail();
  impl_->ask_tail_now_and_then();
  impl_->start_reading();
}

void Replica::stop() {
  impl_->stop();
}

void Replica::propose(std::string payload, std::function<void(ProposeResult)> done) {
  impl_->propose(std::move(payload), std::move(done));
}

void Replica::barrier(uint64_t deadline_ms, std::function<void(Result<Position>)> done) {
  impl_->barrier(deadline_ms, std::move(done));
}

ReplicaStatus Replica::status() const {
  return impl_->status();
}

Hash128 Replica::applied_hash() const {
  return impl_->applied_hash;
}

}  // namespace waypost::replication
