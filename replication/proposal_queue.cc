#include "replication/proposal_queue.h"

#include <utility>

#include "model/limits.h"
#include "replication/entry.h"

namespace waypost::replication {

bool ProposalQueue::takes(size_t payload_bytes) const {
  return tickets_.size() < limits::kMaxQueuedProposals &&
         ticket_bytes_ + payload_bytes <= limits::kMaxQueuedProposalBytes;
}

void ProposalQueue::push(std::string payload, Done done, uint64_t now_us) {
  const uint64_t ticket = next_ticket_++;
  tickets_.emplace(
      ticket, Ticket{std::move(done), now_us + timeout_us_, payload.size(), State::kWaiting, Position()});
  ticket_bytes_ += payload.size();
  waiting_bytes_ += payload.size();
  waiting_.push_back({ticket, std::move(payload)});
}

std::vector<ProposalQueue::Item> ProposalQueue::take(size_t max_bytes) {
  std::vector<Item> items;
  size_t bytes = kMaxEntryOverheadBytes;
  while (!waiting_.empty()) {
    const size_t more = kProposalOverheadBytes + waiting_.front().payload.size();
    if (!items.empty() && bytes + more > max_bytes) break;
    bytes += more;
    waiting_bytes_ -= waiting_.front().payload.size();
    items.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return items;
}

void ProposalQueue::give_back(std::vector<Item> items) {
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    if (!tickets_.contains(item->ticket)) continue;
    not_handed_over(item->ticket);
    waiting_bytes_ += item->payload.size();
    waiting_.push_front(std::move(*item));
  }
}

void ProposalQueue::set_state(uint64_t ticket, State state, Position position) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  found->second.state = state;
  found->second.position = position;
}

void ProposalQueue::answer(uint64_t ticket, ProposeResult result) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  // Taken out first: the callback may propose again.
  const Ticket taken = std::move(found->second);
  tickets_.erase(found);
  ticket_bytes_ -= taken.bytes;
  taken.done(std::move(result));
}

void ProposalQueue::answer_waiting(ProposeOutcome outcome, const std::string& words) {
  // Only those that wait now: callbacks may add more.
  const std::deque<Item> refused = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  for (const Item& item : refused) {
    ProposeResult result;
    result.outcome = outcome;
    result.words = words;
    answer(item.ticket, std::move(result));
  }
}

ProposeResult ProposalQueue::last_word(const Ticket& ticket, const std::string& words) {
  ProposeResult result;
  result.position = ticket.position;
  switch (ticket.state) {
    case State::kWaiting:
      result.outcome = ProposeOutcome::kUnreachable;
      result.words = words;
      break;
    case State::kHandedOver:
      result.outcome = ProposeOutcome::kUnknown;
      result.words = "handed to the log, which has not answered; the change may still happen";
      break;
    case State::kInLog:
      result.outcome = ProposeOutcome::kUnknown;
      result.words =
          "in the log at position " + std::to_string(ticket.position.value()) + ", not applied here yet";
      break;
  }
  return result;
}

void ProposalQueue::expire(uint64_t now_us, const std::string& unreachable_words) {
  while (!tickets_.empty() && tickets_.begin()->second.deadline_us <= now_us) {
    answer(tickets_.begin()->first, last_word(tickets_.begin()->second, unreachable_words));
  }
  drop_answered_front();
}

void ProposalQueue::answer_all(const std::string& words) {
  // Bounded: what a callback proposes now is refused by the replica, which has stopped.
  while (!tickets_.empty()) answer(tickets_.begin()->first, last_word(tickets_.begin()->second, words));
  drop_answered_front();
}

void ProposalQueue::drop_answered_front() {
  while (!waiting_.empty() && !tickets_.contains(waiting_.front().ticket)) {
    waiting_bytes_ -= waiting_.front().payload.size();
    waiting_.pop_front();
  }
}

}  // namespace waypost::replication
