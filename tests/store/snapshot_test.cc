#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "model/limits.h"
#include "store/snapshot.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

// A state in which every table has rows: named and interned objects of both families, sessions, settings,
// members.
void fill(TestStore& store, int routes = 300) {
  store.run({put(1, via("10.0.0.1", "e0")), put(2, via("10.0.1.1", "e1")), put(3, via("fe80::1", "e0")),
             put_group(100, {1, 2}), put_route("2001:db8::/32", 3)});
  std::vector<Command> commands;
  for (int i = 0; i < routes; ++i) {
    const std::string prefix = "10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".0/24";
    if (i % 3 == 0)
      commands.push_back(put_route(prefix, 100));
    else
      commands.push_back(
          put_route(prefix, {{.nexthop = via("10.0.0." + std::to_string(1 + i % 7), "e0"), .weight = 1},
                             {.nexthop = via("10.0.9.9", "e1"), .weight = 2}}));
    if (commands.size() == 1'000 || i + 1 == routes) store.run(std::exchange(commands, {}));
  }
  const auto propose = [&store](auto body) {
    store.propose({.author = "test", .member = {}, .incarnation = 0, .body = std::move(body)});
  };
  propose(SetSetting{.name = "history.revisions", .value = "77"});
  propose(AddMember{.name = "m1", .address = "192.0.2.1:7000"});
}

std::vector<std::string> chunks_of(TestStore& store) {
  SnapshotSource source(store->view());
  std::vector<std::string> chunks;
  while (auto chunk = source.next()) chunks.push_back(std::move(*chunk));
  return chunks;
}

Status add_all(SnapshotSink& sink, const std::vector<std::string>& chunks) {
  for (const std::string& chunk : chunks)
    if (Status status = sink.add(chunk); !status.ok()) return status;
  return {};
}

// A new member takes a snapshot: afterwards its store is the source's, row for row, and applies the same
// entries to the same digests; a client's retry is recognised there too.
TEST(Snapshot, ANewMemberIsEqualAndStaysEqual) {
  TestStore source;
  fill(source);
  TestStore member;
  const std::string target = member.directory() + "/db-2";
  {
    auto sink = SnapshotSink::create(target);
    ASSERT_TRUE(sink.ok());
    Status status = add_all(**sink, chunks_of(source));
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_TRUE((*sink)->done());
    status = (*sink)->finish(false, {});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  member.close();
  ASSERT_TRUE(switch_to_snapshot(member.directory(), target).ok());
  EXPECT_FALSE(std::filesystem::exists(member.directory() + "/db-1"));
  member.reopen();
  EXPECT_EQ(dump(*member), dump(*source));
  EXPECT_EQ(member->stamp().control_digest, source->stamp().control_digest);
  EXPECT_EQ(member->stamp().history, source->stamp().history);
  EXPECT_EQ(member->oldest_history(), source->stamp().revision);
  EXPECT_EQ(member->digest_at(source->stamp().revision), source->stamp().data_digest);
  EXPECT_TRUE(member->verify().ok()) << member->verify().error().message;

  member.time_us = source.time_us;
  const Proposal retry =
      source.next_proposal({.on_refusal = OnRefusal::kAbort,
                            .chained = false,
                            .commands = {put(0, via("10.0.0.77", "e0")), drop(100, true)}});
  const auto first = source.propose_together({retry, retry});
  const auto second = member.propose_together({retry, retry});
  EXPECT_EQ(encode(first[0]), encode(second[0]));
  EXPECT_EQ(encode(first[1]), encode(second[1]));
  EXPECT_EQ(member->stamp().data_digest, source->stamp().data_digest);
  EXPECT_EQ(member->stamp().control_digest, source->stamp().control_digest);
  EXPECT_TRUE(member->verify().ok());
}

// The session table travels: a client whose answer was lost asks the new member and gets the first answer.
TEST(Snapshot, SessionsTravel) {
  TestStore source;
  const Proposal request = source.next_proposal(
      {.on_refusal = OnRefusal::kAbort, .chained = false, .commands = {put(0, via("10.0.0.1", "e0"))}});
  const ProposalAnswer answer = source.propose(request);
  TestStore member;
  const std::string target = member.directory() + "/db-2";
  auto sink = SnapshotSink::create(target);
  Status status = add_all(**sink, chunks_of(source));
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_TRUE((*sink)->finish(false, {}).ok());
  member.close();
  ASSERT_TRUE(switch_to_snapshot(member.directory(), target).ok());
  member.reopen();
  EXPECT_EQ(encode(member.propose(request)), encode(answer));
}

// A restore is a new history: its id is fresh and its revision is above all that were seen, so no feed goes
// on as if nothing had happened.
TEST(Snapshot, ARestoreIsANewHistory) {
  TestStore source;
  fill(source, 10);
  TestStore restored;
  const std::string target = restored.directory() + "/db-7";
  auto sink = SnapshotSink::create(target);
  ASSERT_TRUE(add_all(**sink, chunks_of(source)).ok());
  ASSERT_TRUE((*sink)->finish(true, Revision(5'000)).ok());
  restored->note_durable({.of = DurableMark::Of::kLog, .position = Position(900), .chain = {}});
  restored.close();
  ASSERT_TRUE(switch_to_snapshot(restored.directory(), target).ok());
  restored.reopen();
  EXPECT_NE(restored->stamp().history, source->stamp().history);
  EXPECT_EQ(restored->stamp().cluster, source->stamp().cluster);
  EXPECT_EQ(restored->stamp().revision, Revision(5'000));
  EXPECT_EQ(dump(*restored), dump(*source));
  EXPECT_TRUE(restored->verify().ok()) << restored->verify().error().message;
}

// Whatever happens to the bytes on their way, the receiver says which chunk is wrong and never completes.
TEST(Snapshot, DamageIsFound) {
  TestStore source;
  fill(source, 2'000);
  const std::vector<std::string> good = chunks_of(source);
  ASSERT_GT(good.size(), 5u);
  const auto verdict = [](const std::vector<std::string>& chunks) {
    auto sink = SnapshotSink::create("");
    const Status status = add_all(**sink, chunks);
    return status.ok() ? std::string((*sink)->done() ? "done" : "incomplete") : status.error().message;
  };
  EXPECT_EQ(verdict(good), "done");
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    auto damaged = good;
    std::string& chunk = damaged[random() % damaged.size()];
    chunk[random() % chunk.size()] ^= static_cast<char>(1 << random() % 8);
    EXPECT_NE(verdict(damaged), "done");
  }
  auto missing = good;
  missing.erase(missing.begin() + 2);
  EXPECT_EQ(verdict(missing), "the snapshot is damaged at chunk 2: chunk 3 stands in its place");
  auto swapped = good;
  std::swap(swapped[2], swapped[3]);
  EXPECT_NE(verdict(swapped), "done");
  EXPECT_EQ(verdict({good.begin(), good.end() - 1}), "incomplete");
}

// A stream that was cut goes on where it was, from the cursor of the last chunk that arrived.
TEST(Snapshot, ACutStreamGoesOn) {
  TestStore source;
  fill(source, 2'000);
  const std::vector<std::string> whole = chunks_of(source);
  SnapshotSource reader(source->view());
  for (size_t i = 0; i < whole.size(); ++i) {
    const std::string cursor = reader.cursor();
    reader.next();
    reader.next();
    ASSERT_TRUE(reader.resume_at(cursor).ok());
    EXPECT_EQ(reader.next(), whole[i]);
  }
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_FALSE(reader.resume_at("x").ok());
}

// What is written while a snapshot is taken is not in it.
TEST(Snapshot, IsOneRevision) {
  TestStore source;
  fill(source, 2'000);
  const std::vector<std::string> before = chunks_of(source);
  SnapshotSource reader(source->view());
  for (const std::string& chunk : before) {
    EXPECT_EQ(reader.next(), chunk);
    source.run({put(0, via("10.0.0.5", "e0"))});
  }
}

}  // namespace
}  // namespace waypost::store
