#include "tests/sim/sim_log.h"

#include <algorithm>
#include <utility>

#include "model/check.h"

namespace waypost::sim {

using replication::AppendOutcome;
using replication::AppendResult;
using replication::RawEntry;
using replication::Tail;

namespace {

Error no_answer() {
  return {ErrorCode::kUnavailable, "the simulated log does not answer"};
}

// Runs `work` at most once: the answer and the timeout race for it.
template <typename T>
std::function<void(T)> once(std::function<void(T)> work) {
  return [work = std::move(work), used = std::make_shared<bool>(false)](T value) {
    if (std::exchange(*used, true)) return;
    work(std::move(value));
  };
}

}  // namespace

void SimLog::append(Position position, const Hash128& previous, std::string bytes, AppendCallback done) {
  WAYPOST_CHECK(!shared_->append_in_flight, "one append in flight");
  shared_->append_in_flight = true;
  const std::weak_ptr<Shared> weak = shared_;
  Shared& s = *shared_;
  const auto answer = once<AppendResult>([weak, done = std::move(done)](AppendResult result) {
    const auto shared = weak.lock();
    if (!shared || shared->gone) return;
    shared->append_in_flight = false;
    done(std::move(result));
  });
  const bool refused = s.world.chance(Concern::kFaults, s.faults.refused);
  const bool request_lost = s.world.chance(Concern::kFaults, s.faults.request_lost);
  const bool reply_lost = s.world.chance(Concern::kFaults, s.faults.reply_lost);
  const bool late = s.world.chance(Concern::kFaults, s.faults.late);
  if (s.cut || refused) {
    s.world.reach("append refused");
    s.node.after(s.delay_us(), [answer] {
      answer({AppendOutcome::kUnreachable, "the simulated log refuses"});
    });
    return;
  }
  s.node.after(s.faults.timeout_us, [answer] { answer({AppendOutcome::kUnknown, "no answer"}); });
  if (request_lost) return s.world.reach("append lost on the way");
  const uint64_t travel_us =
      late ? s.faults.timeout_us + s.world.pick(Concern::kFaults, 0, s.faults.late_us) : s.delay_us();
  // The request is on its way whatever becomes of its sender, so this runs in the world, not on the node.
  s.world.after(travel_us, [weak, &server = s.server, &world = s.world, position, previous,
                            bytes = std::move(bytes), answer, reply_lost, late] {
    const AppendResult result = server.append(position, previous, bytes);
    if (result.outcome == AppendOutcome::kLost) world.reach("lost race for a position");
    if (late)
      world.reach(result.outcome == AppendOutcome::kAppended ? "late append happened"
                                                             : "late append did not happen");
    const auto shared = weak.lock();
    if (!shared || shared->gone) return;
    if (reply_lost || shared->replies_cut) {
      if (result.outcome == AppendOutcome::kAppended) world.reach("unknown append happened");
      return;
    }
    shared->node.after(shared->delay_us(), [answer, result] { answer(result); });
  });
}

template <typename T>
void SimLog::ask(double fails, std::function<T()> serve, std::function<void(T)> done) {
  const std::weak_ptr<Shared> weak = shared_;
  Shared& s = *shared_;
  const auto answer = once<T>([weak, done = std::move(done)](T value) {
    const auto shared = weak.lock();
    if (shared && !shared->gone) done(std::move(value));
  });
  s.node.after(s.faults.timeout_us, [answer] { answer(T(no_answer())); });
  if (s.cut || s.world.chance(Concern::kFaults, fails)) return;
  s.world.after(s.delay_us(), [weak, serve = std::move(serve), answer] {
    const auto shared = weak.lock();
    if (!shared || shared->gone) return;
    T value = serve();
    if (shared->replies_cut) return;
    shared->node.after(shared->delay_us(), [answer, value = std::move(value)] { answer(value); });
  });
}

void SimLog::read(Position from, size_t max_bytes, ReadCallback done) {
  const Position asked = from;
  Shared& s = *shared_;
  if (s.cut || s.world.chance(Concern::kFaults, s.faults.read_fails)) {
    s.world.reach("read failed");
    s.node.after(s.faults.timeout_us, [done = std::move(done)] { done(no_answer()); });
    return;
  }
  if (s.world.chance(Concern::kFaults, s.faults.read_repeats) && from.value() > 1) {
    s.world.reach("read repeated entries");
    from =
        Position(from.value() - s.world.pick(Concern::kFaults, 1, std::min<uint64_t>(from.value() - 1, 5)));
  }
  if (s.world.chance(Concern::kFaults, s.faults.read_single)) max_bytes = 1;
  wait_for_entries(asked, from, max_bytes, std::move(done));
}

// Waits for the entry at `from`, which is `asked` or a little before it.
void SimLog::wait_for_entries(Position asked, Position from, size_t max_bytes, ReadCallback done) {
  const std::weak_ptr<Shared> weak = shared_;
  const auto deliver = [weak, asked, from, max_bytes, done = std::move(done)] {
    const auto shared = weak.lock();
    if (!shared || shared->gone) return;
    // Only what was asked for can be missed: what would be repeated may be trimmed by now.
    const Position start = std::min(asked, std::max(from, shared->server.first()));
    auto entries = shared->server.read(start, max_bytes);
    if (!entries.ok()) shared->world.reach("trimmed under a reader");
    shared->node.after(shared->delay_us(), [done, entries = std::move(entries), weak, from]() mutable {
      const auto still = weak.lock();
      if (!still || still->gone) return;
      // A log that went back to an old state has nothing here; a real watch stays silent and is restarted.
      const bool silent = still->cut || still->replies_cut || (entries.ok() && entries->empty());
      if (silent) return done(no_answer());
      done(std::move(entries));
    });
  };
  shared_->world.after(shared_->delay_us(), [weak, from, deliver] {
    const auto shared = weak.lock();
    if (!shared || shared->gone) return;
    shared->server.when_past(Position(from.value() - 1), deliver);
  });
}

void SimLog::tail(TailCallback done) {
  ask<Result<Tail>>(
      shared_->faults.tail_fails, [&server = shared_->server]() -> Result<Tail> { return server.tail(); },
      std::move(done));
}

void SimLog::trim(Position below, DoneCallback done) {
  ask<Status>(
      0,
      [&server = shared_->server, below]() -> Status {
        server.trim(below);
        return {};
      },
      std::move(done));
}

void SimLog::first(std::function<void(Result<Position>)> done) {
  ask<Result<Position>>(
      0, [&server = shared_->server]() -> Result<Position> { return server.first(); }, std::move(done));
}

void SimLog::halt(std::string words, DoneCallback done) {
  ask<Status>(
      0,
      [&server = shared_->server, words = std::move(words)]() -> Status {
        server.halt(words);
        return {};
      },
      std::move(done));
}

void SimLog::publish(const replication::Presence& presence, DoneCallback done) {
  ask<Status>(
      0, [&server = shared_->server, presence]() -> Status { return server.publish(presence); },
      std::move(done));
}

void SimLog::withdraw(const std::string& name, DoneCallback done) {
  ask<Status>(
      0, [&server = shared_->server, name]() -> Status { return server.withdraw(name); }, std::move(done));
}

void SimLog::presences(PresenceCallback done) {
  using All = Result<std::vector<replication::Presence>>;
  ask<All>(
      0, [&server = shared_->server]() -> All { return server.presences(); }, std::move(done));
}

void SimLog::health(std::function<void(Result<Health>)> done) {
  ask<Result<Health>>(
      0,
      [&server = shared_->server]() -> Result<Health> {
        Health health;
        health.facts = {{"engine", "simulated"}, {"tail", std::to_string(server.tail().position.value())}};
        return health;
      },
      std::move(done));
}

}  // namespace waypost::sim
