// The state of a replica and its parts, divided among replica.cc (life and status), replica_append.cc,
// replica_follow.cc (reading, chain, apply) and replica_tail.cc (linearizable points, rewound logs). Included
// by those files only.
//
//   propose ─▶ queue ─▶ flight ─▶ Log::append ─┐ won
//                 ▲        │ lost              ▼
//                 └────────┘        Log::read ─▶ frontier ─▶ backlog ─▶ apply ─▶ answers, barriers
//
// Three places on the log: applied <= frontier <= known_tail (as far as known). Everything up to the frontier
// is committed, in order, and its chain was checked here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replication/append_latency.h"
#include "replication/backoff.h"
#include "replication/entry.h"
#include "replication/proposal_queue.h"
#include "replication/replica.h"

namespace waypost::replication {

struct Replica::Impl : std::enable_shared_from_this<Replica::Impl> {
  Impl(const ReplicaOptions& options, Log& log, Clock& clock, ApplyFunction apply);

  // An entry of ours at one position, until that position is seen taken.
  struct Flight {
    Position position;
    uint64_t time_us = 0;
    Hash128 hash;
    std::string bytes;  // repeated as they are (LOG.md rule 4)
    std::vector<ProposalQueue::Item> items;
    bool may_have_happened = false;  // some attempt ended unknown
    bool lost = false;               // the engine says that the position is taken: wait until it is read
  };

  // replica_append.cc
  void propose(std::string payload, ProposalQueue::Done done);
  void maybe_append();
  void start_flight(std::vector<ProposalQueue::Item> items);
  void send_flight();
  void on_append(Position position, uint64_t sent_us, AppendResult result);
  void on_append_failed(AppendResult result);
  void win_flight();
  void lose_flight();
  void give_flight_back();
  void refuse_flight(ProposeOutcome outcome, const std::string& words);
  void back_off_appending(uint64_t delay_us);
  void watch_lost_flight();
  void arm_deadline();

  // replica_follow.cc
  void start_reading();
  void on_read(Position asked, Result<std::vector<RawEntry>> result);
  void on_read_failed(const Error& error);
  bool take_entry(const RawEntry& raw);  // false: stop reading
  void extend(AppliedEntry entry, size_t bytes, std::vector<uint64_t> tickets);
  void pump_apply();
  void on_applied(const std::vector<std::vector<std::string>>& answers);

  // replica_tail.cc
  void barrier(uint64_t deadline_ms, std::function<void(Result<Position>)> done);
  void ask_tail();
  void on_tail(Position asked_at, const Hash128& asked_hash, uint64_t asked_revision, uint64_t covers,
               const Result<Tail>& result);
  void check_rewound(Position asked_at, const Hash128& asked_hash, uint64_t asked_revision, const Tail& tail);
  void finish_barriers();
  void expire_barriers();
  void arm_barrier_deadline();
  void end_barrier(uint64_t id, Result<Position> result);
  void ask_tail_now_and_then();
  void diverge(std::string words);
  void put_halt();

  // replica.cc
  void stop();
  ReplicaStatus status() const;
  void set_reachable(bool reachable);
  // Runs `work` after delay_us unless the replica has stopped or is gone.
  void later(uint64_t delay_us, std::function<void()> work);
  std::string halt_words() const;  // empty: appends are taken
  bool follows() const { return !stopped && corrupt.empty() && diverged.empty() && !trimmed_past; }

  const ReplicaOptions options;
  Log& log;
  Clock& clock;
  const ApplyFunction apply;
  std::mt19937_64 random;
  bool started = false;
  bool stopped = false;

  Position frontier;
  Hash128 frontier_hash;
  Position applied;
  Hash128 applied_hash;
  Position known_tail;  // newest position that any answer of the log has shown

  // Why this replica stands still, in words for people. `diverged` and `corrupt` stay until it is built anew.
  std::string diverged;    // the log is not the one that this state comes from (LOG.md rule 2)
  std::string corrupt;     // an entry cannot be read
  std::string log_halted;  // what the log's own halt says
  bool trimmed_past = false;
  bool reachable = true;
  uint64_t unreachable_since_us = 0;

  ProposalQueue queue;
  std::optional<Flight> flight;
  bool append_outstanding =
      false;  // a callback of Log::append is due; the flight may be resolved by reading before it comes
  bool backing_off = false;
  bool watching_lost = false;
  bool deadline_armed = false;
  Backoff lost_backoff;
  Backoff retry_backoff;
  AppendLatency latency;

  bool reading = false;
  bool read_backing_off = false;
  Backoff read_backoff;

  struct BacklogEntry {
    AppliedEntry entry;
    size_t bytes = 0;
    std::vector<uint64_t> tickets;  // of our own proposals in it, in order; empty for entries of others
  };
  std::deque<BacklogEntry> backlog;  // behind the frontier, not handed to apply
  size_t backlog_bytes = 0;
  struct InApply {
    Position position;
    Hash128 hash;
    size_t bytes = 0;
    std::vector<uint64_t> tickets;
  };
  std::vector<InApply> applying;  // handed to apply, in order
  bool apply_outstanding = false;
  bool pumping = false;

  struct Barrier {
    std::function<void(Result<Position>)> done;
    uint64_t deadline_us = 0;
    std::optional<Position> needs;  // set by the answer of an ask that was sent after it arrived
  };
  std::map<uint64_t, Barrier> barriers;  // in order of arrival, so `needs` never decreases along it
  std::set<std::pair<uint64_t, uint64_t>> barrier_deadlines;  // (deadline, id)
  uint64_t next_barrier = 1;
  bool barrier_deadline_armed = false;
  bool asking = false;
  bool ask_again = false;
  bool tail_backing_off = false;
  bool tail_checked =
      false;  // a tail was compared with our own chain since the start; before that nothing is appended
  Backoff tail_backoff;
  Backoff halt_backoff;
  uint64_t engine_revision = 0;

  uint64_t lost_races = 0;
  uint64_t wins_in_a_row = 0;
  uint64_t unknown_outcomes = 0;
  uint64_t appends = 0;
  uint64_t append_bytes = 0;
  uint64_t proposals = 0;
  std::string last_appender;
};

}  // namespace waypost::replication
