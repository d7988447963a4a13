// What clients asked for and is not answered yet: the payloads that wait for an append, in order of arrival,
// and a ticket for each one until it is answered or its deadline passes. Used by the replica on its thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "replication/replica.h"

namespace waypost::replication {

class ProposalQueue {
 public:
  using Done = std::function<void(ProposeResult)>;
  struct Item {
    uint64_t ticket = 0;
    std::string payload;
  };

  explicit ProposalQueue(uint64_t timeout_us) : timeout_us_(timeout_us) {}

  // False at the bounds of kMaxQueuedProposals and kMaxQueuedProposalBytes, which count all unanswered
  // proposals.
  bool takes(size_t payload_bytes) const;
  void push(std::string payload, Done done, uint64_t now_us);

  // The oldest waiting ones that fit an entry of max_bytes (at least one where one waits).
  std::vector<Item> take(size_t max_bytes);
  // Back to the front, in order; those that were answered meanwhile are dropped.
  void give_back(std::vector<Item> items);

  // What the answer will say when the deadline passes.
  void handed_over(uint64_t ticket) { set_state(ticket, State::kHandedOver, Position()); }
  void not_handed_over(uint64_t ticket) { set_state(ticket, State::kWaiting, Position()); }
  void in_log(uint64_t ticket, Position position) { set_state(ticket, State::kInLog, position); }

  // Answers once; later calls for the same ticket do nothing.
  void answer(uint64_t ticket, ProposeResult result);
  void answer_waiting(ProposeOutcome outcome, const std::string& words);
  void expire(uint64_t now_us, const std::string& unreachable_words);
  void answer_all(const std::string& words);

  size_t unanswered() const { return tickets_.size(); }
  size_t waiting_bytes() const { return waiting_bytes_; }
  // When the oldest ticket expires; 0: there is none.
  uint64_t next_deadline_us() const { return tickets_.empty() ? 0 : tickets_.begin()->second.deadline_us; }

 private:
  enum class State { kWaiting, kHandedOver, kInLog };
  struct Ticket {
    Done done;
    uint64_t deadline_us = 0;
    size_t bytes = 0;
    State state = State::kWaiting;
    Position position;
  };
  void set_state(uint64_t ticket, State state, Position position);
  // What is true of a ticket that nobody will answer any more.
  static ProposeResult last_word(const Ticket& ticket, const std::string& words);
  void drop_answered_front();

  const uint64_t timeout_us_;
  uint64_t next_ticket_ = 1;
  // In order of arrival, so, with one timeout for all, also of deadlines.
  std::map<uint64_t, Ticket> tickets_;
  std::deque<Item> waiting_;  // increasing tickets
  size_t waiting_bytes_ = 0;  // of waiting_
  size_t ticket_bytes_ = 0;   // of tickets_
};

}  // namespace waypost::replication
