// Replicas on a misbehaving log in virtual time. WAYPOST_SEED=N runs one seed; WAYPOST_SEEDS=N as many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "replication/entry.h"
#include "tests/replication/sim_cluster.h"

namespace waypost::replication {
namespace {

using sim::Concern;
using sim::SimLogFaults;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// One thread runs it all, so there is little for ThreadSanitizer to see, slowly.
#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 20;
#else
constexpr uint64_t kSeeds = 120;
#endif

struct NamedFault {
  const char* name;
  double SimLogFaults::*probability;
};
constexpr NamedFault kFaults[] = {
    {"request lost", &SimLogFaults::request_lost},
    {"reply lost", &SimLogFaults::reply_lost},
    {"late", &SimLogFaults::late},
    {"refused", &SimLogFaults::refused},
    {"read fails", &SimLogFaults::read_fails},
    {"read repeats", &SimLogFaults::read_repeats},
    {"read single", &SimLogFaults::read_single},
    {"tail fails", &SimLogFaults::tail_fails},
};

// One random step of the world around the replicas.
void disturb(SimCluster& cluster) {
  sim::SimWorld& world = cluster.world;
  const size_t index = world.pick(Concern::kFaults, 0, cluster.nodes.size() - 1);
  SimCluster::Node& node = *cluster.nodes[index];
  switch (world.pick(Concern::kFaults, 0, 19)) {
    case 0:
      return cluster.crash(index);
    case 1:
      node.node.pause();
      return;
    case 2:
      if (node.log) node.log->set_cut(true);
      return;
    case 3:
      if (node.log) node.log->set_replies_cut(true);
      return;
    case 4:
      node.apply_us = world.pick(Concern::kDisk, 0, 50'000);
      return;
    default:
      if (!node.replica) return cluster.start(index);
      node.node.resume();
      node.log->set_cut(false);
      node.log->set_replies_cut(false);
  }
}

void run(SimCluster& cluster, int steps, bool disturbed) {
  for (int i = 0; i < steps; ++i) {
    const size_t index = cluster.world.pick(Concern::kClients, 0, cluster.nodes.size() - 1);
    const uint64_t kind = cluster.world.pick(Concern::kClients, 0, 9);
    if (kind < 7) cluster.propose(index, cluster.world.pick(Concern::kClients, 10, 40'000));
    if (kind == 7) cluster.barrier(index);
    if (disturbed && kind == 8) disturb(cluster);
    cluster.world.run_for(cluster.world.pick(Concern::kClients, 0, 20'000));
  }
}

Hash128 run_seed(uint64_t seed, std::map<std::string, uint64_t>& reached) {
  SimCluster cluster(seed, 1 + seed % 4);
  // Swarm: each seed has each fault or not, with a strength of its own.
  SimLogFaults faults;
  for (const NamedFault& fault : kFaults) {
    const bool on = cluster.world.chance(Concern::kFaults, 0.5);
    const double strength = static_cast<double>(cluster.world.pick(Concern::kFaults, 1, 30)) / 100.0;
    if (on) faults.*fault.probability = strength;
  }
  for (const auto& node : cluster.nodes) {
    node->faults = faults;
    node->log->faults() = faults;
  }
  run(cluster, 400, cluster.world.chance(Concern::kFaults, 0.7));
  cluster.check();
  cluster.heal_and_converge();
  cluster.check();
  for (const auto& [what, times] : cluster.world.reached()) reached[what] += times;
  reached["read served"] += cluster.reads_served;
  reached["acknowledged"] += cluster.outcomes[ProposeOutcome::kApplied];
  reached["unknown answered"] += cluster.outcomes[ProposeOutcome::kUnknown];
  return cluster.world.trace_hash();
}

// Whatever the log does within its contract: nothing acknowledged is lost, nothing refused happens, nothing
// happens twice, reads are never older than a write acknowledged before them, and once healed all nodes agree
// and write.
TEST(SimReplica, KeepsItsPromisesOverSeeds) {
  const uint64_t one = from_environment("WAYPOST_SEED", 0);
  const uint64_t count = one != 0 ? 1 : from_environment("WAYPOST_SEEDS", kSeeds);
  std::map<std::string, uint64_t> reached;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t seed = one != 0 ? one : i + 1;
    SCOPED_TRACE("WAYPOST_SEED=" + std::to_string(seed));
    run_seed(seed, reached);
    if (HasFailure()) return;
  }
  for (const auto& [what, times] : reached) RecordProperty(what, std::to_string(times));
  if (one != 0 || count < 100) return;
  for (const char* what :
       {"lost race for a position", "append lost on the way", "unknown append happened",
        "late append happened", "late append did not happen", "append refused", "read failed",
        "read repeated entries", "read served", "acknowledged", "unknown answered"}) {
    EXPECT_GT(reached[what], 20u) << "the seeds hardly ever reach: " << what;
  }
}

// The same seed is the same run, event by event; otherwise a seed that finds something is worth nothing.
TEST(SimReplica, IsDeterministic) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    std::map<std::string, uint64_t> ignored;
    EXPECT_EQ(run_seed(seed, ignored), run_seed(seed, ignored)) << "seed " << seed;
  }
}

// Each misbehaviour alone and strong: no mix may hide what one of them breaks.
TEST(SimReplica, EachFaultAlone) {
  for (const NamedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    SimCluster cluster(77, 3);
    for (const auto& node : cluster.nodes) {
      node->faults.*fault.probability = 0.4;
      node->log->faults() = node->faults;
    }
    run(cluster, 300, false);
    cluster.check();
    cluster.heal_and_converge();
    cluster.check();
  }
}

// LOG.md rule 4: an append without an answer may still happen, so its bytes are repeated at its position and
// its changes never go in under another number; the client hears "unknown" within its deadline.
TEST(SimReplica, UnknownIsNotFailed) {
  SimCluster cluster(1, 1);
  cluster.world.run_for(1'000'000);
  cluster.nodes[0]->log->faults().reply_lost = 1;
  cluster.propose(0);
  cluster.world.run_for(200'000);  // it is in the log by now; reading is held back
  cluster.nodes[0]->log->faults().reply_lost = 0;
  cluster.world.run_for(5'000'000);
  cluster.check();
  EXPECT_EQ(cluster.server.history().size(), 1u);
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kApplied], 1u);

  // Now nothing answers and nothing can be read: unknown, and after healing it is there once.
  cluster.nodes[0]->log->set_replies_cut(true);
  cluster.propose(0);
  cluster.world.run_for(3'000'000);
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kUnknown], 1u);
  cluster.heal_and_converge();
  cluster.check();
}

// With the log cut off before anything was handed over, a client hears that nothing happened, within its
// deadline, and a linearizable read fails in words (rule 6) instead of answering from what is here.
TEST(SimReplica, CutOffNodeRefusesInTime) {
  SimCluster cluster(1, 2);
  cluster.world.run_for(1'000'000);
  cluster.nodes[0]->log->set_cut(true);
  cluster.propose(0);
  cluster.barrier(0);
  cluster.propose(1);
  cluster.world.run_for(2'500'000);
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kUnreachable], 1u);
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kApplied], 1u);
  EXPECT_EQ(cluster.reads_served, 0u);
  EXPECT_FALSE(cluster.nodes[0]->replica->status().reachable);
  EXPECT_TRUE(cluster.nodes[1]->replica->status().reachable);
  cluster.heal_and_converge();
  cluster.check();
}

