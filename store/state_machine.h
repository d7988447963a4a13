// apply as a function of state and entry: no clock, no randomness, no disk. What it decides lies in the
// overlay and the change rows until the store has written them as one batch. One thread.
#pragma once

#include <string>
#include <vector>

#include "store/history.h"
#include "store/sessions.h"
#include "store/state_row.h"
#include "store/working_state.h"

namespace waypost::store {

class StateMachine {
 public:
  StateMachine(const TableReader& base, const StateRow& row);

  // One encoded ProposalAnswer per proposal. Precondition: the position is the next one, and what the last
  // call decided is in the base.
  std::vector<std::string> apply(const EntryInput& entry);

  const StateRow& row() const { return row_; }
  const Overlay& overlay() const { return state_.overlay(); }
  const ChangeRows& change_rows() const { return change_rows_; }
  size_t session_count() const { return sessions_.count(); }
  // The batch is written.
  void committed() { state_.committed(); }

 private:
  ProposalAnswer apply_proposal(const EntryInput& entry, uint32_t index);
  ProposalAnswer execute(const EntryInput& entry, uint32_t index, const Proposal& proposal,
                         const SessionTransaction& request, std::string_view bytes);
  TransactionAnswer execute(const Transaction& transaction);
  void record_changes(const EntryInput& entry, const std::string& author);
  void add_to_digests(bool data);

  StateRow row_;
  WorkingState state_;
  Sessions sessions_;
  ChangeRows change_rows_;
};

}  // namespace waypost::store
