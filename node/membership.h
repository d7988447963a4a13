// This node among the others: what it says of itself every second, what they say, and what follows from it:
// how far the log may be trimmed (LOG.md rule 3), and whether the states are equal (rule 8). On the order
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/config.h"
#include "node/order_thread.h"
#include "node/workers.h"
#include "replication/log.h"
#include "replication/replica.h"
#include "store/store.h"

namespace waypost::node {

class Membership {
 public:
  struct Dependencies {
    const NodeConfig& config;
    OrderThread& order;
    Workers& writer;  // the thread that applies: syncs and trims run there
    Workers& readers;
    store::Store& store;
    replication::Log& log;
    replication::Replica& replica;
    bool clustered = false;  // an engine that others share
    uint64_t incarnation = 0;
    // This process must end: another one took its name (LOG.md rule 9), or it is no member any more.
    std::function<void(std::string why)> must_exit;
  };
  explicit Membership(Dependencies dependencies);

  // Begins the round that repeats every second.
  void start();
  void stop() { stopped_ = true; }

  // Proposals carry the member's name and incarnation (not with the local engine).
  bool signs() const { return given_.clustered; }
  uint64_t incarnation() const { return given_.incarnation; }
  Position durable() const { return durable_; }

  // A member takes changes once the state knows it under its incarnation.
  bool enrolled() const { return !given_.clustered || enrolled_; }

  // Why this node answers nobody: its state differs from the others'. Otherwise none.
  std::optional<Error> refusal() const;

  const std::vector<replication::Presence>& presences() const { return presences_; }
  uint64_t presences_age_ms() const;
  bool presences_known() const { return presences_at_us_ != 0; }
  uint64_t digest_checks() const { return digest_checks_; }
  // Of the log's engine, asked now and then: what it needs help with.
  size_t engine_problems() const { return engine_problems_; }
  Position first() const { return trimmed_; }  // the oldest entry that is left, as far as is known
  const std::string& status_line() const { return status_; }
  // Of the state, as of the last sync.
  const std::vector<store::ReadView::Member>& members() const { return members_; }

  // Trims the log now, at most to `below`, and no further than the rules allow. `done`: the first position
  // kept, or why not.
  void trim(Position below, std::function<void(Result<Position>)> done);
  // How far the log may be trimmed.
  Position trim_limit() const;

 private:
  void round();
  struct Synced {
    Position durable;
    std::vector<store::ReadView::Member> members;
  };
  Synced sync();  // on the writer
  void after_sync(Synced synced);
  void publish();
  void ask_log();
  void enrol();
  void enrol_again(const std::string& why);
  void add_self();
  void claim();
  void take_presences(Result<std::vector<replication::Presence>> result);
  void compare_digests();
  std::string data_difference(const replication::Presence& other);
  void trim_now_and_then();

  Dependencies given_;
  bool stopped_ = false;
  bool syncing_ = false;
  bool enrolled_ = false;
  Position durable_;
  std::vector<replication::Presence> presences_;
  uint64_t presences_at_us_ = 0;
  uint64_t digest_checks_ = 0;
  uint64_t rounds_ = 0;
  size_t engine_problems_ = 0;
  std::string status_ = "ok";
  std::string diverged_;
  std::map<std::string, std::string> partings_;  // of members whose rows differ: in words, where from
  Position trimmed_;
  std::vector<store::ReadView::Member> members_;  // of the state, as of the last sync
  std::map<std::string, Position>
      last_durable_;  // of every member ever heard, also of those that are away now
  std::map<uint64_t, Hash128> control_digests_;  // our own of the last rounds, by position
};

}  // namespace waypost::node
