#include "tests/replication/sim_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "replication/entry.h"

namespace waypost::replication {

SimCluster::SimCluster(uint64_t seed, size_t count) : world(seed), server(world) {
  for (size_t i = 0; i < count; ++i) {
    nodes.push_back(std::make_unique<Node>(world));
    nodes.back()->name = "node-" + std::to_string(i);
    nodes.back()->checkpoints.push_back({});
    start(i);
  }
}

SimCluster::~SimCluster() {
  for (const auto& node : nodes) node->replica.reset();
}

void SimCluster::start(size_t index) {
  Node& node = *nodes[index];
  node.log = std::make_unique<sim::SimLog>(world, node.node, server);
  node.log->faults() = node.faults;
  ReplicaOptions options;
  options.name = node.name;
  options.incarnation = ++node.starts;
  options.applied = node.checkpoints.back().position;
  options.applied_hash = node.checkpoints.back().hash;
  options.highest_engine_revision = node.engine_revision;
  options.propose_timeout_ms = 2'000;
  node.replica =
      std::make_unique<Replica>(options, *node.log, node.node,
                                [this, &node](std::vector<AppliedEntry> entries, const ApplyCallback& done) {
                                  apply(node, std::move(entries), done);
                                });
  node.replica->start();
}

void SimCluster::crash(size_t index) {
  Node& node = *nodes[index];
  if (!node.replica) return;
  world.trace("crash " + node.name);
  node.engine_revision = node.replica->status().engine_revision;
  node.node.crash();
  node.replica.reset();
  node.log.reset();
  // A process that ends answers nobody; what its clients were told by the destructor is "unknown" or "nothing
  // happened".
  const size_t kept = world.pick(sim::Concern::kDisk, 1, node.checkpoints.size());
  node.checkpoints.resize(kept);
  node.rows.resize(node.checkpoints.back().rows);
}

void SimCluster::apply(Node& node, std::vector<AppliedEntry> entries, const ApplyCallback& done) {
  node.node.after(node.apply_us, [this, &node, entries = std::move(entries), done] {
    std::vector<std::vector<std::string>> answers;
    for (const AppliedEntry& entry : entries) {
      EXPECT_EQ(entry.position, node.checkpoints.back().position.next())
          << node.name << " applied out of order";
      answers.emplace_back();
      for (size_t i = 0; i < entry.proposals.size(); ++i) {
        const std::string place = std::to_string(entry.position.value()) + "." + std::to_string(i);
        node.rows.push_back(place + " " + entry.proposals[i]);
        answers.back().push_back(place);
      }
      node.checkpoints.push_back({entry.position, entry.hash, node.rows.size()});
      world.trace(node.name + " applied " + std::to_string(entry.position.value()));
    }
    done(std::move(answers));
  });
}

void SimCluster::propose(size_t index, size_t payload_bytes) {
  Node& node = *nodes[index];
  if (!node.replica) return;
  std::string payload = "payload " + std::to_string(next_payload_++) + " ";
  payload.resize(std::max(payload.size(), payload_bytes), '.');
  node.replica->propose(payload, [this, payload](const ProposeResult& result) {
    ++outcomes[result.outcome];
    answered_.push_back({payload, result});
    if (result.outcome != ProposeOutcome::kApplied) return;
    highest_acknowledged_ = std::max(highest_acknowledged_, result.position);
    const std::string place = std::to_string(result.position.value()) + "." + std::to_string(result.index);
    EXPECT_EQ(result.answer, place) << "acknowledged with another's answer, or before it was applied";
  });
}

void SimCluster::barrier(size_t index) {
  Node& node = *nodes[index];
  if (!node.replica) return;
  const Position at_least = highest_acknowledged_;
  node.replica->barrier(1'000, [this, &node, at_least](const Result<Position>& result) {
    if (!result.ok()) return;
    ++reads_served;
    EXPECT_GE(result->value(), at_least.value())
        << node.name << " served a read older than an acknowledged write";
    EXPECT_LE(result->value(), node.checkpoints.back().position.value())
        << node.name << " served what it has not applied";
  });
}

void SimCluster::check() {
  std::map<std::string, std::string> places;  // payload -> where the log has it
  std::vector<std::string> rows;
  Hash128 previous;
  for (const auto& [position, bytes] : server.history()) {
    const Result<Entry> entry = decode_entry(bytes);
    ASSERT_TRUE(entry.ok());
    EXPECT_EQ(entry->position.value(), position);
    EXPECT_EQ(entry->previous, previous) << "the chain breaks at " << position;
    previous = entry_hash(bytes);
    for (size_t i = 0; i < entry->proposals.size(); ++i) {
      const std::string place = std::to_string(position) + "." + std::to_string(i);
      EXPECT_TRUE(places.emplace(entry->proposals[i], place).second)
          << entry->proposals[i] << " is in the log twice";
      rows.push_back(place + " " + entry->proposals[i]);
    }
  }
  for (const Asked& asked : answered_) {
    const auto found = places.find(asked.payload);
    const bool in_log = found != places.end();
    if (asked.result.outcome == ProposeOutcome::kApplied) {
      EXPECT_TRUE(in_log) << asked.payload << " was acknowledged and is lost";
      if (in_log) {
        EXPECT_EQ(found->second, asked.result.answer);
      }
    } else if (asked.result.outcome != ProposeOutcome::kUnknown) {
      EXPECT_FALSE(in_log) << asked.payload << " happened, though its client was told that nothing did";
    }
  }
  for (const auto& node : nodes) {
    ASSERT_LE(node->rows.size(), rows.size());
    EXPECT_TRUE(std::equal(node->rows.begin(), node->rows.end(), rows.begin()))
        << node->name << " is no prefix of the log";
  }
}

void SimCluster::heal_and_converge() {
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = *nodes[i];
    node.faults = {};
    if (!node.replica) start(i);
    node.log->faults() = {};
    node.log->set_cut(false);
    node.log->set_replies_cut(false);
    node.node.resume();
  }
  const auto converged = [&] {
    for (const auto& node : nodes) {
      if (node->checkpoints.back().position != server.tail().position) return false;
    }
    return true;
  };
  // Late appends may still land; after the last of them everyone must hold everything.
  world.run_for(10'000'000);
  EXPECT_TRUE(world.run_until(converged, 30'000'000)) << "no convergence";
  for (size_t i = 0; i < nodes.size(); ++i) propose(i);
  const uint64_t before = outcomes[ProposeOutcome::kApplied];
  EXPECT_TRUE(world.run_until([&] { return outcomes[ProposeOutcome::kApplied] >= before + nodes.size(); },
                              10'000'000))
      << "healed nodes do not write";
  EXPECT_TRUE(world.run_until(converged, 10'000'000));
}

}  // namespace waypost::replication
