// A simulated member: the real replica and the real rules on the simulated log, disk, clock and network, with
// what a node puts around them: its presence, syncs, trimming, snapshots to and from its peers, and the claim
// of its name. On the event heap.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/transaction.h"
#include "replication/replica.h"
#include "tests/sim/sim_log.h"
#include "tests/sim/sim_store.h"

namespace waypost::sim {

class Member;

// What all members of a run share, and who watches over them.
struct Cluster {
  SimWorld& world;
  SimLogServer& server;
  Hash128 id;
  std::vector<std::unique_ptr<Member>> members{};
  bool trim = false;      // trim as soon as the rules allow
  bool over_cap = false;  // ... and past laggards

  // What the state was after each position, at whoever was there first; everyone must agree.
  struct Seen {
    Hash128 chain;
    Hash128 data;
    Hash128 control;
    Revision revision;
  };
  std::map<Position, Seen> seen{};
  bool forked = false;  // the log was restored from a backup: positions mean two things
  std::map<std::string, Position> most_durable{};  // what each member truly held, whatever it said
  // The first thing that went wrong, in words.
  std::string wrong{};
  void fail(const std::string& words) {
    if (wrong.empty()) wrong = std::to_string(world.monotonic_us() / 1000) + " ms: " + words;
  }
};

class Member {
 public:
  Member(Cluster& cluster, std::string name);
  ~Member();

  const std::string& name() const { return name_; }
  bool running() const { return replica_ != nullptr; }
  bool serving() const { return running() && claimed_; }
  uint64_t starts() const { return starts_; }
  Position durable() const { return durable_; }  // as of its last round

  void start();
  // The process ends; with the power, unsynced writes go too.
  void crash(bool power_lost);
  void wipe();  // while crashed: a new, empty disk

  // What reaches the member through the client's network. `done` is not called where the process ends first.
  struct Answer {
    replication::ProposeOutcome outcome = replication::ProposeOutcome::kUnreachable;
    Position position;
    uint32_t index = 0;
    std::string bytes;  // a ProposalAnswer
  };
  void propose(Proposal proposal, std::function<void(Answer)> done);
  struct Row {
    bool ok = false;
    Position position;  // of the state that was read
    std::string value;  // canonical row, empty: absent
  };
  void read(NexthopId id, bool stale, std::function<void(Row)> done);

  SimNode& node() { return node_; }
  SimLog* log() { return log_.get(); }
  SimLogFaults& faults() { return faults_; }  // of the next start; copied into the log
  void apply_faults() {
    if (log_) log_->faults() = faults_;
  }
  void set_apply_us(uint64_t us) { apply_us_ = us; }
  const SimStore& store() const { return *store_; }
  const replication::Replica& replica() const { return *replica_; }
  bool caught_up() const;
  bool halted() const { return running() && !replica_->status().halted.empty(); }

 private:
  void apply(std::vector<replication::AppliedEntry> entries, const replication::ApplyCallback& done);
  void observe(const Hash128& before);
  bool on_the_line() const;
  bool on_the_list() const;
  void claim();
  void round();
  void publish();
  void compare(const std::vector<replication::Presence>& presences);
  void trim(const std::vector<replication::Presence>& presences);
  void stop_parts();

  struct Fetch;
  void fetch_snapshot();
  void fetch_next(const std::shared_ptr<Fetch>& fetch);
  void install(const std::shared_ptr<Fetch>& fetch);

  Cluster& cluster_;
  const std::string name_;
  SimNode node_;
  SimLogFaults faults_;
  SimDisk disk_;
  std::unique_ptr<SimLog> log_;
  std::unique_ptr<SimStore> store_;
  std::unique_ptr<replication::Replica> replica_;
  uint64_t starts_ = 0;
  uint64_t apply_us_ = 200;
  bool claimed_ = false;
  bool ending_ = false;
  bool fetching_ = false;
  Position durable_;
  std::map<std::string, Position> last_durable_;  // of every member ever heard
  struct Digests {
    Hash128 control;
    Hash128 data;
    Revision revision;
  };
  std::map<Position, Digests> own_;
};

}  // namespace waypost::sim
