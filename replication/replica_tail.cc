// Linearizable points by asking for the tail (LOG.md rule 6), and recognising a rewound log (rule 2).
#include <algorithm>
#include <utility>

#include "model/limits.h"
#include "model/mutant.h"
#include "replication/replica_impl.h"

namespace waypost::replication {
namespace {

// An idle replica still learns of a halt or a restore within this time.
constexpr uint64_t kTailCheckUs = 5'000'000;

}  // namespace

void Replica::Impl::barrier(uint64_t deadline_ms, std::function<void(Result<Position>)> done) {
  if (stopped) return;
  if (barriers.size() >= limits::kMaxWaitingBarriers) {
    later(0, [done = std::move(done)] {
      done(Error{ErrorCode::kResourceExhausted, "too many reads wait for the log",
                 "read with --stale, or try again"});
    });
    return;
  }
  const uint64_t id = next_barrier++;
  const uint64_t deadline_us = clock.monotonic_us() + deadline_ms * 1'000;
  barriers.emplace(id, Barrier{std::move(done), deadline_us, std::nullopt});
  barrier_deadlines.emplace(deadline_us, id);
  if (mutant("read_without_asking")) barriers.at(id).needs = applied;
  arm_barrier_deadline();
  ask_tail();
  if (mutant("read_without_asking")) later(0, [this] { finish_barriers(); });
}

// One ask at a time. Whoever comes while one is under way waits for the next: the answer on its way may be
// older than a write that was acknowledged before this read began.
void Replica::Impl::ask_tail() {
  if (stopped) return;
  if (asking) {
    ask_again = true;
    return;
  }
  asking = true;
  ask_again = false;
  log.tail([weak = weak_from_this(), asked_at = frontier, asked_hash = frontier_hash,
            asked_revision = engine_revision, covers = next_barrier](const Result<Tail>& result) {
    const auto self = weak.lock();
    if (self && !self->stopped) self->on_tail(asked_at, asked_hash, asked_revision, covers, result);
  });
}

void Replica::Impl::on_tail(Position asked_at, const Hash128& asked_hash, uint64_t asked_revision,
                            uint64_t covers, const Result<Tail>& result) {
  asking = false;
  set_reachable(result.ok());
  if (!result.ok()) {
    // Whoever waits is asked for again, until its own deadline.
    if (tail_backing_off) return;
    tail_backing_off = true;
    later(tail_backoff.next_us(random), [this] {
      tail_backing_off = false;
      ask_tail();
    });
    return;
  }
  tail_backoff.reset();
  check_rewound(asked_at, asked_hash, asked_revision, *result);
  if (diverged.empty()) {
    tail_checked = true;
    known_tail = std::max(known_tail, result->position);
    engine_revision = std::max(engine_revision, result->engine_revision);
    log_halted = result->halt_words;
    if (!log_halted.empty()) queue.answer_waiting(ProposeOutcome::kHalted, log_halted);
    // Refused, yet the position was free afterwards: the same bytes go again.
    if (flight && flight->lost && asked_at.next() == flight->position && result->position == asked_at)
      flight->lost = false;
    if (mutant("join_ask_under_way")) covers = next_barrier;
    for (auto& [id, barrier] : barriers) {
      if (id >= covers) break;
      if (!barrier.needs) barrier.needs = result->position;
    }
    finish_barriers();
  }
  if (ask_again) ask_tail();
  maybe_append();
}

void Replica::Impl::check_rewound(Position asked_at, const Hash128& asked_hash, uint64_t asked_revision,
                                  const Tail& tail) {
  const std::string here = std::to_string(asked_at.value());
  const std::string there = std::to_string(tail.position.value());
  if (tail.position < asked_at) {
    diverge("the log ends at position " + there + ", but this node has entry " + here);
  } else if (tail.position == asked_at && tail.hash != asked_hash && !mutant("tail_without_hash")) {
    diverge("the log's chain at position " + there + " is " + to_string(tail.hash) + ", this node's is " +
            to_string(asked_hash));
  } else if (tail.engine_revision < asked_revision && !mutant("engine_revision_ignored")) {
    diverge("the log's engine is at revision " + std::to_string(tail.engine_revision) + ", but was seen at " +
            std::to_string(asked_revision));
  }
}

// Sticky: what this state comes from is not in the log any more, so every write stops until people decide.
void Replica::Impl::diverge(std::string words) {
  if (!diverged.empty()) return;
  diverged = "the log was rewound or replaced: " + std::move(words) +
             "; start the log anew from the newest member, or restore this node";
  queue.answer_waiting(ProposeOutcome::kHalted, diverged);
  put_halt();
}

void Replica::Impl::put_halt() {
  log.halt(options.name + ": " + diverged, [weak = weak_from_this()](const Status& status) {
    const auto self = weak.lock();
    if (!self || self->stopped || status.ok()) return;
    self->later(self->halt_backoff.next_us(self->random), [impl = self.get()] { impl->put_halt(); });
  });
}

void Replica::Impl::finish_barriers() {
  while (!barriers.empty()) {
    const auto& [id, oldest] = *barriers.begin();
    if (!oldest.needs || *oldest.needs > applied) return;
    end_barrier(id, applied);
  }
}

void Replica::Impl::end_barrier(uint64_t id, Result<Position> result) {
  const auto found = barriers.find(id);
  if (found == barriers.end()) return;
  const auto done = std::move(found->second.done);
  barrier_deadlines.erase({found->second.deadline_us, id});
  barriers.erase(found);
  done(std::move(result));
}

void Replica::Impl::arm_barrier_deadline() {
  if (barrier_deadline_armed || barrier_deadlines.empty()) return;
  barrier_deadline_armed = true;
  // Deadlines differ, so a later barrier may be due before the armed one: never sleep long.
  constexpr uint64_t kLongestSleepUs = 20'000;
  const uint64_t now_us = clock.monotonic_us();
  const uint64_t due_us = barrier_deadlines.begin()->first;
  const uint64_t sleep_us = due_us > now_us ? std::min(due_us - now_us, kLongestSleepUs) : 0;
  later(sleep_us, [this] {
    barrier_deadline_armed = false;
    expire_barriers();
    arm_barrier_deadline();
  });
}

void Replica::Impl::expire_barriers() {
  const uint64_t now_us = clock.monotonic_us();
  while (!barrier_deadlines.empty() && barrier_deadlines.begin()->first <= now_us) {
    const uint64_t id = barrier_deadlines.begin()->second;
    const bool asked = barriers.at(id).needs.has_value();
    Error error{ErrorCode::kUnavailable, "the log is unreachable", "--stale answers from this node alone"};
    if (asked)
      error = {ErrorCode::kDeadlineExceeded, "this node has not applied the newest entries yet",
               "--stale answers at once"};
    if (!diverged.empty())
      error = {ErrorCode::kUnavailable, diverged, "--stale answers from this node alone"};
    end_barrier(id, std::move(error));
  }
}

void Replica::Impl::ask_tail_now_and_then() {
  later(kTailCheckUs, [this] {
    ask_tail();
    ask_tail_now_and_then();
  });
}

}  // namespace waypost::replication
