// Reading the log in order, checking its chain, and handing entries to apply.
#include <algorithm>
#include <utility>

#include "model/check.h"
#include "model/limits.h"
#include "model/mutant.h"
#include "replication/replica_impl.h"

namespace waypost::replication {

void Replica::Impl::start_reading() {
  const bool backlog_full = backlog_bytes > limits::kMaxApplyBacklogBytes;
  if (reading || read_backing_off || backlog_full || !follows()) return;
  reading = true;
  log.read(frontier.next(), limits::kLogReadBytes,
           [weak = weak_from_this(), asked = frontier.next()](Result<std::vector<RawEntry>> result) {
             const auto self = weak.lock();
             if (self && !self->stopped) self->on_read(asked, std::move(result));
           });
}

void Replica::Impl::on_read(Position asked, Result<std::vector<RawEntry>> result) {
  reading = false;
  // Our own appends can carry the frontier past an entry that is being read, and then it may be trimmed.
  const bool needed = asked == frontier.next();
  const bool trimmed_behind_us = !result.ok() && result.error().code == ErrorCode::kNotFound && !needed;
  if (trimmed_behind_us) {
    set_reachable(true);
  } else if (!result.ok()) {
    on_read_failed(result.error());
  } else {
    set_reachable(true);
    read_backoff.reset();
    for (const RawEntry& raw : *result) {
      if (!take_entry(raw)) break;
    }
  }
  pump_apply();
  start_reading();
  maybe_append();
}

void Replica::Impl::on_read_failed(const Error& error) {
  if (error.code == ErrorCode::kNotFound) {
    trimmed_past = true;
    queue.answer_waiting(ProposeOutcome::kUnreachable,
                         "this node is behind the oldest entry of the log and waits for a snapshot");
    return;
  }
  if (error.code == ErrorCode::kCorruption || error.code == ErrorCode::kUnsupported) {
    corrupt = error.message;
    queue.answer_waiting(ProposeOutcome::kHalted, corrupt);
    return;
  }
  set_reachable(false);
  read_backing_off = true;
  later(read_backoff.next_us(random), [this] {
    read_backing_off = false;
    start_reading();
  });
}

bool Replica::Impl::take_entry(const RawEntry& raw) {
  if (!follows()) return false;
  if (raw.position <= frontier) return true;  // our own append, or a duplicate after a reconnect
  Result<Entry> decoded = decode_entry(raw.bytes);
  if (!decoded.ok()) {
    on_read_failed(decoded.error());
    return false;
  }
  const bool chains = decoded->previous == frontier_hash || mutant("chain_not_checked");
  if (const Status status = check_chain(*decoded, frontier, frontier_hash); !status.ok()) {
    if (chains) {
      on_read_failed(status.error());
    } else {
      diverge(status.error().message);
    }
    return false;
  }
  const Hash128 hash = entry_hash(raw.bytes);
  last_appender = decoded->appender;
  if (flight && flight->position == decoded->position) {
    if (flight->hash == hash) {
      win_flight();
      return true;
    }
    lose_flight();
  }
  AppliedEntry entry;
  entry.position = decoded->position;
  entry.time_us = decoded->time_us;
  entry.hash = hash;
  entry.proposals = std::move(decoded->proposals);
  entry.appender = std::move(decoded->appender);
  entry.incarnation = decoded->incarnation;
  extend(std::move(entry), raw.bytes.size(), {});
  return true;
}

void Replica::Impl::extend(AppliedEntry entry, size_t bytes, std::vector<uint64_t> tickets) {
  frontier = entry.position;
  frontier_hash = entry.hash;
  known_tail = std::max(known_tail, frontier);
  backlog_bytes += bytes;
  backlog.push_back({std::move(entry), bytes, std::move(tickets)});
}

// A loop, not a recursion, so that an apply that answers inside the call cannot pile up frames.
void Replica::Impl::pump_apply() {
  if (pumping) return;
  pumping = true;
  while (!stopped && !apply_outstanding && !backlog.empty()) {
    std::vector<AppliedEntry> batch;
    size_t bytes = 0;
    while (!backlog.empty() && batch.size() < limits::kMaxApplyBatchEntries &&
           bytes < limits::kMaxApplyBatchBytes) {
      BacklogEntry next = std::move(backlog.front());
      backlog.pop_front();
      bytes += next.bytes;
      applying.push_back({next.entry.position, next.entry.hash, next.bytes, std::move(next.tickets)});
      batch.push_back(std::move(next.entry));
    }
    apply_outstanding = true;
    apply(std::move(batch), [weak = weak_from_this()](std::vector<std::vector<std::string>> answers) {
      const auto self = weak.lock();
      if (self && !self->stopped) self->on_applied(answers);
    });
  }
  pumping = false;
}

void Replica::Impl::on_applied(const std::vector<std::vector<std::string>>& answers) {
  WAYPOST_CHECK(answers.size() == applying.size(), "apply answers each entry");
  apply_outstanding = false;
  const std::vector<InApply> done = std::exchange(applying, {});
  for (const InApply& entry : done) backlog_bytes -= entry.bytes;
  applied = done.back().position;
  applied_hash = done.back().hash;
  // The next batch first: apply works while clients are answered.
  pump_apply();
  for (size_t i = 0; i < done.size(); ++i) {
    const std::vector<uint64_t>& tickets = done[i].tickets;
    WAYPOST_CHECK(tickets.empty() || tickets.size() == answers[i].size(), "apply answers each proposal");
    for (uint32_t index = 0; index < tickets.size(); ++index) {
      ProposeResult result;
      result.outcome = ProposeOutcome::kApplied;
      result.position = done[i].position;
      result.index = index;
      result.answer = answers[i][index];
      queue.answer(tickets[index], std::move(result));
    }
  }
  finish_barriers();
  start_reading();
  maybe_append();
}

}  // namespace waypost::replication
