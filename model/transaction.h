// What a client asks, all or nothing: a list of commands, and what came of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/named_type.h"
#include "model/nexthop.h"
#include "model/refusal.h"
#include "model/route.h"

namespace waypost {

// SEMANTICS.md A1: add = key absent, replace = put, change = key present; append and prepend only make IPv6
// multipath routes of inline paths.
enum class Verb : uint8_t { kAdd = 1, kReplace = 2, kChange = 3, kAppend = 4, kPrepend = 5 };

// One path of a route written inline (`via A dev X`, `nexthop via ... weight N`); apply interns it.
struct InlinePath {
  Nexthop nexthop;      // never blackhole or fdb; the device may be empty
  uint16_t weight = 1;  // 1..256 from `ip` (written minus one), up to 65535 here

  bool operator==(const InlinePath&) const = default;
};

struct PutNexthop {
  Verb verb = Verb::kAdd;  // kAdd, kReplace or kChange
  NexthopObject object;    // id 0: the lowest free id, chosen in apply and told in the answer
};

struct DeleteNexthop {
  NexthopId id;
  bool cascade = false;  // take its routes and its memberships along, as `ip` does
};

struct PutRoute {
  Verb verb = Verb::kAdd;
  Route route;                    // route.nexthop is none where paths is not empty
  std::vector<InlinePath> paths;  // empty: by nexthop id, or an error type
};

// Matches the given fields against the stored row; without metric the lowest (SEMANTICS.md A1).
struct DeleteRoute {
  TableId table = kMainTable;
  Prefix prefix;
  uint8_t tos = 0;
  std::optional<uint32_t> metric;
  std::optional<RouteType> type;
  std::optional<uint8_t> protocol;
  std::optional<uint8_t> scope;
  std::optional<NexthopId> nexthop;
  std::optional<IpAddress> prefsrc;
  std::vector<InlinePath> paths;  // not empty: the stored route must be exactly these inline paths
};

// The part a job is made of (LOG.md rule 12): set one row to these bytes, or delete it, if its canonical
// value still hashes to `expected` (xxh3-64; 0 means "the row is absent"). A guard that does not hold skips
// the command and is counted in the answer; rules are checked as for any command. Interned rows are never
// named here: routes over them carry their paths.
struct GuardedNexthop {
  NexthopId id;
  uint64_t expected = 0;
  std::optional<NexthopObject> value;  // none: delete, without cascade
};
struct GuardedRoute {
  RouteKey key;
  uint64_t expected = 0;
  std::optional<Route> value;     // none: delete
  std::vector<InlinePath> paths;  // as in PutRoute
};

using Command = std::variant<PutNexthop, DeleteNexthop, PutRoute, DeleteRoute, GuardedNexthop, GuardedRoute>;

// What happens to the rest when a command is refused.
enum class OnRefusal : uint8_t {
  kAbort = 0,     // nothing is applied: `--atomic`, single commands
  kStop = 1,      // what is before it is applied, what is behind is not: `-batch`
  kContinue = 2,  // only the refused ones are left out: `-batch -force`
};

struct Transaction {
  OnRefusal on_refusal = OnRefusal::kAbort;
  // Refused as a whole (kPreviousIncomplete) unless the session's previous transaction was applied without a
  // refusal: so a batch that stops at its first refused line may still have several transactions in flight.
  bool chained = false;
  std::vector<Command> commands;  // 1..limits::kMaxChangesPerTransaction rows changed in all
};

struct CommandRefusal {
  uint32_t index = 0;  // into Transaction::commands
  Refusal refusal;
};

// The answer kept for a retry and told to the client.
struct TransactionAnswer {
  Revision revision;                     // after this transaction; unchanged where nothing changed
  uint32_t applied = 0;                  // commands applied
  uint32_t skipped = 0;                  // guarded commands whose guard did not hold
  std::vector<CommandRefusal> refusals;  // ascending by index
  std::vector<std::pair<uint32_t, NexthopId>> assigned_ids;  // for PutNexthop with id 0
};

// Sessions (LOG.md rule 5). The id is minted by the entry that opens it plus 128 random bits of the client.
struct SessionId {
  Position position;
  uint32_t index = 0;  // of the proposal in its entry
  std::array<uint8_t, 16> random = {};

  auto operator<=>(const SessionId&) const = default;
};

struct OpenSession {
  std::array<uint8_t, 16> random = {};
};

struct SessionTransaction {
  SessionId session;
  uint64_t number = 0;  // the last plus one; within the window a retry
  Transaction transaction;
};

// Changes of control state: settings ("history.revisions"), the rules level, the member list (LOG.md rules 7
// and 9).
struct SetSetting {
  std::string name;
  std::string value;
};
struct RaiseRulesLevel {
  uint32_t level = 0;
};
struct AddMember {
  std::string name;
  std::string address;
};
struct RemoveMember {
  std::string name;
};
// A member's start: its incarnation supersedes the earlier ones.
struct ClaimIncarnation {
  std::string name;
  uint64_t incarnation = 0;
};

// One payload of a log entry.
struct Proposal {
  std::string author;  // user@host of the client, for the history; at most 128 bytes
  std::string member;  // the member that proposed it; empty with the local engine
  uint64_t incarnation = 0;
  std::variant<OpenSession, SessionTransaction, SetSetting, RaiseRulesLevel, AddMember, RemoveMember,
               ClaimIncarnation>
      body;
};

// What apply answers to one proposal.
struct ProposalAnswer {
  std::optional<Refusal> refusal;    // the proposal as a whole: unknown session, gap, removed member, ...
  std::optional<SessionId> session;  // OpenSession
  std::optional<TransactionAnswer> transaction;
};

// Bytes (model/transaction.proto). decode fails with kInvalidArgument on anything that encode cannot have
// written, and holds at most a small multiple of the input in memory.
std::string encode(const Proposal& proposal);
Result<Proposal> decode_proposal(std::string_view bytes);
// The bytes of the Transaction inside an encoded Proposal that decode_proposal takes; empty where it carries
// none. What a session compares a retry by.
std::string_view transaction_bytes(std::string_view proposal);
std::string encode(const Transaction& transaction);
Result<Transaction> decode_transaction(std::string_view bytes);
std::string encode(const ProposalAnswer& answer);
Result<ProposalAnswer> decode_proposal_answer(std::string_view bytes);

}  // namespace waypost
