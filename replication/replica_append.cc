// Gathering proposals into entries and appending them, one at a time (LOG.md rules 1 and 4).
#include <algorithm>
#include <utility>

#include "model/check.h"
#include "model/limits.h"
#include "model/mutant.h"
#include "replication/replica_impl.h"

namespace waypost::replication {
namespace {

// How long a lost race may stay unexplained by what is read before the tail is asked.
constexpr uint64_t kLostCheckUs = 50'000;
// Entries that one member appends in a row before it steps aside: whoever appends learns of the new tail
// first, so without a pause the others would never get a turn.
constexpr uint64_t kEntriesInARow = 16;
// A full log is asked again at most this often.
constexpr uint64_t kNoSpaceRetryUs = 200'000;

// An entry is filled to the target; behind a deep queue larger entries carry more bytes a second (LOG.md's
// table).
size_t entry_bytes_for(size_t waiting_bytes) {
  return std::clamp(waiting_bytes / 4, limits::kEntryTargetBytes, limits::kMaxEntryBytes);
}

ProposeResult refusal(ProposeOutcome outcome, std::string words) {
  ProposeResult result;
  result.outcome = outcome;
  result.words = std::move(words);
  return result;
}

}  // namespace

void Replica::Impl::propose(std::string payload, ProposalQueue::Done done) {
  if (stopped) return;
  ++proposals;
  std::optional<ProposeResult> refused;
  if (payload.size() > limits::kMaxProposalBytes) {
    refused = refusal(ProposeOutcome::kRefused,
                      "the transaction has " + std::to_string(payload.size()) + " bytes, at most " +
                          std::to_string(limits::kMaxProposalBytes) + " fit an entry of the log");
  } else if (const std::string words = halt_words(); !words.empty()) {
    refused = refusal(ProposeOutcome::kHalted, words);
  } else if (trimmed_past) {
    refused = refusal(ProposeOutcome::kUnreachable,
                      "this node is behind the oldest entry of the log and waits for a snapshot");
  } else if (!queue.takes(payload.size())) {
    refused =
        refusal(ProposeOutcome::kRefused,
                "too many changes in flight (" + std::to_string(limits::kMaxQueuedProposals) + " at most)");
    refused->busy = true;
  }
  if (refused) {
    // Never inside this call: callers hold half-made state.
    later(0, [done = std::move(done), refused = *std::move(refused)] { done(refused); });
    return;
  }
  queue.push(std::move(payload), std::move(done), clock.monotonic_us());
  arm_deadline();
  maybe_append();
}

void Replica::Impl::arm_deadline() {
  if (deadline_armed || queue.next_deadline_us() == 0) return;
  deadline_armed = true;
  const uint64_t now_us = clock.monotonic_us();
  const uint64_t deadline_us = queue.next_deadline_us();
  later(deadline_us > now_us ? deadline_us - now_us : 0, [this] {
    deadline_armed = false;
    queue.expire(clock.monotonic_us(),
                 reachable ? "the change waited too long for its turn on the log; nothing happened"
                           : "the log is unreachable; nothing happened");
    arm_deadline();
  });
}

void Replica::Impl::maybe_append() {
  if (!started || append_outstanding || backing_off || !follows() || !halt_words().empty()) return;
  if (flight) {
    if (!flight->lost) send_flight();
    return;
  }
  // Behind the known tail an append would lose; with apply far behind it would only fill memory.
  const bool must_wait =
      !tail_checked || frontier < known_tail || backlog_bytes > limits::kMaxApplyBacklogBytes;
  if (must_wait) return;
  if (!options.alone && wins_in_a_row >= kEntriesInARow && queue.waiting_bytes() > 0) {
    wins_in_a_row = 0;
    const uint64_t turn_us = std::max<uint64_t>(latency.typical_us(), 1'000);
    return back_off_appending(turn_us + random() % turn_us);
  }
  std::vector<ProposalQueue::Item> items = queue.take(entry_bytes_for(queue.waiting_bytes()));
  if (!items.empty()) start_flight(std::move(items));
}

void Replica::Impl::start_flight(std::vector<ProposalQueue::Item> items) {
  Entry entry;
  entry.position = frontier.next();
  entry.previous = frontier_hash;
  entry.appender = options.name;
  entry.incarnation = options.incarnation;
  entry.time_us = clock.wall_us();
  entry.proposals.reserve(items.size());
  for (ProposalQueue::Item& item : items) entry.proposals.push_back(std::move(item.payload));
  flight.emplace(Flight{});
  flight->position = entry.position;
  flight->time_us = entry.time_us;
  flight->bytes = encode_entry(entry);
  flight->hash = entry_hash(flight->bytes);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].payload = std::move(entry.proposals[i]);
    queue.handed_over(items[i].ticket);
  }
  flight->items = std::move(items);
  send_flight();
}

void Replica::Impl::send_flight() {
  append_outstanding = true;
  log.append(flight->position, frontier_hash, flight->bytes,
             [weak = weak_from_this(), position = flight->position,
              sent_us = clock.monotonic_us()](AppendResult result) {
               const auto self = weak.lock();
               if (self && !self->stopped) self->on_append(position, sent_us, std::move(result));
             });
}

