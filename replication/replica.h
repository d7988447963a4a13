// The replica: gathers proposals into entries, appends them, follows the log, applies, answers. It owns the
// order of things and runs on one thread (the node's order thread; the event heap in the simulator). It knows
// bytes and positions only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replication/log.h"

namespace waypost::replication {

// One entry as apply sees it: proposals are opaque bytes.
struct AppliedEntry {
  Position position;
  uint64_t time_us = 0;
  Hash128 hash;  // of the chain up to and with this entry
  std::vector<std::string> proposals;
  std::string
      appender;  // the member that wrote it; apply refuses removed and superseded ones (LOG.md rule 9)
  uint64_t incarnation = 0;
};

// Applies entries in order on whatever thread it likes and calls `done` on the replica's executor with one
// answer per proposal of each entry. At most one call is outstanding.
using ApplyCallback = std::function<void(std::vector<std::vector<std::string>> answers)>;
using ApplyFunction = std::function<void(std::vector<AppliedEntry> entries, ApplyCallback done)>;

enum class ProposeOutcome {
  kApplied,      // `answer` holds what apply said
  kRefused,      // a bound: too much in flight; nothing was handed over
  kUnreachable,  // never handed to the log (exit 5)
  kUnknown,      // handed over, outcome not known within the deadline (exit 6); it may still happen
  kHalted,       // the log takes no appends: see words
};

struct ProposeResult {
  ProposeOutcome outcome = ProposeOutcome::kUnknown;
  Position position;
  uint32_t index = 0;  // of the proposal in its entry
  std::string answer;  // encoded by the state machine
  std::string words;
  bool busy = false;  // kRefused only because too much is in flight: the same is welcome in a moment
};

struct ReplicaOptions {
  std::string name;  // this node, at most 64 bytes
  uint64_t incarnation = 0;
  Position applied;      // of the local state at start
  Hash128 applied_hash;  // chain hash at `applied`
  uint64_t highest_engine_revision = 0;
  uint64_t propose_timeout_ms = 10'000;
  bool alone = false;  // no other node appends to this log (the local engine): it never has to step aside
  uint64_t seed = 0;   // of the random back-off; 0: from name and incarnation
};

struct ReplicaStatus {
  Position applied;
  Position known_tail;
  uint64_t lost_races = 0;
  uint64_t unknown_outcomes = 0;
  uint64_t appends = 0;
  uint64_t append_bytes = 0;
  uint64_t proposals = 0;
  double append_ms_p50 = 0;
  double append_ms_p99 = 0;
  bool reachable = true;
  uint64_t unreachable_since_us = 0;  // monotonic
  bool trimmed_past = false;          // this replica needs a snapshot
  std::string halted;                 // words, or empty
  uint64_t engine_revision =
      0;  // the highest seen; the node keeps it for ReplicaOptions::highest_engine_revision
  std::string last_appender;     // of the newest entry read: whom to hand transactions under write load
  size_t proposals_waiting = 0;  // neither answered nor expired
};

// Time and timers, so that the simulator owns both.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual uint64_t monotonic_us() const = 0;
  virtual uint64_t wall_us() const = 0;
  // Runs `work` on the executor after delay_us.
  virtual void after(uint64_t delay_us, std::function<void()> work) = 0;
};

class Replica {
 public:
  Replica(const ReplicaOptions& options, Log& log, Clock& clock, ApplyFunction apply);
  ~Replica();

  void start();
  // Answers everything that waits (kUnreachable, or kUnknown where it was handed over), inside this call. No
  // callback runs after it returns.
  void stop();

  // `payload` is at most limits::kMaxProposalBytes. `done` runs on the executor, once.
  void propose(std::string payload, std::function<void(ProposeResult)> done);

  // A linearizable point: asks the log for its tail (sharing only an ask sent after this call, LOG.md rule
  // 6), waits until that is applied, then calls `done` with the applied position; kUnavailable when the log
  // does not answer within deadline_ms.
  void barrier(uint64_t deadline_ms, std::function<void(Result<Position>)> done);

  ReplicaStatus status() const;
  // The chain hash at the applied position.
  Hash128 applied_hash() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace waypost::replication
