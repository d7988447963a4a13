// A replica on the local engine with real threads: order, disk and apply, as a node of its own runs them.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "model/limits.h"
#include "replication/entry.h"
#include "replication/local_log.h"
#include "replication/replica.h"
#include "tests/replication/serial_thread.h"
#include "tests/replication/temp_db.h"

namespace waypost::replication {
namespace {

// The applied proposals in order are the whole state; the answer to each is its number.
class LocalNode {
 public:
  explicit LocalNode(const std::string& directory, Position applied = {}, Hash128 hash = {})
      : db_(directory) {
    auto opened = LocalLog::open(
        {.db = db_.db(),
         .family = db_.family(),
         .writer = disk_.executor(),
         .order = order_.executor(),
         .on_synced = [this](Position position, const Hash128&) { synced_ = position.value(); }});
    EXPECT_TRUE(opened.ok());
    log_ = std::move(opened).value();
    synced_ = log_->head().position.value();
    ReplicaOptions options;
    options.name = "only";
    options.incarnation = 1;
    options.applied = applied;
    options.applied_hash = hash;
    order_.call([&] {
      replica_ = std::make_unique<Replica>(options, *log_, order_,
                                           [this](std::vector<AppliedEntry> entries, ApplyCallback done) {
                                             apply(std::move(entries), std::move(done));
                                           });
      replica_->start();
    });
  }
  ~LocalNode() { stop(); }

  void stop() {
    if (!replica_) return;
    order_.call([&] { replica_->stop(); });
    disk_.join();
    writer_.join();
    order_.call([&] { replica_.reset(); });
    order_.join();
  }