void Replica::Impl::on_append(Position position, uint64_t sent_us, AppendResult result) {
  append_outstanding = false;
  const bool heard =
      result.outcome != AppendOutcome::kUnknown && result.outcome != AppendOutcome::kUnreachable;
  set_reachable(heard);
  if (heard) retry_backoff.reset();
  if (result.outcome == AppendOutcome::kAppended) latency.add(clock.monotonic_us() - sent_us);
  const bool resolved_by_reading = !flight || flight->position != position;
  if (!resolved_by_reading) {
    if (result.outcome == AppendOutcome::kAppended) {
      win_flight();
      pump_apply();
    } else {
      on_append_failed(std::move(result));
    }
  }
  maybe_append();
}

void Replica::Impl::on_append_failed(AppendResult result) {
  switch (result.outcome) {
    case AppendOutcome::kAppended:
      return;
    case AppendOutcome::kLost:
      flight->lost = true;
      watch_lost_flight();
      return;
    case AppendOutcome::kUnknown:
      ++unknown_outcomes;
      flight->may_have_happened = true;
      if (mutant("unknown_is_failed")) give_flight_back();
      return back_off_appending(retry_backoff.next_us(random));
    case AppendOutcome::kUnreachable:
      if (!flight->may_have_happened) give_flight_back();
      return back_off_appending(retry_backoff.next_us(random));
    case AppendOutcome::kHalted:
      log_halted = result.words.empty() ? "the log is halted" : result.words;
      if (!flight->may_have_happened) refuse_flight(ProposeOutcome::kHalted, log_halted);
      queue.answer_waiting(ProposeOutcome::kHalted, log_halted);
      return;
    case AppendOutcome::kNoSpace:
      if (!flight->may_have_happened) refuse_flight(ProposeOutcome::kRefused, result.words);
      queue.answer_waiting(ProposeOutcome::kRefused, result.words);
      return back_off_appending(kNoSpaceRetryUs);
  }
}

// The position holds our entry: it is the next in order, and need not be read back.
void Replica::Impl::win_flight() {
  WAYPOST_CHECK(flight->position == frontier.next(), "a flight stands right behind the frontier");
  AppliedEntry entry;
  entry.position = flight->position;
  entry.time_us = flight->time_us;
  entry.hash = flight->hash;
  entry.appender = options.name;
  entry.incarnation = options.incarnation;
  std::vector<uint64_t> tickets;
  entry.proposals.reserve(flight->items.size());
  tickets.reserve(flight->items.size());
  for (ProposalQueue::Item& item : flight->items) {
    queue.in_log(item.ticket, flight->position);
    tickets.push_back(item.ticket);
    entry.proposals.push_back(std::move(item.payload));
  }
  const size_t bytes = flight->bytes.size();
  ++appends;
  ++wins_in_a_row;
  append_bytes += bytes;
  flight.reset();
  lost_backoff.reset();
  if (mutant("answer_before_apply")) {
    for (uint32_t i = 0; i < tickets.size(); ++i) {
      ProposeResult result = refusal(ProposeOutcome::kApplied, "");
      result.position = entry.position;
      result.index = i;
      queue.answer(tickets[i], std::move(result));
    }
  }
  extend(std::move(entry), bytes, std::move(tickets));
}

// The position holds another entry, so ours never happened and may go in behind it.
void Replica::Impl::lose_flight() {
  ++lost_races;
  wins_in_a_row = 0;
  give_flight_back();
  // Each loser waits at random about as long as an append takes, and longer after each loss, so that one of
  // them gets through.
  const uint64_t turn_us = std::max<uint64_t>(latency.typical_us(), 1'000);
  lost_backoff.set_bounds(turn_us, 8 * turn_us);
  back_off_appending(lost_backoff.next_us(random));
}

void Replica::Impl::give_flight_back() {
  std::vector<ProposalQueue::Item> items = std::move(flight->items);
  flight.reset();
  queue.give_back(std::move(items));
}

void Replica::Impl::refuse_flight(ProposeOutcome outcome, const std::string& words) {
  const std::vector<ProposalQueue::Item> items = std::move(flight->items);
  flight.reset();
  for (const ProposalQueue::Item& item : items) queue.answer(item.ticket, refusal(outcome, words));
}

void Replica::Impl::back_off_appending(uint64_t delay_us) {
  if (backing_off) return;
  backing_off = true;
  later(delay_us, [this] {
    backing_off = false;
    maybe_append();
  });
}

// The reader normally shows who has the position. Where it does not, the tail says whether the log is behind
// us (rewound) or the engine refused without a reason that lasts.
void Replica::Impl::watch_lost_flight() {
  if (watching_lost) return;
  watching_lost = true;
  later(kLostCheckUs, [this] {
    watching_lost = false;
    if (!flight || !flight->lost) return;
    ask_tail();
    watch_lost_flight();
  });
}

}  // namespace waypost::replication
