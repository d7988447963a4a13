// The messages of transaction.proto to transactions, proposals and answers; encode_transaction_codec.cc wrote
// them.
//
// Decoding is strict: a field that this version does not know, a number outside its bounds, a row that no
// encoder wrote, or a message that is not written the shortest way is refused, so that no two versions can
// read two things from one entry.
#include <google/protobuf/arena.h>

#include "model/limits.h"
#include "model/row_codec.h"
#include "model/transaction.h"
#include "model/transaction.pb.h"

namespace waypost {
namespace {

constexpr size_t kSessionRandomBytes = 16;
constexpr uint32_t kVerbLast = static_cast<uint32_t>(Verb::kPrepend);
constexpr uint32_t kOnRefusalLast = static_cast<uint32_t>(OnRefusal::kContinue);

// The first thing wrong is kept in words; callers read on and ask once at the end.

class Decoder {
 public:
  bool ok() const { return wrong_.empty(); }
  Error error() const { return {.code = ErrorCode::kInvalidArgument, .message = wrong_}; }

  void fail(std::string words) {
    if (ok()) wrong_ = std::move(words);
  }

  template <typename Message>
  void expect_known(const Message& message) {
    if (!message.GetReflection()->GetUnknownFields(message).empty())
      fail("a field of " + message.GetTypeName() + " is not known here");
  }

  // A number that must lie in first..last.
  uint32_t bounded(uint32_t number, uint32_t first, uint32_t last, const char* what) {
    if (number < first || number > last)
      fail(std::string(what) + " " + std::to_string(number) + " is out of bounds");
    return number;
  }

  template <typename T>
  T row(Result<T> result) {
    if (result.ok()) return std::move(result).value();
    fail(result.error().message);
    return {};
  }

  RouteKey route_key(std::string_view bytes) {
    const auto key = decode_route_key(bytes);
    if (!key) fail("a route key follows no known form");
    return key.value_or(RouteKey{});
  }

  std::vector<InlinePath> paths(const google::protobuf::RepeatedPtrField<pb::Path>& messages) {
    std::vector<InlinePath> paths;
    bounded(static_cast<uint32_t>(messages.size()), 0, limits::kMaxGroupMembers, "a number of paths of");
    if (!ok()) return paths;
    paths.reserve(static_cast<size_t>(messages.size()));
    for (const pb::Path& message : messages) {
      expect_known(message);
      NexthopObject object = row(decode_nexthop_value({}, message.nexthop()));
      if (object.is_group() || object.protocol != 0) fail("a path is not a single nexthop");
      const uint32_t weight = bounded(message.weight(), 0, limits::kMaxWeight, "the weight");
      if (!ok()) return paths;
      paths.push_back(
          {.nexthop = std::move(std::get<Nexthop>(object.body)), .weight = static_cast<uint16_t>(weight)});
    }
    return paths;
  }

  Verb verb(uint32_t number) { return static_cast<Verb>(bounded(number, 1, kVerbLast, "verb")); }

  PutNexthop command(const pb::PutNexthop& message) {
    expect_known(message);
    expect_known(message.object());
    return {.verb = verb(message.verb()),
            .object = row(decode_nexthop_value(NexthopId(message.object().id()), message.object().value()))};
  }

  DeleteNexthop command(const pb::DeleteNexthop& message) {
    expect_known(message);
    return {.id = NexthopId(message.id()), .cascade = message.cascade()};
  }

  PutRoute command(const pb::PutRoute& message) {
    expect_known(message);
    expect_known(message.route());
    const RouteKey key = route_key(message.route().key());
    return {.verb = verb(message.verb()),
            .route = row(decode_route_value(key, message.route().value())),
            .paths = paths(message.paths())};
  }

  std::optional<uint8_t> byte(bool present, uint32_t number, const char* what) {
    if (!present) return std::nullopt;
    return static_cast<uint8_t>(bounded(number, 0, UINT8_MAX, what));
  }

  std::optional<IpAddress> address(std::string_view bytes) {
    if (bytes.empty()) return std::nullopt;
    IpAddress address{.family = bytes.size() == 4 ? Family::kIpv4 : Family::kIpv6};
    if (bytes.size() != address.used().size()) {
      fail("an address has 4 or 16 bytes");
      return std::nullopt;
    }
    for (size_t i = 0; i < bytes.size(); ++i) address.bytes[i] = static_cast<uint8_t>(bytes[i]);
    return address;
  }