  std::future<ProposeResult> propose(const std::string& payload) {
    auto promise = std::make_shared<std::promise<ProposeResult>>();
    order_.executor()([this, promise, payload] {
      replica_->propose(payload, [promise](ProposeResult result) { promise->set_value(std::move(result)); });
    });
    return promise->get_future();
  }
  Result<Position> barrier() {
    std::promise<Result<Position>> promise;
    order_.executor()([&] {
      replica_->barrier(5'000, [&](Result<Position> result) { promise.set_value(std::move(result)); });
    });
    return promise.get_future().get();
  }
  ReplicaStatus status() {
    ReplicaStatus status;
    order_.call([&] { status = replica_->status(); });
    return status;
  }

  LocalLog& log() { return *log_; }
  uint64_t synced() const { return synced_; }
  std::vector<std::string> applied() {
    std::vector<std::string> copy;
    writer_.call([&] { copy = applied_; });
    return copy;
  }

 private:
  void apply(std::vector<AppliedEntry> entries, ApplyCallback done) {
    writer_.executor()([this, entries = std::move(entries), done = std::move(done)] {
      std::vector<std::vector<std::string>> answers;
      for (const AppliedEntry& entry : entries) {
        EXPECT_LE(entry.position.value(), synced_) << "applied before it was durable";
        answers.emplace_back();
        for (const std::string& proposal : entry.proposals) {
          applied_.push_back(proposal);
          answers.back().push_back(std::to_string(applied_.size()));
        }
      }
      order_.executor()([done, answers = std::move(answers)] { done(answers); });
    });
  }

  LogDatabase db_;
  std::atomic<uint64_t> synced_ = 0;
  std::unique_ptr<LocalLog> log_;
  std::vector<std::string> applied_;
  std::unique_ptr<Replica> replica_;
  SerialThread writer_;
  SerialThread disk_;
  SerialThread order_;
};

// One change after the other: each is applied once, in order, and its answer is apply's own.
TEST(LocalReplica, AppliesInOrderAndAnswers) {
  const TempDirectory directory;
  LocalNode node(directory.path());
  for (int i = 1; i <= 20; ++i) {
    const ProposeResult result = node.propose("change " + std::to_string(i)).get();
    EXPECT_EQ(result.outcome, ProposeOutcome::kApplied);
    EXPECT_EQ(result.answer, std::to_string(i));
    EXPECT_EQ(result.position, Position(static_cast<uint64_t>(i)));
    EXPECT_GE(node.synced(), result.position.value()) << "answered before it was durable";
  }
  EXPECT_EQ(node.applied().size(), 20u);
  EXPECT_EQ(node.barrier().value(), Position(20));
}

// Many changes at once share entries: far fewer syncs than changes, and the order of arrival stays.
TEST(LocalReplica, GathersWhatArrivesDuringAnAppend) {
  const TempDirectory directory;
  LocalNode node(directory.path());
  constexpr int kChanges = 5'000;
  std::vector<std::future<ProposeResult>> results;
  results.reserve(kChanges);
  for (int i = 0; i < kChanges; ++i) results.push_back(node.propose("change " + std::to_string(i)));
  for (int i = 0; i < kChanges; ++i)
    EXPECT_EQ(results[static_cast<size_t>(i)].get().answer, std::to_string(i + 1));
  const ReplicaStatus status = node.status();
  EXPECT_EQ(status.proposals, static_cast<uint64_t>(kChanges));
  EXPECT_LT(status.appends, kChanges / 4u);
  EXPECT_GT(status.append_ms_p50, 0);
  EXPECT_LE(status.append_ms_p50, status.append_ms_p99);
}

// A node that starts again with an older state reads the rest from its log, and goes on behind it.
TEST(LocalReplica, ReplaysWhatTheStateLacks) {
  const TempDirectory directory;
  Hash128 hash_at_4;
  {
    LocalNode node(directory.path());
    for (int i = 1; i <= 4; ++i) node.propose(std::to_string(i)).get();
    hash_at_4 = node.log().head().hash;
    for (int i = 5; i <= 10; ++i) node.propose(std::to_string(i)).get();
  }
  LocalNode node(directory.path(), Position(4), hash_at_4);
  EXPECT_EQ(node.barrier().value(), Position(10));
  EXPECT_EQ(node.applied(), (std::vector<std::string>{"5", "6", "7", "8", "9", "10"}));
  EXPECT_EQ(node.propose("11").get().position, Position(11));
}

// A state that does not come from this log must not write to it: the chain differs, so the node halts with
// words.
TEST(LocalReplica, ForeignStateIsRecognised) {
  const TempDirectory directory;
  {
    LocalNode node(directory.path());
    for (int i = 1; i <= 4; ++i) node.propose(std::to_string(i)).get();
  }
  LocalNode node(directory.path(), Position(4), Hash128{1, 1});
  const ProposeResult result = node.propose("5").get();
  EXPECT_EQ(result.outcome, ProposeOutcome::kHalted);
  EXPECT_NE(result.words.find("rewound or replaced"), std::string::npos);
  EXPECT_TRUE(node.applied().empty());
}

// Bounds: a payload over the limit is refused with words, and stop() leaves nobody waiting.
TEST(LocalReplica, RefusesWhatCannotFit) {
  const TempDirectory directory;
  LocalNode node(directory.path());
  const ProposeResult result = node.propose(std::string(limits::kMaxProposalBytes + 1, 'x')).get();
  EXPECT_EQ(result.outcome, ProposeOutcome::kRefused);
  EXPECT_EQ(node.propose(std::string(limits::kMaxProposalBytes, 'x')).get().outcome,
            ProposeOutcome::kApplied);
  auto late = node.propose("late");
  node.stop();
  EXPECT_NE(late.get().outcome, ProposeOutcome::kRefused);
}

// What a seal closed stays closed: the log takes no appends, in this run and in the next.
TEST(LocalReplica, SealedLogTakesNothing) {
  const TempDirectory directory;
  Tail head;
  {
    LocalNode node(directory.path());
    node.propose("1").get();
    head = node.log().head();
    std::promise<Status> sealed;
    node.log().seal({"etcd at a:2379", Hash128{7, 7}, head.position, head.hash, false},
                    [&](const Status& status) { sealed.set_value(status); });
    EXPECT_TRUE(sealed.get_future().get().ok());
    EXPECT_EQ(node.propose("2").get().outcome, ProposeOutcome::kHalted);
  }
  LocalNode node(directory.path(), head.position, head.hash);
  const ProposeResult result = node.propose("3").get();
  EXPECT_EQ(result.outcome, ProposeOutcome::kHalted);
  EXPECT_NE(result.words.find("etcd at a:2379"), std::string::npos);
  EXPECT_EQ(node.log().head().position, head.position);
}

}  // namespace
}  // namespace waypost::replication
