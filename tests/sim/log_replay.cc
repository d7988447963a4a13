#include "tests/sim/log_replay.h"

#include "model/limits.h"
#include "replication/entry.h"

namespace waypost::sim {
namespace {

ProposalAnswer refused(RefusalCode code, std::vector<std::string> arguments) {
  ProposalAnswer answer;
  answer.refusal = Refusal{code, std::move(arguments)};
  return answer;
}

}  // namespace

LogReplay::LogReplay(const std::map<uint64_t, std::string>& entries) {
  Hash128 previous;
  uint64_t expected = 1;
  for (const auto& [position, bytes] : entries) {
    const auto entry = replication::decode_entry(bytes);
    if (!entry.ok() || position != expected++ || entry->position.value() != position ||
        entry->previous != previous) {
      wrong_ = "the log is not one chain at position " + std::to_string(position);
      return;
    }
    previous = replication::entry_hash(bytes);
    for (uint32_t index = 0; index < entry->proposals.size(); ++index) {
      const auto proposal = decode_proposal(entry->proposals[index]);
      if (!proposal.ok()) {
        wrong_ = "a proposal in the log cannot be read: " + proposal.error().message;
        return;
      }
      const Place place{position, index};
      answers_[place] = run(*proposal, place, transaction_bytes(entry->proposals[index]));
    }
    note_rows(position);
  }
}

ProposalAnswer LogReplay::run(const Proposal& proposal, Place place, std::string_view bytes) {
  if (!proposal.member.empty()) {
    const auto member = members_.find(proposal.member);
    if (member == members_.end()) return refused(RefusalCode::kMemberUnknown, {proposal.member});
    if (proposal.incarnation < member->second)
      return refused(RefusalCode::kMemberSuperseded, {proposal.member, std::to_string(member->second)});
  }
  if (const auto* open = std::get_if<OpenSession>(&proposal.body)) {
    ProposalAnswer answer;
    answer.session =
        SessionId{.position = Position(place.first), .index = place.second, .random = open->random};
    sessions_[*answer.session] = {};
    return answer;
  }
  if (const auto* request = std::get_if<SessionTransaction>(&proposal.body))
    return run(*request, place, bytes);
  ProposalAnswer answer;
  answer.refusal = run_control(proposal);
  return answer;
}

ProposalAnswer LogReplay::run(const SessionTransaction& request, Place place, std::string_view bytes) {
  const auto found = sessions_.find(request.session);
  if (found == sessions_.end()) return refused(RefusalCode::kUnknownSession, {});
  Session& session = found->second;
  const Hash128 hash = hash128(bytes);
  const std::string number = std::to_string(request.number);
  seen_.emplace(Request{request.session, request.number}, place);
  if (request.number > session.last + 1)
    return refused(RefusalCode::kSessionGap, {std::to_string(session.last + 1), number});
  if (request.number <= session.last) {
    if (request.number == 0 || request.number + limits::kSessionWindow <= session.last)
      return refused(RefusalCode::kAnswerForgotten, {number});
    const Session::Kept& kept = session.answers.at(request.number);
    if (kept.request != hash) return refused(RefusalCode::kNumberReused, {number});
    ++duplicates_;
    return kept.answer;
  }
  ProposalAnswer answer;
  if (request.transaction.chained && !session.complete) {
    answer.refusal = Refusal{RefusalCode::kPreviousIncomplete, {std::to_string(session.last)}};
  } else {
    answer.transaction = oracle_.run(request.transaction);
  }
  session.complete = !answer.refusal && answer.transaction->refusals.empty();
  session.last = request.number;
  session.answers[request.number] = {hash, answer};
  executed_[{request.session, request.number}] = place;
  return answer;
}

std::optional<Refusal> LogReplay::run_control(const Proposal& proposal) {
  if (const auto* add = std::get_if<AddMember>(&proposal.body)) {
    if (members_.contains(add->name)) return Refusal{RefusalCode::kMemberExists, {add->name}};
    members_[add->name] = 0;
  } else if (const auto* remove = std::get_if<RemoveMember>(&proposal.body)) {
    if (members_.erase(remove->name) == 0) return Refusal{RefusalCode::kMemberUnknown, {remove->name}};
  } else if (const auto* claim = std::get_if<ClaimIncarnation>(&proposal.body)) {
    const auto member = members_.find(claim->name);
    if (member == members_.end()) return Refusal{RefusalCode::kMemberUnknown, {claim->name}};
    if (claim->incarnation < member->second)
      return Refusal{RefusalCode::kMemberSuperseded, {claim->name, std::to_string(member->second)}};
    member->second = claim->incarnation;
  } else {
    wrong_ = "the simulation proposes no such thing";
  }
  return std::nullopt;
}

void LogReplay::note_rows(uint64_t position) {
  std::map<uint32_t, std::string> now = oracle_.nexthop_rows();
  for (const auto& [id, row] : now)
    if (newest_[id] != row) rows_[id][position] = newest_[id] = row;
  for (auto& [id, row] : newest_)
    if (!row.empty() && !now.contains(id)) rows_[id][position] = row = std::string();
}

const ProposalAnswer* LogReplay::answer_at(Place place) const {
  const auto found = answers_.find(place);
  return found == answers_.end() ? nullptr : &found->second;
}

std::optional<Place> LogReplay::executed(const SessionId& session, uint64_t number) const {
  const auto found = executed_.find({session, number});
  return found == executed_.end() ? std::nullopt : std::optional(found->second);
}

bool LogReplay::in_log(const SessionId& session, uint64_t number) const {
  return seen_.contains({session, number});
}

std::string LogReplay::nexthop_at(NexthopId id, uint64_t position) const {
  const auto rows = rows_.find(id.value());
  if (rows == rows_.end()) return {};
  auto row = rows->second.upper_bound(position);
  return row == rows->second.begin() ? std::string() : std::prev(row)->second;
}

}  // namespace waypost::sim
