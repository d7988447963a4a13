// What every engine must do, whatever it is made of: each test runs on the local log, on the simulated one
// and on a real etcd.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/limits.h"
#include "replication/entry.h"
#include "tests/replication/log_bench.h"

namespace waypost::replication {
namespace {

struct Engine {
  const char* name;
  std::unique_ptr<LogBench> (*make)();
};

std::string entry_bytes(Position position, const Hash128& previous, const std::string& payload,
                        const std::string& appender = "a") {
  Entry entry;
  entry.position = position;
  entry.previous = previous;
  entry.appender = appender;
  entry.proposals = {payload};
  return encode_entry(entry);
}

class LogContract : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override { bench_ = GetParam().make(); }

  AppendResult append(size_t node, Position position, const Hash128& previous, const std::string& bytes) {
    return bench_
        ->ask<AppendResult>([&](auto done) { bench_->log(node).append(position, previous, bytes, done); })
        .value_or(AppendResult{});
  }
  // Appends behind what this test appended before.
  void grow(size_t node, const std::string& payload) {
    const Position next = Position(hashes_.size());
    const std::string bytes = entry_bytes(next, hashes_.back(), payload);
    ASSERT_EQ(append(node, next, hashes_.back(), bytes).outcome, AppendOutcome::kAppended);
    hashes_.push_back(entry_hash(bytes));
  }
  Result<std::vector<RawEntry>> read(size_t node, Position from, size_t max_bytes = limits::kLogReadBytes) {
    using Answer = Result<std::vector<RawEntry>>;
    return bench_->ask<Answer>([&](auto done) { bench_->log(node).read(from, max_bytes, done); })
        .value_or(Answer(Error{ErrorCode::kDeadlineExceeded, "the read has no answer"}));
  }
  Tail tail(size_t node) {
    const auto answer = bench_->ask<Result<Tail>>([&](auto done) { bench_->log(node).tail(done); });
    EXPECT_TRUE(answer && answer->ok());
    return answer && answer->ok() ? **answer : Tail{};
  }
  Position first(size_t node) {
    const auto answer = bench_->ask<Result<Position>>([&](auto done) { bench_->log(node).first(done); });
    EXPECT_TRUE(answer && answer->ok());
    return answer && answer->ok() ? **answer : Position();
  }
  Status trim(size_t node, Position below) {
    return bench_->ask<Status>([&](auto done) { bench_->log(node).trim(below, done); }).value_or(Status());
  }
  Status publish(size_t node, const Presence& presence) {
    return bench_->ask<Status>([&](auto done) { bench_->log(node).publish(presence, done); })
        .value_or(Status());
  }

