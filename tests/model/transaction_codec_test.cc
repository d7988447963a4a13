// The bytes of proposals and answers: whole, strict, bounded.
#include <gtest/gtest.h>

#include <random>

#include "model/limits.h"
#include "model/row_codec.h"
#include "model/transaction.h"
#include "tests/model/hex.h"
#include "tests/model/samples.h"

namespace waypost {
namespace {

using test::hex;

std::vector<Proposal> sample_proposals() {
  Transaction transaction{
      .on_refusal = OnRefusal::kContinue, .chained = true, .commands = test::sample_commands()};
  SessionTransaction session{.session = {.position = Position(7), .index = 3, .random = {1, 2, 3}},
                             .number = 9,
                             .transaction = transaction};
  std::vector<Proposal> proposals;
  const auto add = [&](auto body) {
    proposals.push_back(
        {.author = "root@host\xff", .member = "a", .incarnation = 5, .body = std::move(body)});
  };
  add(OpenSession{.random = {9, 8, 7}});
  add(session);
  add(SetSetting{.name = "history.revisions", .value = "7"});
  add(RaiseRulesLevel{.level = 2});
  add(AddMember{.name = "b", .address = "[::1]:7"});
  add(RemoveMember{.name = "b"});
  add(ClaimIncarnation{.name = "c", .incarnation = 1ull << 63});
  return proposals;
}

std::vector<ProposalAnswer> sample_answers() {
  ProposalAnswer refused;
  refused.refusal = Refusal{.code = RefusalCode::kSessionGap, .arguments = {"3", "\xff"}};
  ProposalAnswer opened;
  opened.session = SessionId{.position = Position(1), .index = 0, .random = {}};
  ProposalAnswer applied;
  applied.transaction = TransactionAnswer{
      .revision = Revision(12),
      .applied = 3,
      .skipped = 1,
      .refusals = {{.index = 4, .refusal = {.code = RefusalCode::kRouteExists, .arguments = {"x"}}}},
      .assigned_ids = {{0, NexthopId(18)}}};
  ProposalAnswer empty_transaction;
  empty_transaction.transaction = TransactionAnswer{};
  return {refused, opened, applied, empty_transaction, ProposalAnswer{}};
}

// Every field of every command survives: the second encoding equals the first, byte for byte, and two
// commands that differ in one field differ in their bytes.
TEST(TransactionCodec, ProposalsRoundTrip) {
  for (const Proposal& proposal : sample_proposals()) {
    const std::string bytes = encode(proposal);
    const auto decoded = decode_proposal(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(hex(encode(*decoded)), hex(bytes));
    EXPECT_EQ(decoded->author, proposal.author);
    EXPECT_EQ(decoded->body.index(), proposal.body.index());
  }
}

TEST(TransactionCodec, CommandsRoundTripFieldByField) {
  const Transaction transaction{
      .on_refusal = OnRefusal::kStop, .chained = false, .commands = test::sample_commands()};
  const auto decoded = decode_transaction(encode(transaction));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  ASSERT_EQ(decoded->commands.size(), transaction.commands.size());
  EXPECT_EQ(decoded->on_refusal, OnRefusal::kStop);
  const auto& picky = std::get<DeleteRoute>(decoded->commands.back());
  EXPECT_EQ(picky.metric, 0u);
  EXPECT_EQ(picky.protocol, 0);
  EXPECT_EQ(picky.nexthop, NexthopId(0));
  EXPECT_EQ(picky.paths.size(), 2u);
  EXPECT_EQ(picky.paths[1].weight, 65535);
  const auto& plain = std::get<DeleteRoute>(decoded->commands[decoded->commands.size() - 2]);
  EXPECT_FALSE(plain.metric || plain.type || plain.protocol || plain.scope || plain.nexthop || plain.prefsrc);
  const auto& first = std::get<PutNexthop>(decoded->commands.front());
  EXPECT_EQ(first.object, test::sample_nexthops().front());
  EXPECT_EQ(first.verb, Verb::kReplace);
}

TEST(TransactionCodec, AnswersRoundTrip) {
  for (const ProposalAnswer& answer : sample_answers()) {
    const std::string bytes = encode(answer);
    const auto decoded = decode_proposal_answer(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(hex(encode(*decoded)), hex(bytes));
    EXPECT_EQ(decoded->refusal, answer.refusal);
    EXPECT_EQ(decoded->transaction.has_value(), answer.transaction.has_value());
  }
}

// A newer version's field, another number of bytes, a number out of bounds: refused, never half understood.
TEST(TransactionCodec, RefusesWhatItDoesNotKnow) {
  const std::string bytes = encode(sample_proposals()[3]);
  EXPECT_FALSE(decode_proposal(bytes + "\x78\x01").ok());                  // field 15
  EXPECT_FALSE(decode_proposal(bytes + std::string("\x18\x00", 2)).ok());  // a default that is written out
  EXPECT_FALSE(decode_proposal("").ok());
  EXPECT_FALSE(decode_transaction("\x08\x03").ok());                  // on_refusal 3
  EXPECT_FALSE(decode_transaction(std::string("\x12\x00", 2)).ok());  // a command without a body
  EXPECT_TRUE(decode_transaction("").ok());
  Transaction many;
  many.commands.resize(limits::kMaxChangesPerTransaction + 1,
                       DeleteNexthop{.id = NexthopId(1), .cascade = false});
  EXPECT_FALSE(decode_transaction(encode(many)).ok());
  PutRoute wide{.verb = Verb::kAdd, .route = test::route("10.0.0.0/8", 0), .paths = {}};
  wide.paths.resize(limits::kMaxGroupMembers + 1, {.nexthop = test::via("192.0.2.1", "e0"), .weight = 1});
  EXPECT_FALSE(decode_transaction(encode(Transaction{.commands = {wide}})).ok());
}

// Cut at every byte and with random flips: no crash, and what is taken means what it says.
TEST(TransactionCodec, SurvivesDamage) {
  std::mt19937 random(13);
  for (const Proposal& proposal : sample_proposals()) {
    const std::string bytes = encode(proposal);
    for (size_t length = 0; length < bytes.size(); ++length)
      if (const auto cut = decode_proposal(std::string_view(bytes).substr(0, length)); cut.ok()) {
        ASSERT_EQ(encode(*cut).size(), length);
      }
    for (int round = 0; round < 1'000; ++round) {
      std::string flipped = bytes;
      flipped[random() % flipped.size()] = static_cast<char>(random());
      if (const auto decoded = decode_proposal(flipped); decoded.ok()) {
        ASSERT_EQ(encode(decode_proposal(encode(*decoded)).value()), encode(*decoded));
      }
    }
  }
}

}  // namespace
}  // namespace waypost
