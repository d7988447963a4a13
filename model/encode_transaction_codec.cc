// Transactions, proposals and answers to the messages of transaction.proto; the way back is
// decode_transaction_codec.cc. Rows inside them are in the canonical form of row_codec.h.
#include <google/protobuf/arena.h>

#include "model/row_codec.h"
#include "model/transaction.h"
#include "model/transaction.pb.h"

namespace waypost {
namespace {

void put_paths(const std::vector<InlinePath>& paths, google::protobuf::RepeatedPtrField<pb::Path>* out) {
  for (const InlinePath& path : paths) {
    pb::Path* message = out->Add();
    message->set_nexthop(encode_nexthop_value({.id = {}, .protocol = 0, .body = path.nexthop}));
    message->set_weight(path.weight);
  }
}

void put_command(const PutNexthop& command, pb::Command* out) {
  pb::PutNexthop* message = out->mutable_put_nexthop();
  message->set_verb(static_cast<uint32_t>(command.verb));
  message->mutable_object()->set_id(command.object.id.value());
  message->mutable_object()->set_value(encode_nexthop_value(command.object));
}

void put_command(const DeleteNexthop& command, pb::Command* out) {
  pb::DeleteNexthop* message = out->mutable_delete_nexthop();
  message->set_id(command.id.value());
  message->set_cascade(command.cascade);
}

void put_command(const PutRoute& command, pb::Command* out) {
  pb::PutRoute* message = out->mutable_put_route();
  message->set_verb(static_cast<uint32_t>(command.verb));
  append_route_key(*message->mutable_route()->mutable_key(), command.route.key);
  message->mutable_route()->set_value(encode_route_value(command.route));
  put_paths(command.paths, message->mutable_paths());
}

void put_command(const DeleteRoute& command, pb::Command* out) {
  pb::DeleteRoute* message = out->mutable_delete_route();
  append_route_key(*message->mutable_key(), {.table = command.table,
                                             .prefix = command.prefix,
                                             .tos = command.tos,
                                             .metric = command.metric.value_or(0)});
  message->set_has_metric(command.metric.has_value());
  if (command.type) message->set_type(static_cast<uint32_t>(*command.type));
  if (command.protocol) message->set_protocol(*command.protocol);
  if (command.scope) message->set_scope(*command.scope);
  if (command.nexthop) message->set_nexthop(command.nexthop->value());
  if (command.prefsrc) {
    const auto bytes = command.prefsrc->used();
    message->set_prefsrc(bytes.data(), bytes.size());
  }
  put_paths(command.paths, message->mutable_paths());
}

void put_command(const GuardedNexthop& command, pb::Command* out) {
  pb::GuardedNexthop* message = out->mutable_guarded_nexthop();
  message->set_id(command.id.value());
  message->set_expected(command.expected);
  if (command.value) message->set_value(encode_nexthop_value(*command.value));
}

void put_command(const GuardedRoute& command, pb::Command* out) {
  pb::GuardedRoute* message = out->mutable_guarded_route();
  append_route_key(*message->mutable_key(), command.key);
  message->set_expected(command.expected);
  if (command.value) message->set_value(encode_route_value(*command.value));
  put_paths(command.paths, message->mutable_paths());
}

void put_transaction(const Transaction& transaction, pb::Transaction* out) {
  out->set_on_refusal(static_cast<uint32_t>(transaction.on_refusal));
  out->set_chained(transaction.chained);
  for (const Command& command : transaction.commands)
    std::visit([&](const auto& alternative) { put_command(alternative, out->add_commands()); }, command);
}

void put_session(const SessionId& session, pb::SessionId* out) {
  out->set_position(session.position.value());
  out->set_index(session.index);
  out->set_random(session.random.data(), session.random.size());
}

void put_body(const OpenSession& body, pb::Proposal* out) {
  out->mutable_open_session()->set_random(body.random.data(), body.random.size());
}

void put_body(const SessionTransaction& body, pb::Proposal* out) {
  pb::SessionTransaction* message = out->mutable_session_transaction();
  put_session(body.session, message->mutable_session());
  message->set_number(body.number);
  put_transaction(body.transaction, message->mutable_transaction());
}

void put_body(const SetSetting& body, pb::Proposal* out) {
  out->mutable_set_setting()->set_name(body.name);
  out->mutable_set_setting()->set_value(body.value);
}

void put_body(const RaiseRulesLevel& body, pb::Proposal* out) {
  out->mutable_raise_rules_level()->set_level(body.level);
}

void put_body(const AddMember& body, pb::Proposal* out) {
  out->mutable_add_member()->set_name(body.name);
  out->mutable_add_member()->set_address(body.address);
}

void put_body(const RemoveMember& body, pb::Proposal* out) {
  out->mutable_remove_member()->set_name(body.name);
}

void put_body(const ClaimIncarnation& body, pb::Proposal* out) {
  out->mutable_claim_incarnation()->set_name(body.name);
  out->mutable_claim_incarnation()->set_incarnation(body.incarnation);
}

void put_refusal(const Refusal& refusal, pb::Refusal* out) {
  out->set_code(static_cast<uint32_t>(refusal.code));
  for (const std::string& argument : refusal.arguments) out->add_arguments(argument);
}

void put_answer(const TransactionAnswer& answer, pb::TransactionAnswer* out) {
  out->set_revision(answer.revision.value());
  out->set_applied(answer.applied);
  out->set_skipped(answer.skipped);
  for (const CommandRefusal& refusal : answer.refusals) {
    pb::CommandRefusal* message = out->add_refusals();
    message->set_index(refusal.index);
    put_refusal(refusal.refusal, message->mutable_refusal());
  }
  for (const auto& [index, id] : answer.assigned_ids) {
    pb::AssignedId* message = out->add_assigned_ids();
    message->set_index(index);
    message->set_id(id.value());
  }
}

template <typename Message, typename Write>
std::string encode_message(Write&& write) {
  google::protobuf::Arena arena;
  auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena);
  write(message);
  return message->SerializeAsString();
}

}  // namespace

std::string encode(const Proposal& proposal) {
  return encode_message<pb::Proposal>([&](pb::Proposal* message) {
    message->set_author(proposal.author);
    message->set_member(proposal.member);
    message->set_incarnation(proposal.incarnation);
    std::visit([&](const auto& body) { put_body(body, message); }, proposal.body);
  });
}

std::string encode(const Transaction& transaction) {
  return encode_message<pb::Transaction>(
      [&](pb::Transaction* message) { put_transaction(transaction, message); });
}

std::string encode(const ProposalAnswer& answer) {
  return encode_message<pb::ProposalAnswer>([&](pb::ProposalAnswer* message) {
    if (answer.refusal) put_refusal(*answer.refusal, message->mutable_refusal());
    if (answer.session) put_session(*answer.session, message->mutable_session());
    if (answer.transaction) put_answer(*answer.transaction, message->mutable_transaction());
  });
}

}  // namespace waypost