  std::unique_ptr<LogBench> bench_;
  std::vector<Hash128> hashes_ = {Hash128{}};  // by position
};

// What one node appends another reads, in order, byte for byte; the tail follows.
TEST_P(LogContract, OrderAndBytes) {
  EXPECT_EQ(tail(0).position, Position(0));
  for (int i = 1; i <= 5; ++i) grow(0, "payload " + std::to_string(i));
  const auto entries = read(1, Position(2));
  ASSERT_TRUE(entries.ok());
  ASSERT_FALSE(entries->empty());
  for (size_t i = 0; i < entries->size(); ++i) {
    const Position position(2 + i);
    EXPECT_EQ((*entries)[i].position, position);
    EXPECT_EQ((*entries)[i].bytes,
              entry_bytes(position, hashes_[position.value() - 1], "payload " + std::to_string(2 + i)));
  }
  EXPECT_EQ(tail(1).position, Position(5));
  EXPECT_EQ(tail(1).hash, hashes_[5]);
}

// Anything but "right behind the head, with its hash" is refused, and leaves no trace.
TEST_P(LogContract, AppendIsFenced) {
  grow(0, "one");
  grow(0, "two");
  const Hash128 other{9, 9};
  struct Case {
    uint64_t position;
    Hash128 previous;
  };
  for (const Case& wrong : {Case{2, hashes_[1]}, Case{3, other}, Case{4, hashes_[2]}, Case{1, hashes_[0]}}) {
    const Position position(wrong.position);
    EXPECT_EQ(
        append(1, position, wrong.previous, entry_bytes(position, wrong.previous, "wrong", "b")).outcome,
        AppendOutcome::kLost);
  }
  EXPECT_EQ(tail(0).position, Position(2));
  EXPECT_EQ(tail(0).hash, hashes_[2]);
  grow(0, "three");
}

// LOG.md rule 1's schedule: a member pauses with an append for position 2 under way; others append and trim
// beyond it, so the place is empty again. The late append must not succeed, or a write on a forked state
// would be acknowledged.
TEST_P(LogContract, LateAppendBehindATrimIsLost) {
  grow(0, "one");
  const std::string late = entry_bytes(Position(2), hashes_[1], "late", "b");
  for (int i = 2; i <= 6; ++i) grow(0, "payload");
  ASSERT_TRUE(trim(0, Position(5)).ok());
  EXPECT_EQ(append(1, Position(2), hashes_[1], late).outcome, AppendOutcome::kLost);
  EXPECT_EQ(tail(1).position, Position(6));
  EXPECT_EQ(tail(1).hash, hashes_[6]);
}

// LOG.md rule 4: after an unknown outcome the same bytes are sent again. They are taken once, whatever became
// of the first try.
TEST_P(LogContract, RepeatingTheSameBytesIsSafe) {
  const std::string bytes = entry_bytes(Position(1), {}, "once");
  EXPECT_EQ(append(0, Position(1), {}, bytes).outcome, AppendOutcome::kAppended);
  const AppendOutcome again = append(0, Position(1), {}, bytes).outcome;
  EXPECT_TRUE(again == AppendOutcome::kAppended || again == AppendOutcome::kLost);
  EXPECT_EQ(tail(0).position, Position(1));
  EXPECT_EQ(tail(0).hash, entry_hash(bytes));
  EXPECT_EQ(read(0, Position(1))->size(), 1u);
}

// Two members race for every position: one wins each, and both read the same line.
TEST_P(LogContract, OneWinsEachPosition) {
  Hash128 previous;
  for (uint64_t p = 1; p <= 20; ++p) {
    const Position position(p);
    const std::string ours[] = {entry_bytes(position, previous, "a", "a"),
                                entry_bytes(position, previous, "b", "b")};
    struct Race {
      std::mutex mutex;
      std::vector<size_t> winners;
      size_t answers = 0;
    };
    const auto race = std::make_shared<Race>();
    bench_->post([this, race, ours, position, previous] {
      for (size_t node : {0u, 1u}) {
        bench_->log(node).append(position, previous, ours[node], [race, node](const AppendResult& result) {
          const std::lock_guard lock(race->mutex);
          if (result.outcome == AppendOutcome::kAppended) race->winners.push_back(node);
          ++race->answers;
        });
      }
    });
    ASSERT_TRUE(bench_->wait([&] {
      const std::lock_guard lock(race->mutex);
      return race->answers == 2;
    }));
    ASSERT_EQ(race->winners.size(), 1u) << "position " << p;
    previous = entry_hash(ours[race->winners[0]]);
    EXPECT_EQ(read(1 - race->winners[0], position)->front().bytes, ours[race->winners[0]]);
  }
}

// A reader at the end waits and is given what comes, however it comes, without a gap.
TEST_P(LogContract, ReaderWaitsForWhatComes) {
  grow(0, "one");
  Position next(1);
  for (int round = 0; round < 10; ++round) {
    struct Slot {
      std::mutex mutex;
      std::optional<Result<std::vector<RawEntry>>> entries;
    };
    const auto slot = std::make_shared<Slot>();
    bench_->post([this, slot, next] {
      bench_->log(1).read(next, limits::kLogReadBytes, [slot](Result<std::vector<RawEntry>> entries) {
        const std::lock_guard lock(slot->mutex);
        slot->entries = std::move(entries);
      });
    });
    if (next.value() >= hashes_.size()) {
      grow(0, "more");
      grow(0, "and more");
    }
    ASSERT_TRUE(bench_->wait([&] {
      const std::lock_guard lock(slot->mutex);
      return slot->entries.has_value();
    }));
    ASSERT_TRUE(slot->entries->ok());
    for (const RawEntry& entry : **slot->entries) {
      EXPECT_EQ(entry.position, next);
      EXPECT_EQ(entry_hash(entry.bytes), hashes_[next.value()]);
      next = next.next();
    }
  }
  EXPECT_GT(next, Position(6));
}

// A reader that starts far behind gets everything in pages of about the size it asked for.
TEST_P(LogContract, CatchesUpInPages) {
  for (int i = 1; i <= 120; ++i) grow(0, std::string(1'000, 'x'));
  Position next(1);
  size_t pages = 0;
  while (next <= Position(120)) {
    const auto entries = read(1, next, 10'000);
    ASSERT_TRUE(entries.ok());
    EXPECT_LE(entries->size(), 12u);
    for (const RawEntry& entry : *entries) {
      ASSERT_EQ(entry.position, next);
      next = next.next();
    }
    ++pages;
  }
  EXPECT_GE(pages, 10u);
}

// The largest entry that may be made fits.
TEST_P(LogContract, LargestEntryFits) {
  grow(0, std::string(limits::kMaxProposalBytes, 'x'));
  grow(0, "small");
  const auto entries = read(1, Position(1));
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(decode_entry(entries->front().bytes)->proposals[0].size(), limits::kMaxProposalBytes);
}

// Trimming moves the beginning, never back and never the head; a reader below it hears "trimmed" instead of
// skipping.
TEST_P(LogContract, TrimUnderAReader) {
  EXPECT_EQ(first(0), Position(1));
  for (int i = 1; i <= 10; ++i) grow(0, "payload");
  ASSERT_TRUE(trim(0, Position(6)).ok());
  EXPECT_EQ(first(1), Position(6));
  ASSERT_TRUE(trim(1, Position(3)).ok());
  EXPECT_EQ(first(0), Position(6));
  const auto below = read(1, Position(5));
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(below.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read(1, Position(6))->front().position, Position(6));
  // All of it: the head still fences.
  ASSERT_TRUE(trim(0, Position(11)).ok());
  EXPECT_EQ(tail(1).position, Position(10));
  EXPECT_EQ(tail(1).hash, hashes_[10]);
  grow(1, "goes on");
  EXPECT_EQ(read(0, Position(11))->front().position, Position(11));
}

// LOG.md rule 2: a halted log takes no appends from anybody, says why, and can still be read.
TEST_P(LogContract, HaltStopsEveryAppender) {
  grow(0, "one");
  const auto halted = bench_->ask<Status>([&](auto done) { bench_->log(1).halt("node-b: rewound", done); });
  ASSERT_TRUE(halted && halted->ok());
  const AppendResult result = append(0, Position(2), hashes_[1], entry_bytes(Position(2), hashes_[1], "two"));
  EXPECT_EQ(result.outcome, AppendOutcome::kHalted);
  EXPECT_EQ(result.words, "node-b: rewound");
  EXPECT_EQ(tail(0).halt_words, "node-b: rewound");
  EXPECT_EQ(tail(0).position, Position(1));
  EXPECT_EQ(read(0, Position(1))->size(), 1u);
}

// LOG.md rule 9: presence shows who is there; a process that was started again is told to end.
TEST_P(LogContract, HigherIncarnationWins) {
  Presence presence;
  presence.name = "node-a";
  presence.incarnation = 4;
  presence.address = "10.0.0.1:7600";
  presence.applied = Position(17);
  presence.durable = Position(15);
  presence.revision = 12;
  presence.data_digest = Hash128{1, 2};
  presence.rules_level = 3;
  presence.status = "ok";
  ASSERT_TRUE(publish(0, presence).ok());
  Presence again = presence;
  again.incarnation = 5;
  again.applied = Position(20);
  ASSERT_TRUE(publish(1, again).ok());
  const Status old = publish(0, presence);
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, ErrorCode::kFailedPrecondition);
  const auto all =
      bench_->ask<Result<std::vector<Presence>>>([&](auto done) { bench_->log(0).presences(done); });
  ASSERT_TRUE(all && all->ok());
  ASSERT_EQ((**all).size(), 1u);
  EXPECT_EQ((**all)[0].incarnation, 5u);
  EXPECT_EQ((**all)[0].applied, Position(20));
  EXPECT_EQ((**all)[0].durable, Position(15));
  EXPECT_EQ((**all)[0].address, "10.0.0.1:7600");
  EXPECT_EQ((**all)[0].data_digest, (Hash128{1, 2}));
  EXPECT_EQ((**all)[0].status, "ok");
}

TEST_P(LogContract, WhoLeavesIsGoneAtOnce) {
  Presence presence;
  presence.name = "node-a";
  presence.incarnation = 1;
  ASSERT_TRUE(publish(0, presence).ok());
  const auto left =
      bench_->ask<Status>([&](auto done) { bench_->log(0).withdraw("node-a", std::move(done)); });
  ASSERT_TRUE(left && left->ok());
  const auto all =
      bench_->ask<Result<std::vector<Presence>>>([&](auto done) { bench_->log(1).presences(done); });
  ASSERT_TRUE(all && all->ok());
  EXPECT_TRUE((**all).empty());
}

// Every engine says which it is and that it is well.
TEST_P(LogContract, HealthHasFacts) {
  grow(0, "one");
  const auto health = bench_->ask<Result<Log::Health>>([&](auto done) { bench_->log(0).health(done); });
  ASSERT_TRUE(health && health->ok());
  EXPECT_TRUE((*health)->healthy) << (*health)->problems.front();
  EXPECT_EQ((*health)->facts.front().first, "engine");
}

INSTANTIATE_TEST_SUITE_P(Engines, LogContract,
                         testing::Values(Engine{"local", make_local_bench}, Engine{"sim", make_sim_bench},
                                         Engine{"etcd", make_etcd_bench}),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace waypost::replication
