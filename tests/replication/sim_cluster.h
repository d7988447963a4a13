// Replicas on the simulated log with a state machine that only remembers: the harness of the replica's
// simulation tests. Every answer, refusal and read is held against what the log really became.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replication/replica.h"
#include "tests/sim/sim_log.h"
#include "tests/sim/sim_log_server.h"
#include "tests/sim/sim_world.h"

namespace waypost::replication {

class SimCluster {
 public:
  SimCluster(uint64_t seed, size_t nodes);
  ~SimCluster();

  struct Checkpoint {
    Position position;
    Hash128 hash;
    size_t rows = 0;  // of `rows` below, applied up to here
  };
  struct Node {
    explicit Node(sim::SimWorld& world) : node(world) {}
    std::string name;
    sim::SimNode node;
    std::unique_ptr<sim::SimLog> log;
    std::unique_ptr<Replica> replica;  // null while crashed
    sim::SimLogFaults faults;
    uint64_t starts = 0;
    uint64_t apply_us = 200;
    uint64_t engine_revision = 0;         // what the node remembers over restarts
    std::vector<Checkpoint> checkpoints;  // the first is what it started from
    std::vector<std::string> rows;        // "position.index payload"
  };

  // Starts a node on what its checkpoints hold.
  void start(size_t node);
  // Loses what was applied behind a random checkpoint, as unsynced writes are lost.
  void crash(size_t node);
  // Proposes a new payload that no other proposal has. Answers are kept and checked.
  void propose(size_t node, size_t payload_bytes = 20);
  void barrier(size_t node);

  // Everything that must hold at any time; adds gtest failures.
  void check();
  // Heals the log and all nodes; everyone must apply everything.
  void heal_and_converge();

  sim::SimWorld world;
  sim::SimLogServer server;
  std::vector<std::unique_ptr<Node>> nodes;
  std::map<ProposeOutcome, uint64_t> outcomes;
  uint64_t reads_served = 0;

 private:
  void apply(Node& node, std::vector<AppliedEntry> entries, const ApplyCallback& done);
  void check_answer(const std::string& payload, const ProposeResult& result);

  struct Asked {
    std::string payload;
    ProposeResult result;
  };
  std::vector<Asked> answered_;
  uint64_t next_payload_ = 0;
  Position highest_acknowledged_;
};

}  // namespace waypost::replication