  DeleteRoute command(const pb::DeleteRoute& message) {
    expect_known(message);
    const RouteKey key = route_key(message.key());
    if (!message.has_metric() && key.metric != 0) fail("a metric is given and not given");
    DeleteRoute command;
    command.table = key.table;
    command.prefix = key.prefix;
    command.tos = key.tos;
    if (message.has_metric()) command.metric = key.metric;
    if (const auto type = byte(message.has_type(), message.type(), "type"))
      command.type = static_cast<RouteType>(*type);
    command.protocol = byte(message.has_protocol(), message.protocol(), "protocol");
    command.scope = byte(message.has_scope(), message.scope(), "scope");
    if (message.has_nexthop()) command.nexthop = NexthopId(message.nexthop());
    command.prefsrc = address(message.prefsrc());
    command.paths = paths(message.paths());
    return command;
  }

  GuardedNexthop command(const pb::GuardedNexthop& message) {
    expect_known(message);
    GuardedNexthop command{.id = NexthopId(message.id()), .expected = message.expected(), .value = {}};
    if (!message.value().empty()) command.value = row(decode_nexthop_value(command.id, message.value()));
    return command;
  }

  GuardedRoute command(const pb::GuardedRoute& message) {
    expect_known(message);
    GuardedRoute command{
        .key = route_key(message.key()), .expected = message.expected(), .value = {}, .paths = {}};
    if (!message.value().empty()) command.value = row(decode_route_value(command.key, message.value()));
    command.paths = paths(message.paths());
    return command;
  }

  Command command(const pb::Command& message) {
    expect_known(message);
    switch (message.body_case()) {
      case pb::Command::kPutNexthop:
        return command(message.put_nexthop());
      case pb::Command::kDeleteNexthop:
        return command(message.delete_nexthop());
      case pb::Command::kPutRoute:
        return command(message.put_route());
      case pb::Command::kDeleteRoute:
        return command(message.delete_route());
      case pb::Command::kGuardedNexthop:
        return command(message.guarded_nexthop());
      case pb::Command::kGuardedRoute:
        return command(message.guarded_route());
      case pb::Command::BODY_NOT_SET:
        break;
    }
    fail("a command of no known kind");
    return {};
  }

  Transaction transaction(const pb::Transaction& message) {
    expect_known(message);
    Transaction transaction;
    transaction.on_refusal =
        static_cast<OnRefusal>(bounded(message.on_refusal(), 0, kOnRefusalLast, "on_refusal"));
    transaction.chained = message.chained();
    bounded(static_cast<uint32_t>(message.commands_size()), 0, limits::kMaxChangesPerTransaction,
            "a number of commands of");
    if (!ok()) return transaction;
    transaction.commands.reserve(static_cast<size_t>(message.commands_size()));
    for (const pb::Command& each : message.commands()) {
      transaction.commands.push_back(command(each));
      if (!ok()) break;
    }
    return transaction;
  }

  std::array<uint8_t, kSessionRandomBytes> random(std::string_view bytes) {
    std::array<uint8_t, kSessionRandomBytes> random = {};
    if (bytes.size() != random.size()) fail("a session has 16 random bytes");
    for (size_t i = 0; i < random.size() && ok(); ++i) random[i] = static_cast<uint8_t>(bytes[i]);
    return random;
  }

  SessionId session(const pb::SessionId& message) {
    expect_known(message);
    return {.position = Position(message.position()),
            .index = message.index(),
            .random = random(message.random())};
  }

  void body(const pb::Proposal& message, Proposal* proposal);

  Refusal refusal(const pb::Refusal& message) {
    expect_known(message);
    return {.code = static_cast<RefusalCode>(bounded(message.code(), 1, UINT16_MAX, "refusal code")),
            .arguments = {message.arguments().begin(), message.arguments().end()}};
  }

