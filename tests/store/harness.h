// A store in a directory of its own, and short ways to build commands and read answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/transaction.h"
#include "store/store.h"

namespace waypost::store {

// Removed with everything in it at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One client session on one store; applies an entry per call.
class TestStore {
 public:
  explicit TestStore(StoreOptions options = {});

  ProposalAnswer propose(const Proposal& proposal);
  std::vector<ProposalAnswer> propose_together(const std::vector<Proposal>& proposals);
  // In this client's session, with the next number.
  TransactionAnswer run(std::vector<Command> commands, OnRefusal on_refusal = OnRefusal::kAbort);
  // A single command: its refusal in words ("ok" where it was applied).
  std::string say(Command command);
  Proposal next_proposal(Transaction transaction);

  // Closes and opens again, as after an ordinary stop.
  void reopen();
  void close() { store_.reset(); }

  Store& operator*() { return *store_; }
  Store* operator->() { return store_.get(); }
  const std::string& directory() const { return options_.directory; }
  const StoreOptions& options() const { return options_; }
  const SessionId& session() const { return session_; }
  uint64_t time_us = 1'700'000'000'000'000;

 private:
  TemporaryDirectory temporary_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  SessionId session_;
  uint64_t number_ = 0;
};

SessionId open_session(TestStore& store);

// Commands. Addresses and prefixes are text.
Nexthop via(const std::string& gateway, const std::string& device = {});
Nexthop on_device(const std::string& device, Family family = Family::kIpv4);
Nexthop blackhole(Family family = Family::kIpv4);
Nexthop fdb(const std::string& gateway);
Command put(uint32_t id, Nexthop nexthop, Verb verb = Verb::kAdd, uint8_t protocol = 0);
Command put_group(uint32_t id, std::vector<uint32_t> members, Verb verb = Verb::kAdd);
Command put_group(uint32_t id, NexthopGroup group, Verb verb = Verb::kAdd);
Command drop(uint32_t id, bool cascade = false);
RouteKey key_of(const std::string& prefix, uint32_t metric = 0, uint32_t table = 254);
Route route_over(const std::string& prefix, uint32_t id, uint32_t metric = 0, uint32_t table = 254);
Command put_route(const std::string& prefix, uint32_t id, Verb verb = Verb::kAdd, uint32_t metric = 0);
Command put_route(Route route, Verb verb = Verb::kAdd);
Command put_route(const std::string& prefix, std::vector<InlinePath> paths, Verb verb = Verb::kAdd,
                  uint32_t metric = 0);
DeleteRoute drop_route(const std::string& prefix);

// Rows as text, one a line, for comparing whole states.
std::string dump(const ReadView& view);
std::string dump(const Store& store);

}  // namespace waypost::store
