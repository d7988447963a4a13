#include "replication/local_log.h"

#include <mutex>
#include <utility>

#include "model/limits.h"
#include "model/mutant.h"
#include "replication/entry.h"
#include "replication/local_log_records.h"

namespace waypost::replication {
namespace {

std::string seal_words(const Seal& seal) {
  return "this node's own log was sealed at position " + std::to_string(seal.position.value()) +
         " and goes on at " + seal.target + "; start the node with the etcd engine";
}

}  // namespace

// Shared by the order thread and the writer. Disk work takes no lock; the mutex guards `state`, `presence`
// and `waiting`.
struct LocalLog::Core : std::enable_shared_from_this<Core> {
  explicit Core(LocalLogOptions given) : options(std::move(given)), records(options.db, options.family) {}

  struct WaitingRead {
    Position from;
    size_t max_bytes = 0;
    ReadCallback done;
  };

  void write_append(Position position, const Hash128& previous, std::string bytes,
                    const AppendCallback& done);
  // Answers the waiting read, if there is one and its entries are there. `bytes` is entry `position`, just
  // appended.
  void answer_waiting(Position position, std::string bytes);
  void read_now(WaitingRead read);
  std::string refusal_words() const;  // with the mutex held; empty: appends are taken

  LocalLogOptions options;
  const LocalLogRecords records;
  mutable std::mutex mutex;
  LocalLogState state;
  std::optional<Presence> presence;
  std::optional<WaitingRead> waiting;
};

std::string LocalLog::Core::refusal_words() const {
  if (state.seal && !mutant("sealed_log_appends")) return seal_words(*state.seal);
  return state.halt_words;
}

void LocalLog::Core::write_append(Position position, const Hash128& previous, std::string bytes,
                                  const AppendCallback& done) {
  AppendResult result;
  {
    const std::lock_guard lock(mutex);
    const bool fenced = state.head.next() == position && state.hash == previous;
    result.words = refusal_words();
    if (!result.words.empty()) {
      result.outcome = AppendOutcome::kHalted;
    } else {
      result.outcome =
          fenced || mutant("append_not_fenced") ? AppendOutcome::kAppended : AppendOutcome::kLost;
    }
  }
  if (result.outcome == AppendOutcome::kAppended) {
    const Hash128 hash = entry_hash(bytes);
    records.append(position, bytes, hash);
    if (options.on_synced) options.on_synced(position, hash);
    const std::lock_guard lock(mutex);
    state.head = position;
    state.hash = hash;
  }
  options.order([done, result] { done(result); });
  if (result.outcome == AppendOutcome::kAppended) answer_waiting(position, std::move(bytes));
}

void LocalLog::Core::answer_waiting(Position position, std::string bytes) {
  WaitingRead read;
  {
    const std::lock_guard lock(mutex);
    if (!waiting || waiting->from > state.head) return;
    read = std::move(*waiting);
    waiting.reset();
  }
  if (read.from != position) return read_now(std::move(read));
  std::vector<RawEntry> entries;
  entries.push_back({position, std::move(bytes)});
  options.order(
      [done = std::move(read.done), entries = std::move(entries)]() mutable { done(std::move(entries)); });
}

void LocalLog::Core::read_now(WaitingRead read) {
  Position head;
  Position lowest;
  {
    const std::lock_guard lock(mutex);
    head = state.head;
    lowest = state.first;
    if (read.from > head) {
      waiting = std::move(read);
      return;
    }
  }
  if (read.from < lowest) {
    Error error{ErrorCode::kNotFound, "local log: entry " + std::to_string(read.from.value()) +
                                          " is trimmed; the oldest is " + std::to_string(lowest.value())};
    options.order([done = std::move(read.done), error = std::move(error)] { done(error); });
    return;
  }
  auto entries = records.entries(read.from, head, read.max_bytes);
  options.order(
      [done = std::move(read.done), entries = std::move(entries)]() mutable { done(std::move(entries)); });
}

LocalLog::LocalLog(std::shared_ptr<Core> core) : core_(std::move(core)) {}
LocalLog::~LocalLog() = default;

Result<std::unique_ptr<LocalLog>> LocalLog::open(LocalLogOptions options) {
  auto core = std::make_shared<Core>(std::move(options));
  Result<LocalLogState> state = core->records.load();
  if (!state.ok()) return state.error();
  core->state = std::move(state).value();
  return std::unique_ptr<LocalLog>(new LocalLog(std::move(core)));
}

Status LocalLog::begin_behind(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, Position position,
                              const Hash128& hash) {
  LocalLogRecords(db, family).begin_behind(position, hash);
  return {};
}

void LocalLog::append(Position position, const Hash128& previous, std::string bytes, AppendCallback done) {
  core_->options.writer(
      [core = core_, position, previous, bytes = std::move(bytes), done = std::move(done)]() mutable {
        core->write_append(position, previous, std::move(bytes), done);
      });
}

void LocalLog::read(Position from, size_t max_bytes, ReadCallback done) {
  core_->options.writer([core = core_, from, max_bytes, done = std::move(done)]() mutable {
    core->read_now({from, max_bytes, std::move(done)});
  });
}

// What is known here is the newest acknowledged entry or a newer one, so no disk has to be asked.
void LocalLog::tail(TailCallback done) {
  core_->options.order([core = core_, done = std::move(done)] {
    Tail tail;
    {
      const std::lock_guard lock(core->mutex);
      tail = {core->state.head, core->state.hash, 0, core->refusal_words()};
    }
    done(tail);
  });
}

void LocalLog::trim(Position below, DoneCallback done) {
  core_->options.writer([core = core_, below, done = std::move(done)] {
    bool moves = false;
    {
      const std::lock_guard lock(core->mutex);
      moves = below > core->state.first && below <= core->state.head.next();
      if (moves) core->state.first = below;
    }
    if (moves) core->records.trim(below);
    core->options.order([done] { done({}); });
  });
}

void LocalLog::first(std::function<void(Result<Position>)> done) {
  core_->options.order([core = core_, done = std::move(done)] {
    Position first;
    {
      const std::lock_guard lock(core->mutex);
      first = core->state.first;
    }
    done(first);
  });
}

void LocalLog::halt(std::string words, DoneCallback done) {
  core_->options.writer([core = core_, words = std::move(words), done = std::move(done)] {
    core->records.put_halt(words);
    {
      const std::lock_guard lock(core->mutex);
      core->state.halt_words = words;
    }
    core->options.order([done] { done({}); });
  });
}

void LocalLog::publish(const Presence& presence, DoneCallback done) {
  core_->options.order([core = core_, presence, done = std::move(done)] {
    uint64_t found = 0;
    {
      const std::lock_guard lock(core->mutex);
      if (core->presence) found = core->presence->incarnation;
      if (found <= presence.incarnation) core->presence = presence;
    }
    if (found <= presence.incarnation) return done({});
    done(Error{ErrorCode::kFailedPrecondition,
               "member " + presence.name + " was started again (incarnation " + std::to_string(found) + ")"});
  });
}

void LocalLog::withdraw(const std::string&, DoneCallback done) {
  core_->options.order([core = core_, done = std::move(done)] {
    {
      const std::lock_guard lock(core->mutex);
      core->presence.reset();
    }
    done({});
  });
}

void LocalLog::presences(PresenceCallback done) {
  core_->options.order([core = core_, done = std::move(done)] {
    std::vector<Presence> all;
    {
      const std::lock_guard lock(core->mutex);
      if (core->presence) all.push_back(*core->presence);
    }
    done(std::move(all));
  });
}

void LocalLog::health(std::function<void(Result<Health>)> done) {
  core_->options.writer([core = core_, done = std::move(done)] {
    Health health;
    const uint64_t bytes = core->records.live_bytes();
    {
      const std::lock_guard lock(core->mutex);
      const LocalLogState& state = core->state;
      health.facts = {{"engine", "local"},
                      {"first", std::to_string(state.first.value())},
                      {"tail", std::to_string(state.head.value())},
                      {"bytes", std::to_string(bytes)}};
      if (const std::string words = core->refusal_words(); !words.empty()) health.problems.push_back(words);
    }
    health.healthy = health.problems.empty();
    core->options.order([done, health] { done(health); });
  });
}

Tail LocalLog::head() const {
  const std::lock_guard lock(core_->mutex);
  return {core_->state.head, core_->state.hash, 0, core_->refusal_words()};
}

std::optional<Seal> LocalLog::sealed() const {
  const std::lock_guard lock(core_->mutex);
  return core_->state.seal;
}

void LocalLog::seal(Seal seal, DoneCallback done) {
  core_->options.writer([core = core_, seal = std::move(seal), done = std::move(done)] {
    Status status;
    bool fresh = false;
    {
      const std::lock_guard lock(core->mutex);
      const LocalLogState& state = core->state;
      fresh = !state.seal;
      const bool equal = state.seal && state.seal->target == seal.target &&
                         state.seal->cluster == seal.cluster && state.seal->position == seal.position &&
                         state.seal->hash == seal.hash;
      if (!fresh && !equal) {
        status = Error{ErrorCode::kFailedPrecondition, "already sealed: " + seal_words(*state.seal)};
      } else if (fresh && (state.head != seal.position || state.hash != seal.hash)) {
        status = Error{ErrorCode::kFailedPrecondition,
                       "the log is at position " + std::to_string(state.head.value()) + ", not at " +
                           std::to_string(seal.position.value()),
                       "stop writing, then grow again"};
      }
    }
    if (status.ok() && fresh) {
      core->records.put_seal(seal);
      const std::lock_guard lock(core->mutex);
      core->state.seal = seal;
    }
    core->options.order([done, status] { done(status); });
  });
}

void LocalLog::seal_done(DoneCallback done) {
  core_->options.writer([core = core_, done = std::move(done)] {
    std::optional<Seal> seal;
    {
      const std::lock_guard lock(core->mutex);
      if (core->state.seal) core->state.seal->done = true;
      seal = core->state.seal;
    }
    if (seal) core->records.put_seal(*seal);
    Status status;
    if (!seal) status = Error{ErrorCode::kFailedPrecondition, "the log is not sealed"};
    core->options.order([done, status] { done(status); });
  });
}

}  // namespace waypost::replication