  TransactionAnswer answer(const pb::TransactionAnswer& message) {
    expect_known(message);
    TransactionAnswer answer{.revision = Revision(message.revision()),
                             .applied = message.applied(),
                             .skipped = message.skipped(),
                             .refusals = {},
                             .assigned_ids = {}};
    for (const pb::CommandRefusal& each : message.refusals()) {
      expect_known(each);
      answer.refusals.push_back({.index = each.index(), .refusal = refusal(each.refusal())});
    }
    for (const pb::AssignedId& each : message.assigned_ids()) {
      expect_known(each);
      answer.assigned_ids.emplace_back(each.index(), NexthopId(each.id()));
    }
    return answer;
  }

 private:
  std::string wrong_;
};

void Decoder::body(const pb::Proposal& message, Proposal* proposal) {
  switch (message.body_case()) {
    case pb::Proposal::kOpenSession:
      expect_known(message.open_session());
      proposal->body = OpenSession{.random = random(message.open_session().random())};
      return;
    case pb::Proposal::kSessionTransaction:
      expect_known(message.session_transaction());
      proposal->body =
          SessionTransaction{.session = session(message.session_transaction().session()),
                             .number = message.session_transaction().number(),
                             .transaction = transaction(message.session_transaction().transaction())};
      return;
    case pb::Proposal::kSetSetting:
      expect_known(message.set_setting());
      proposal->body =
          SetSetting{.name = message.set_setting().name(), .value = message.set_setting().value()};
      return;
    case pb::Proposal::kRaiseRulesLevel:
      expect_known(message.raise_rules_level());
      proposal->body = RaiseRulesLevel{.level = message.raise_rules_level().level()};
      return;
    case pb::Proposal::kAddMember:
      expect_known(message.add_member());
      proposal->body =
          AddMember{.name = message.add_member().name(), .address = message.add_member().address()};
      return;
    case pb::Proposal::kRemoveMember:
      expect_known(message.remove_member());
      proposal->body = RemoveMember{.name = message.remove_member().name()};
      return;
    case pb::Proposal::kClaimIncarnation:
      expect_known(message.claim_incarnation());
      proposal->body = ClaimIncarnation{.name = message.claim_incarnation().name(),
                                        .incarnation = message.claim_incarnation().incarnation()};
      return;
    case pb::Proposal::BODY_NOT_SET:
      fail("a proposal of no known kind");
  }
}

// The shortest form has exactly the size that writing the message again would give; the rest of the
// strictness lies in the fields.
template <typename Message>
Status parse(std::string_view bytes, Message* message) {
  const bool parsed = bytes.size() <= limits::kMaxFrameBytes &&
                      message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (parsed && message->ByteSizeLong() == bytes.size()) return {};
  return Error{.code = ErrorCode::kInvalidArgument, .message = "bytes that are no " + message->GetTypeName()};
}

template <typename Value, typename Message, typename Read>
Result<Value> decode(std::string_view bytes, Read&& read) {
  google::protobuf::Arena arena;
  auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena);
  if (Status status = parse(bytes, message); !status.ok()) return status.error();
  Decoder decoder;
  Value value = read(decoder, *message);
  if (!decoder.ok()) return decoder.error();
  return value;
}

}  // namespace

Result<Proposal> decode_proposal(std::string_view bytes) {
  return decode<Proposal, pb::Proposal>(bytes, [](Decoder& decoder, const pb::Proposal& message) {
    decoder.expect_known(message);
    Proposal proposal{.author = message.author(),
                      .member = message.member(),
                      .incarnation = message.incarnation(),
                      .body = {}};
    decoder.body(message, &proposal);
    return proposal;
  });
}

Result<Transaction> decode_transaction(std::string_view bytes) {
  return decode<Transaction, pb::Transaction>(
      bytes, [](Decoder& decoder, const pb::Transaction& message) { return decoder.transaction(message); });
}

Result<ProposalAnswer> decode_proposal_answer(std::string_view bytes) {
  return decode<ProposalAnswer, pb::ProposalAnswer>(
      bytes, [](Decoder& decoder, const pb::ProposalAnswer& message) {
        decoder.expect_known(message);
        ProposalAnswer answer;
        if (message.has_refusal()) answer.refusal = decoder.refusal(message.refusal());
        if (message.has_session()) answer.session = decoder.session(message.session());
        if (message.has_transaction()) answer.transaction = decoder.answer(message.transaction());
        return answer;
      });
}

}  // namespace waypost
