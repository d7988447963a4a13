// A simulated client: a session, numbered transactions that it repeats at any member until it is told what
// came of them, linearizable and stale reads. Its network loses, delays and repeats. It keeps what it asked
// and heard.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/history.h"
#include "tests/sim/member.h"

namespace waypost::sim {

struct ClientFaults {
  double request_lost = 0;
  double reply_lost = 0;
  double duplicated = 0;  // the same request at another member at the same time
  double gives_up = 0;    // the client ends in the middle of a request; another comes with a new session
  double misnumbers = 0;  // a number too high, or used before for something else
  double sleeps = 0;      // minutes pass before the next request
};

// More than an Operation: where it was answered, for the check against the log.
struct Asked {
  Operation operation;
  std::optional<SessionId> session;  // of a write
  uint64_t number = 0;
  bool handed_over = false;  // some attempt was not refused before anything could happen
  bool stale = false;        // of a read
  Position position;         // of the state that a read saw
  uint32_t index = 0;        // with `position`: where the answered attempt of a write is
  std::string answer;        // of a write: the ProposalAnswer's bytes
  std::string row;           // of a read
};

class Client {
 public:
  Client(Cluster& cluster, uint32_t number) : cluster_(cluster), number_(number) {}

  void start() { next(); }
  void stop() { stopping_ = true; }
  bool stopped() const { return idle_ && stopping_; }
  uint64_t answered() const { return answered_; }
  const std::vector<std::unique_ptr<Asked>>& asked() const { return asked_; }
  ClientFaults faults;

 private:
  void next();
  void think();
  void open_session();
  void write();
  void read(bool stale);
  void misnumber();
  Transaction transaction(std::vector<Action>& actions);
  Transaction background();
  void attempt();
  void deliver(Member& member, const Proposal& proposal, uint64_t attempt);
  void on_answer(uint64_t attempt, const Member::Answer& answer);
  void finish(Outcome outcome);
  Member& pick_member();
  uint64_t pick(uint64_t low, uint64_t high) { return cluster_.world.pick(Concern::kClients, low, high); }

  Cluster& cluster_;
  const uint32_t number_;
  bool stopping_ = false;
  bool idle_ = false;
  uint64_t answered_ = 0;
  std::optional<SessionId> session_;
  uint64_t last_number_ = 0;
  uint64_t values_ = 0;  // that this client wrote so far
  std::vector<std::unique_ptr<Asked>> asked_;

  Proposal request_;
  Asked* current_ = nullptr;  // null while a session is opened
  uint64_t attempt_ = 0;      // answers of earlier ones to another request are dropped
  uint64_t first_attempt_ = 0;
};

// The value that a register's row stands for; 0: absent.
uint64_t value_of_row(NexthopId id, const std::string& row);

}  // namespace waypost::sim
