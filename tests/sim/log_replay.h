// What must have come of a log, by a second and plain set of rules: tests/store's oracle for the data, a
// ledger of request numbers for exactly once. Every answer that a client was given is held against it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/transaction.h"
#include "tests/store/oracle.h"

namespace waypost::sim {

using Place = std::pair<uint64_t, uint32_t>;  // position, index in the entry

class LogReplay {
 public:
  // The whole log, from position 1 on.
  explicit LogReplay(const std::map<uint64_t, std::string>& entries);

  // The answer that the proposal at a place must have had; null where there is none.
  const ProposalAnswer* answer_at(Place place) const;
  // Where a request was executed: the first place of its number that was not refused as a whole.
  std::optional<Place> executed(const SessionId& session, uint64_t number) const;
  bool in_log(const SessionId& session, uint64_t number) const;
  // The canonical row of a nexthop after a position; empty: absent.
  std::string nexthop_at(NexthopId id, uint64_t position) const;

  Hash128 data_digest() const { return oracle_.data_digest(); }
  uint64_t duplicates() const { return duplicates_; }
  const std::string& wrong() const { return wrong_; }

 private:
  struct Session {
    uint64_t last = 0;
    bool complete = true;
    struct Kept {
      Hash128 request;
      ProposalAnswer answer;
    };
    std::map<uint64_t, Kept> answers;
  };
  using Request = std::pair<SessionId, uint64_t>;

  ProposalAnswer run(const Proposal& proposal, Place place, std::string_view bytes);
  ProposalAnswer run(const SessionTransaction& request, Place place, std::string_view bytes);
  std::optional<Refusal> run_control(const Proposal& proposal);
  void note_rows(uint64_t position);

  store::Oracle oracle_;
  std::map<SessionId, Session> sessions_;
  std::map<std::string, uint64_t> members_;  // incarnation by name
  std::map<Place, ProposalAnswer> answers_;
  std::map<Request, Place> executed_;
  std::map<Request, Place> seen_;
  std::map<uint32_t, std::map<uint64_t, std::string>> rows_;  // by nexthop id, then position
  std::map<uint32_t, std::string> newest_;
  uint64_t duplicates_ = 0;
  std::string wrong_;
};

}  // namespace waypost::sim
