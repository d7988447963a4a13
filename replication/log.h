// The log: one total order of entries, behind few verbs. Engines: local_log (the node's own RocksDB) and
// etcd/. Above this header nothing knows which; the contract suite runs on both and on the simulator's log.
//
// Every verb is asynchronous; its callback runs on the executor given to the engine at construction (the
// node's order thread; the event heap in the simulator), never inside the call itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/hash128.h"
#include "model/named_type.h"
#include "model/result.h"

namespace waypost::replication {

// Posts work to the thread that owns the order of things.
using Executor = std::function<void(std::function<void()>)>;

enum class AppendOutcome {
  kAppended,
  kLost,     // another entry has the position, or the head is not (position - 1, previous): read on, then try
             // behind it
  kUnknown,  // handed over, no answer: repeat the same bytes until the position is seen taken (LOG.md rule 4)
  kUnreachable,  // never handed over: nothing can have happened
  kHalted,   // a rewound log was recognised (LOG.md rule 2), or the log is sealed: stop writing, see `words`
  kNoSpace,  // the engine is full: see `words`
};

struct AppendResult {
  AppendOutcome outcome = AppendOutcome::kUnknown;
  std::string words;  // for people: what is wrong and the cure
};

struct RawEntry {
  Position position;
  std::string bytes;  // entry.h has the grammar
};

struct Tail {
  Position position;  // newest entry, 0 for an empty log
  Hash128 hash;       // of the chain up to it
  uint64_t engine_revision =
      0;  // grows with every change of the engine (etcd's header revision); 0 where there is none
  std::string halt_words;  // not empty: the log is halted
};

// What a member says of itself; expires when it dies.
struct Presence {
  std::string name;
  uint64_t incarnation = 0;
  std::string address;  // HOST:PORT of its client port
  Position applied;
  Position durable;  // applied position at its last successful sync (LOG.md rule 3)
  uint64_t revision = 0;
  Hash128 history;
  Hash128 data_digest;       // at `revision`
  Hash128 control_digest;    // at `applied`
  uint32_t rules_level = 0;  // the highest this binary supports
  std::string status;        // one line for people: "ok", "catching up", "digest differs at revision 81", ...
};

class Log {
 public:
  virtual ~Log() = default;

  // At most one append is in flight per node. `previous` is the chain hash at position - 1.
  using AppendCallback = std::function<void(AppendResult)>;
  virtual void append(Position position, const Hash128& previous, std::string bytes, AppendCallback done) = 0;

  // Calls `done` once, with at least one entry from `from` on as soon as there is one, in order, without a
  // gap, at most about max_bytes; or kNotFound ("trimmed") where `from` is gone; or kUnavailable after a
  // while without an answer. After a reconnect the first entries may lie before `from`. One read at a time.
  using ReadCallback = std::function<void(Result<std::vector<RawEntry>>)>;
  virtual void read(Position from, size_t max_bytes, ReadCallback done) = 0;

  // Linearizable: asked of the engine after this call.
  using TailCallback = std::function<void(Result<Tail>)>;
  virtual void tail(TailCallback done) = 0;

  // Forgets entries below `below`, which must not pass what LOG.md rule 3 allows; the caller decides.
  using DoneCallback = std::function<void(Status)>;
  virtual void trim(Position below, DoneCallback done) = 0;
  // The lowest position that can still be read.
  virtual void first(std::function<void(Result<Position>)> done) = 0;

  // Puts `halt`: no member appends any more (LOG.md rule 2).
  virtual void halt(std::string words, DoneCallback done) = 0;

  // Publishes (and keeps alive) this node's presence; a higher incarnation under the same name found there is
  // kFailedPrecondition: the caller must exit (LOG.md rule 9).
  virtual void publish(const Presence& presence, DoneCallback done) = 0;
  // Takes back what this node published as `name`, at a clean stop: the others need not wait to see it go.
  // Nothing is published afterwards.
  virtual void withdraw(const std::string& name, DoneCallback done) = 0;
  using PresenceCallback = std::function<void(Result<std::vector<Presence>>)>;
  virtual void presences(PresenceCallback done) = 0;

  // For `cluster status`: what the engine says of its own health, one "name: value" a line.
  struct Health {
    bool healthy = true;
    std::vector<std::pair<std::string, std::string>> facts;
    std::vector<std::string> problems;  // each with its cure
  };
  virtual void health(std::function<void(Result<Health>)> done) = 0;
};

}  // namespace waypost::replication
