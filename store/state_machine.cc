#include "store/state_machine.h"

#include "model/check.h"
#include "model/limits.h"
#include "model/mutant.h"
#include "store/control.h"
#include "store/keys.h"
#include "store/read_ahead.h"
#include "store/refuse.h"
#include "store/rules.h"

namespace waypost::store {
namespace {

constexpr size_t kMaxAuthorBytes = 128;

ProposalAnswer refused(Refusal refusal) {
  return {.refusal = std::move(refusal), .session = {}, .transaction = {}};
}

}  // namespace

StateMachine::StateMachine(const TableReader& base, const StateRow& row)
    : row_(row), state_(base), sessions_(base) {}

std::vector<std::string> StateMachine::apply(const EntryInput& entry) {
  WAYPOST_CHECK(entry.position == row_.stamp.position.next(), "entries are applied in order, none twice");
  change_rows_.clear();
  state_.begin_entry(row_.counts);
  std::vector<std::string> answers;
  answers.reserve(entry.proposals.size());
  for (uint32_t index = 0; index < entry.proposals.size(); ++index) {
    state_.begin_transaction();
    answers.push_back(encode(apply_proposal(entry, index)));
    add_to_digests(false);
  }
  row_.counts = state_.counts();
  row_.stamp.position = entry.position;
  row_.stamp.chain = entry.chain;
  return answers;
}

ProposalAnswer StateMachine::apply_proposal(const EntryInput& entry, uint32_t index) {
  auto decoded = decode_proposal(entry.proposals[index]);
  if (!decoded.ok()) return refused(refuse(RefusalCode::kMalformed, decoded.error().message));
  const Proposal& proposal = *decoded;
  if (proposal.author.size() > kMaxAuthorBytes)
    return refused(refuse(RefusalCode::kMalformed, std::string("an author has at most 128 bytes")));
  if (auto refusal = check_proposer(state_.overlay(), proposal)) return refused(std::move(*refusal));
  const UsedAt now{entry.position.value(), index};
  if (const auto* open = std::get_if<OpenSession>(&proposal.body))
    return {.refusal = {}, .session = sessions_.open(state_.overlay(), now, open->random), .transaction = {}};
  if (const auto* request = std::get_if<SessionTransaction>(&proposal.body))
    return execute(entry, index, proposal, *request, transaction_bytes(entry.proposals[index]));
  ProposalAnswer answer;
  answer.refusal = std::visit(
      [this](const auto& change) -> std::optional<Refusal> {
        using Change = std::decay_t<decltype(change)>;
        if constexpr (std::is_same_v<Change, OpenSession> || std::is_same_v<Change, SessionTransaction>)
          return std::nullopt;
        else
          return store::execute(state_.overlay(), change);
      },
      proposal.body);
  return answer;
}

ProposalAnswer StateMachine::execute(const EntryInput& entry, uint32_t index, const Proposal& proposal,
                                     const SessionTransaction& request, std::string_view bytes) {
  const UsedAt now{entry.position.value(), index};
  const Hash128 hash = hash128(bytes);
  Overlay& overlay = state_.overlay();
  auto decision = sessions_.admit(overlay, now, entry.time_us, request.session, request.number, hash);
  if (decision.answer) return std::move(*decision.answer);
  ProposalAnswer answer;
  if (request.transaction.chained && !decision.previous_complete) {
    answer.refusal = refuse(RefusalCode::kPreviousIncomplete, decision.previous);
  } else {
    answer.transaction = execute(request.transaction);
    record_changes(entry, proposal.author);
    answer.transaction->revision = row_.stamp.revision;
  }
  sessions_.keep(overlay, now, request.session, request.number, hash, answer);
  return answer;
}

TransactionAnswer StateMachine::execute(const Transaction& transaction) {
  TransactionAnswer answer;
  const WorkingState::Mark start = state_.mark();
  ReadAhead read_ahead(state_.overlay(), transaction.commands);
  for (uint32_t index = 0; index < transaction.commands.size(); ++index) {
    read_ahead.before(index);
    const WorkingState::Mark before = state_.mark();
    CommandResult result = store::execute(state_, transaction.commands[index]);
    if (!result.refusal && state_.rows_changed() > limits::kMaxChangesPerTransaction)
      result.refusal = refuse(RefusalCode::kTooManyChanges, uint64_t{state_.rows_changed()},
                              uint64_t{limits::kMaxChangesPerTransaction});
    if (!result.refusal) {
      result.skipped ? ++answer.skipped : ++answer.applied;
      if (result.assigned) answer.assigned_ids.emplace_back(index, *result.assigned);
      continue;
    }
    const bool all = transaction.on_refusal == OnRefusal::kAbort;
    if (!mutant("half_applied")) state_.rollback(all ? start : before);
    answer.refusals.push_back({.index = index, .refusal = std::move(*result.refusal)});
    if (all) {
      answer.applied = answer.skipped = 0;
      answer.assigned_ids.clear();
    }
    if (transaction.on_refusal != OnRefusal::kContinue) break;
  }
  state_.remove_unused();
  return answer;
}

// The revision rises where a data row has another value than before the transaction.
void StateMachine::record_changes(const EntryInput& entry, const std::string& author) {
  const Hash128 before = row_.stamp.data_digest;
  add_to_digests(true);
  bool any = false;
  for (const Overlay::Touched& each : state_.overlay().touched())
    any |= is_data(each.table) &&
           (each.row->present != each.row->before_present || each.row->value != each.row->before);
  WAYPOST_CHECK(any || before == row_.stamp.data_digest, "a digest changes with its rows");
  if (!any) return;
  row_.stamp.revision = row_.stamp.revision.next();
  const size_t first = change_rows_.size();
  write_changes(row_.stamp.revision,
                {.position = entry.position,
                 .time_us = entry.time_us,
                 .author = author,
                 .digest = row_.stamp.data_digest,
                 .history_bytes = row_.history_bytes},
                state_.overlay().touched(), &change_rows_);
  for (size_t i = first; i < change_rows_.size(); ++i)
    row_.history_bytes += change_rows_[i].first.size() + change_rows_[i].second.size();
}

void StateMachine::add_to_digests(bool data) {
  for (const Overlay::Touched& each : state_.overlay().touched()) {
    if (is_data(each.table) != data) continue;
    if (mutant("digest_forgets_nexthops") && each.table == Table::kNexthop) continue;
    const Overlay::Row& row = *each.row;
    if (row.present == row.before_present && row.value == row.before) continue;
    Hash128& digest = data ? row_.stamp.data_digest : row_.stamp.control_digest;
    if (row.before_present) digest -= row_digest(each.table, each.key, row.before);
    if (row.present) digest += row_digest(each.table, each.key, row.value);
  }
}

}  // namespace waypost::store
