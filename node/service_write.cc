// Changes: handed to the replica, answered when applied.
#include "model/bytes.h"
#include "model/transaction.h"
#include "node/membership.h"
#include "node/parts_internal.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

constexpr uint32_t kBusyRetryMs = 20;
constexpr uint32_t kJoiningRetryMs = 200;

// Field numbers of waypost.pb.Proposal (model/transaction.proto).
constexpr uint64_t kAuthor = 1, kMember = 2, kIncarnation = 3, kOpenSession = 4, kSessionTransaction = 5;
constexpr uint64_t kVarint = 0, kBytes = 2;

// What a client may propose is told from the outermost fields alone: a transaction of a thousand routes is
// not decoded on the order thread. Whatever else is wrong with it, apply refuses.
bool is_client_proposal(std::string_view bytes) {
  ByteReader reader(bytes);
  size_t bodies = 0;
  while (!reader.rest().empty()) {
    const uint64_t tag = reader.varint();
    const uint64_t field = tag >> 3, wire_type = tag & 7;
    if (wire_type == kVarint && field == kIncarnation) {
      reader.varint();
    } else if (wire_type == kBytes && (field == kAuthor || field == kMember)) {
      reader.sized();
    } else if (wire_type == kBytes && (field == kOpenSession || field == kSessionTransaction)) {
      reader.sized();
      ++bodies;
    } else {
      return false;
    }
  }
  return reader.done() && bodies == 1;
}

// The last occurrence of a field counts, so who proposes is whoever wrote last: this node.
void sign(std::string& proposal, const std::string& member, uint64_t incarnation) {
  append_varint(proposal, kMember << 3 | kBytes);
  append_sized(proposal, member);
  append_varint(proposal, kIncarnation << 3 | kVarint);
  append_varint(proposal, incarnation);
}

void answer(const SharedCall& call, replication::ProposeResult result) {
  using replication::ProposeOutcome;
  switch (result.outcome) {
    case ProposeOutcome::kApplied: {
      rpc::End end;
      end.mutable_propose()->set_answer(std::move(result.answer));
      end.mutable_propose()->set_position(result.position.value());
      end.mutable_propose()->set_index(result.index);
      return call->finish(std::move(end));
    }
    case ProposeOutcome::kRefused:
      return call->fail({ErrorCode::kResourceExhausted, result.words, ""}, result.busy ? kBusyRetryMs : 0);
    case ProposeOutcome::kUnreachable:
      return call->fail({ErrorCode::kUnavailable, result.words,
                         "nothing was changed; `waypost cluster status` says how the log is"});
    case ProposeOutcome::kUnknown:
      return call->fail({ErrorCode::kOutcomeUnknown, result.words, "the same transaction may be sent again"});
    case ProposeOutcome::kHalted:
      return call->fail(
          {ErrorCode::kFailedPrecondition, result.words, "`waypost cluster status` says what to do"});
  }
}

void propose(Parts& parts, const SharedCall& call, std::string proposal) {
  if (const std::optional<Error> refused = parts.membership.refusal()) return call->fail(*refused);
  if (const std::optional<Error> full = parts.space.refusal()) return call->fail(*full);
  if (const std::string halted = parts.replica.status().halted; !halted.empty())
    return call->fail({ErrorCode::kFailedPrecondition, halted, ""});
  if (!parts.membership.enrolled()) {
    return call->fail(
        {ErrorCode::kUnavailable, "member " + parts.config.name + " is still joining its cluster",
         "ask another member, or wait"},
        kJoiningRetryMs);
  }
  if (parts.membership.signs()) sign(proposal, parts.config.name, parts.membership.incarnation());
  parts.replica.propose(std::move(proposal),
                        [call](replication::ProposeResult result) { answer(call, std::move(result)); });
}

}  // namespace

void serve_propose(Parts& parts, SharedCall call) {
  const std::string& proposal = call->request().propose().proposal();
  if (!is_client_proposal(proposal)) {
    return call->fail(
        {ErrorCode::kInvalidArgument, "a proposal of a client is a session or a transaction in one", ""});
  }
  propose(parts, call, proposal);
}

void serve_control(Parts& parts, SharedCall call) {
  Result<Proposal> proposal = decode_proposal(call->request().control().proposal());
  if (!proposal.ok()) return call->fail(proposal.error());
  const bool allowed = std::holds_alternative<SetSetting>(proposal->body) ||
                       std::holds_alternative<RaiseRulesLevel>(proposal->body) ||
                       std::holds_alternative<AddMember>(proposal->body) ||
                       std::holds_alternative<RemoveMember>(proposal->body);
  if (!allowed) {
    return call->fail({ErrorCode::kInvalidArgument, "this is no change of settings or members", ""});
  }
  proposal->member.clear();
  proposal->incarnation = 0;
  propose(parts, call, encode(*proposal));
}

}  // namespace waypost::node