// LOG.md rule 6: a read that arrives while an ask is under way must not use its answer, which may be older
// than a write that was acknowledged before the read came.
TEST(SimReplica, ReadDoesNotJoinAnAskUnderWay) {
  SimCluster cluster(1, 2);
  cluster.world.run_for(1'000'000);
  SimCluster::Node& reader = *cluster.nodes[0];
  // The ask is answered at once at the server, but its answer travels for 100 ms; entries travel as slowly.
  reader.log->faults().min_delay_us = 0;
  reader.log->faults().max_delay_us = 0;
  cluster.barrier(0);
  cluster.world.run_for(0);
  reader.log->faults().min_delay_us = reader.log->faults().max_delay_us = 100'000;
  cluster.world.run_for(10'000);
  cluster.propose(1);
  cluster.world.run_until([&] { return cluster.outcomes[ProposeOutcome::kApplied] == 1; }, 50'000);
  ASSERT_EQ(cluster.outcomes[ProposeOutcome::kApplied], 1u);
  cluster.barrier(0);  // checked by the harness: at least position 1
  cluster.world.run_for(2'000'000);
  EXPECT_EQ(cluster.reads_served, 2u);
}

// LOG.md rule 2: operators restore the engine from an old backup. The first member that comes back sees that
// its own entries are gone, halts the log for everybody with words, and nobody writes on the forked line.
TEST(SimReplica, RewoundLogIsHalted) {
  SimCluster cluster(1, 2);
  for (int i = 0; i < 5; ++i) {
    cluster.propose(0);
    cluster.world.run_for(200'000);
  }
  const auto backup = cluster.server.backup();
  for (int i = 0; i < 5; ++i) {
    cluster.propose(1);
    cluster.world.run_for(200'000);
  }
  ASSERT_EQ(cluster.server.tail().position, Position(10));
  cluster.server.restore(backup);
  cluster.world.run_for(6'000'000);
  EXPECT_FALSE(cluster.server.tail().halt_words.empty());
  EXPECT_NE(cluster.nodes[0]->replica->status().halted.find("rewound"), std::string::npos);
  cluster.propose(0);
  cluster.world.run_for(1'000'000);
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kHalted], 1u);
  EXPECT_EQ(cluster.server.tail().position, Position(5));
}

// The same with others writing on the restored line first: it is longer than what the returning member has,
// or just as long, and only the chain hash tells them apart.
TEST(SimReplica, RewoundAndRewrittenLogIsHalted) {
  for (const int written_anew : {1, 3, 8}) {
    SCOPED_TRACE(written_anew);
    SimCluster cluster(1, 2);
    const auto backup = cluster.server.backup();
    for (int i = 0; i < 3; ++i) {
      cluster.propose(0);
      cluster.world.run_for(200'000);
    }
    cluster.crash(1);
    cluster.nodes[1]->checkpoints.resize(1);  // a fresh member, with nothing to compare
    cluster.nodes[1]->rows.clear();
    cluster.nodes[1]->engine_revision = 0;
    cluster.nodes[0]->node.pause();
    cluster.server.restore(backup);
    cluster.start(1);
    for (int i = 0; i < written_anew; ++i) {
      cluster.propose(1);
      cluster.world.run_for(200'000);
    }
    EXPECT_EQ(cluster.server.tail().position.value(), static_cast<uint64_t>(written_anew));
    cluster.nodes[0]->node.resume();
    cluster.world.run_for(8'000'000);
    EXPECT_FALSE(cluster.server.tail().halt_words.empty());
    EXPECT_EQ(cluster.nodes[0]->checkpoints.back().position, Position(3))
        << "applied entries of another line";
  }
}

// Only the engine's own revision shows that the log went back and forth to the very same tail; acknowledged
// control changes of the engine (a halt, say) are gone with it.
TEST(SimReplica, EngineThatWentBackIsHalted) {
  SimCluster cluster(1, 1);
  cluster.propose(0);
  cluster.world.run_for(6'000'000);
  const auto backup = cluster.server.backup();
  Presence someone;
  someone.name = "someone";
  ASSERT_TRUE(cluster.server.publish(someone).ok());
  cluster.world.run_for(6'000'000);
  cluster.server.restore(backup);
  cluster.world.run_for(6'000'000);
  EXPECT_FALSE(cluster.server.tail().halt_words.empty());
}

// A reader that fell behind the oldest entry stands still and says that it needs a snapshot; it neither skips
// nor writes.
TEST(SimReplica, TrimmedPastStandsStill) {
  SimCluster cluster(1, 2);
  cluster.crash(0);
  for (int i = 0; i < 5; ++i) {
    cluster.propose(1);
    cluster.world.run_for(100'000);
  }
  cluster.server.trim(Position(4));
  cluster.start(0);
  cluster.propose(0);
  cluster.world.run_for(3'000'000);
  EXPECT_TRUE(cluster.nodes[0]->replica->status().trimmed_past);
  EXPECT_TRUE(cluster.nodes[0]->rows.empty());
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kUnreachable], 1u);
  EXPECT_GT(cluster.world.reached().at("trimmed under a reader"), 0u);
}

// A full engine refuses with its words, and takes changes again once there is room, without a restart.
TEST(SimReplica, FullLogRefusesAndHeals) {
  SimCluster cluster(1, 1);
  cluster.world.run_for(1'000'000);
  cluster.server.set_full(true);
  cluster.propose(0);
  cluster.world.run_for(1'000'000);
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kRefused], 1u);
  cluster.server.set_full(false);
  cluster.propose(0);
  cluster.world.run_for(1'000'000);
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kApplied], 1u);
  cluster.check();
}

// Members that all write lose races, yet each gets its share: the random wait keeps one of them from winning
// always.
TEST(SimReplica, RacesAreFair) {
  SimCluster cluster(5, 3);
  std::map<std::string, uint64_t> entries;
  for (int i = 0; i < 3'000; ++i) {
    cluster.propose(static_cast<size_t>(i % 3));
    cluster.world.run_for(1'000);
  }
  cluster.world.run_for(5'000'000);
  cluster.check();
  EXPECT_EQ(cluster.outcomes[ProposeOutcome::kApplied], 3'000u);
  for (const auto& [position, bytes] : cluster.server.history()) ++entries[decode_entry(bytes)->appender];
  for (const auto& [name, count] : entries) {
    RecordProperty(name, std::to_string(count));
    EXPECT_GT(count * 9, cluster.server.history().size()) << name << " hardly ever gets a turn";
  }
}

}  // namespace
}  // namespace waypost::replication
