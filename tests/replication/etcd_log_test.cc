// What belongs to etcd alone, on real servers: beginnings, growth, leases, and what happens when a server is
// gone, paused, full or compacted.
#include "replication/etcd/etcd_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "replication/entry.h"
#include "replication/local_log.h"
#include "tests/replication/etcd_node.h"
#include "tests/replication/etcd_server.h"
#include "tests/replication/temp_db.h"

namespace waypost::replication {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

EtcdServer& shared_server() {
  static EtcdServer server;
  return server;
}

EtcdOptions options_for(const EtcdServer& server, const std::string& cluster) {
  EtcdOptions options;
  options.endpoints = {server.endpoint()};
  options.cluster = cluster;
  options.request_timeout_ms = 1'000;
  return options;
}

template <typename Done>
bool within(milliseconds limit, const Done& done) {
  const auto end = steady_clock::now() + limit;
  while (!done()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::string text_of(const Log::Health& health) {
  std::string text;
  for (const auto& [name, value] : health.facts) text += name + ": " + value + "\n";
  for (const std::string& problem : health.problems) text += "problem: " + problem + "\n";
  return text;
}

// LOG.md rule 10: before a genesis there is no log, and a node that joins is told what it waits for; an equal
// genesis is a success, another is refused, whoever comes first.
TEST(EtcdLog, GenesisIsMadeOnce) {
  EtcdNode node("a", options_for(shared_server(), "genesis"));
  const auto none = node.ask<Result<Genesis>>([](EtcdLog& log, auto done) { log.genesis(done); });
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_NE(none.error().message.find("no log named genesis"), std::string::npos);
  EXPECT_FALSE(node.ask<Result<Tail>>([](EtcdLog& log, auto done) { log.tail(done); }).ok());
  const Genesis first{Hash128{1, 2}, Position(40), Hash128{3, 4}};
  const auto create = [&](const Genesis& genesis) {
    return node.ask<Status>([genesis](EtcdLog& log, auto done) { log.create_genesis(genesis, done); });
  };
  EXPECT_TRUE(create(first).ok());
  EXPECT_TRUE(create(first).ok());
  const Status other = create({Hash128{9, 9}, Position(), {}});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(*node.ask<Result<Genesis>>([](EtcdLog& log, auto done) { log.genesis(done); }), first);
  const Tail tail = *node.ask<Result<Tail>>([](EtcdLog& log, auto done) { log.tail(done); });
  EXPECT_EQ(tail.position, Position(40));
  EXPECT_EQ(tail.hash, (Hash128{3, 4}));
  EXPECT_EQ(*node.ask<Result<Position>>([](EtcdLog& log, auto done) { log.first(done); }), Position(41));
}

// LOG.md rule 10: a node's own log is sealed and goes on in etcd at the next position, with the same chain;
// repeating it after a crash changes nothing, and another node cannot grow into the same place.
TEST(EtcdLog, LocalLogGrowsIntoIt) {
  const TempDirectory directory;
  const LogDatabase db(directory.path());
  SerialThread disk;
  EtcdNode node("a", options_for(shared_server(), "growth"));
  LocalLogOptions local_options;
  local_options.db = db.db();
  local_options.family = db.family();
  local_options.writer = disk.executor();
  local_options.order = node.executor();
  const auto local = std::move(LocalLog::open(local_options)).value();
  Hash128 hash;
  for (uint64_t p = 1; p <= 3; ++p) {
    Entry entry;
    entry.position = Position(p);
    entry.previous = hash;
    const std::string bytes = encode_entry(entry);
    std::promise<AppendResult> done;
    local->append(entry.position, hash, bytes,
                  [&](AppendResult result) { done.set_value(std::move(result)); });
    EXPECT_EQ(done.get_future().get().outcome, AppendOutcome::kAppended);
    hash = entry_hash(bytes);
  }
  const Seal seal{"etcd", Hash128{5, 5}, Position(3), hash, false};
  const auto grow_with = [&](const Seal& given) {
    return node.ask<Status>([&local, given](EtcdLog& log, auto done) { grow(*local, log, given, done); });
  };
  Seal wrong = seal;
  wrong.position = Position(2);
  EXPECT_FALSE(grow_with(wrong).ok()) << "sealed somewhere else than at its head";
  EXPECT_TRUE(grow_with(seal).ok());
  EXPECT_TRUE(grow_with(seal).ok());
  EXPECT_TRUE(local->sealed()->done);
  wrong = seal;
  wrong.cluster = Hash128{6, 6};
  EXPECT_FALSE(grow_with(wrong).ok());
  const Tail tail = *node.ask<Result<Tail>>([](EtcdLog& log, auto done) { log.tail(done); });
  EXPECT_EQ(tail.position, Position(3));
  EXPECT_EQ(tail.hash, hash);
  disk.join();
}

// Beginning anew is what operators do after a rewound log: only from the genesis they know, and everything of
// the old line goes.
TEST(EtcdLog, BeginsAnew) {
  EtcdNode node("a", options_for(shared_server(), "anew"));
  const Genesis old{Hash128{7, 7}, Position(), {}};
  const Genesis anew{Hash128{8, 8}, Position(90), Hash128{1, 1}};
  ASSERT_TRUE(node.create_genesis().ok());
  ASSERT_TRUE(node.ask<Status>([](EtcdLog& log, auto done) { log.halt("rewound", done); }).ok());
  const auto begin = [&](const Genesis& from) {
    return node.ask<Status>([from, anew](EtcdLog& log, auto done) { log.begin_anew(from, anew, done); });
  };
  EXPECT_FALSE(begin({Hash128{6, 6}, Position(), {}}).ok());
  EXPECT_TRUE(begin(old).ok());
  EXPECT_TRUE(begin(old).ok());
  const Tail tail = *node.ask<Result<Tail>>([](EtcdLog& log, auto done) { log.tail(done); });
  EXPECT_EQ(tail.position, Position(90));
  EXPECT_EQ(tail.halt_words, "");
}

// LOG.md rule 9: each start raises the incarnation. A process that slept through a restart of its successor,
// and finds every lease expired, still learns that it must end.
TEST(EtcdLog, IncarnationsOnlyGrow) {
  EtcdOptions options = options_for(shared_server(), "incarnations");
  options.presence_ttl_s = 2;
  EtcdNode old("a", options);
  ASSERT_TRUE(old.create_genesis().ok());
  const auto claim = [](EtcdNode& node) {
    return *node.ask<Result<uint64_t>>([](EtcdLog& log, auto done) { log.claim_incarnation("a", done); });
  };
  const auto publish = [](EtcdNode& node, uint64_t incarnation) {
    Presence presence;
    presence.name = "a";
    presence.incarnation = incarnation;
    return node.ask<Status>([presence](EtcdLog& log, auto done) { log.publish(presence, done); });
  };
  const auto count = [](EtcdNode& node) {
    return node.ask<Result<std::vector<Presence>>>([](EtcdLog& log, auto done) { log.presences(done); })
        ->size();
  };
  EXPECT_EQ(claim(old), 1u);
  EXPECT_TRUE(publish(old, 1).ok());
  EtcdNode watcher("b", options);
  {
    EtcdNode anew("a", options);
    EXPECT_EQ(claim(anew), 2u);
    EXPECT_TRUE(publish(anew, 2).ok()) << "a restart takes over at once";
    EXPECT_FALSE(publish(old, 1).ok());
    // Kept alive by the engine beyond its time to live.
    std::this_thread::sleep_for(milliseconds(4'500));
    EXPECT_EQ(count(watcher), 1u);
  }
  EXPECT_TRUE(within(milliseconds(9'000), [&] { return count(watcher) == 0; }))
      << "the presence of a dead member stays";
  const Status late = publish(old, 1);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kFailedPrecondition);
}

// Two members write at once through one etcd: both apply the same line, each change once, and reads are
// linearizable.
TEST(EtcdReplica, TwoMembersAgree) {
  const EtcdOptions options = options_for(shared_server(), "agree");
  EtcdNode a("a", options);
  EtcdNode b("b", options);
  ASSERT_TRUE(a.create_genesis().ok());
  a.start();
  b.start();
  constexpr int kEach = 400;
  std::vector<std::future<ProposeResult>> results;
  for (int i = 0; i < kEach; ++i) {
    results.push_back(a.propose("a" + std::to_string(i)));
    results.push_back(b.propose("b" + std::to_string(i)));
    if (i % 20 == 0) std::this_thread::sleep_for(milliseconds(2));
  }
  for (auto& result : results) EXPECT_EQ(result.get().outcome, ProposeOutcome::kApplied);
  ASSERT_TRUE(a.barrier(2'000).ok());
  ASSERT_TRUE(b.barrier(2'000).ok());
  const std::vector<std::string> rows = a.rows();
  EXPECT_EQ(rows, b.rows());
  EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), 2u * kEach);
  EXPECT_GT(a.status().append_ms_p50, 0);
}

// A refused connection is told within a second, with the endpoint's name; where another endpoint works it is
// used.
TEST(EtcdLog, RefusedConnectionIsNamed) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
  EtcdOptions options = options_for(shared_server(), "refused");
  options.endpoints = {nobody};
  const auto started = steady_clock::now();
  {
    EtcdNode node("a", options);
    const auto tail = node.ask<Result<Tail>>([](EtcdLog& log, auto done) { log.tail(done); });
    ASSERT_FALSE(tail.ok());
    EXPECT_EQ(tail.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(tail.error().message.find(nobody), std::string::npos);
    const auto appended =
        node.ask<AppendResult>([](EtcdLog& log, auto done) { log.append(Position(1), {}, "x", done); });
    EXPECT_EQ(appended.outcome, AppendOutcome::kUnreachable);
  }
  EXPECT_LT(steady_clock::now() - started, milliseconds(1'500));
  options.endpoints = {nobody, shared_server().endpoint()};
  EtcdNode node("a", options);
  EXPECT_TRUE(node.create_genesis().ok());
}

// What cannot work is told before anything is tried.
TEST(EtcdLog, BadOptionsAreNamed) {
  EtcdOptions options;
  const Executor nowhere = [](const std::function<void()>&) {};
  EXPECT_FALSE(EtcdLog::open(options, nowhere).ok());
  options.endpoints = {"no-port"};
  EXPECT_EQ(EtcdLog::open(options, nowhere).error().code, ErrorCode::kInvalidArgument);
  options.endpoints = {"https://127.0.0.1:2379"};
  options.ca_file = "/nowhere/ca.pem";
  EXPECT_EQ(EtcdLog::open(options, nowhere).error().code, ErrorCode::kIo);
  options.ca_file = "";
  options.cluster = "a/b";
  EXPECT_EQ(EtcdLog::open(options, nowhere).error().code, ErrorCode::kInvalidArgument);
}

// LOG.md rules 4 and 6 on a server that is paused: what was handed over is unknown, what comes later was
// never handed over, reads fail in time; when it runs again everything is there at most once and the node
// writes on.
TEST(EtcdReplica, PausedServer) {
  EtcdServer server;
  EtcdNode node("a", options_for(server, "paused"), 1'500);
  ASSERT_TRUE(node.create_genesis().ok());
  node.start();
  EXPECT_EQ(node.propose("before").get().outcome, ProposeOutcome::kApplied);
  server.pause();
  const auto started = steady_clock::now();
  auto handed = node.propose("handed over");
  std::this_thread::sleep_for(milliseconds(100));
  auto queued = node.propose("queued");
  const auto read = node.barrier(800);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(handed.get().outcome, ProposeOutcome::kUnknown);
  EXPECT_EQ(queued.get().outcome, ProposeOutcome::kUnreachable);
  EXPECT_LT(steady_clock::now() - started, milliseconds(3'000));
  server.resume();
  EXPECT_TRUE(within(milliseconds(10'000),
                     [&] { return node.propose("after").get().outcome == ProposeOutcome::kApplied; }));
  const std::vector<std::string> rows = node.rows();
  EXPECT_LE(std::count(rows.begin(), rows.end(), "handed over"), 1);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "queued"), 0);
}

// Kill -9 of the server under load: nothing acknowledged is lost, nothing happens twice, and writes go on by
// themselves.
TEST(EtcdReplica, KilledServer) {
  EtcdServer server;
  const EtcdOptions options = options_for(server, "killed");
  EtcdNode node("a", options, 20'000);
  ASSERT_TRUE(node.create_genesis().ok());
  node.start();
  std::vector<std::future<ProposeResult>> results;
  for (int i = 0; i < 300; ++i) {
    results.push_back(node.propose("change " + std::to_string(i)));
    std::this_thread::sleep_for(milliseconds(1));
    if (i == 150) server.restart();
  }
  for (auto& result : results) EXPECT_EQ(result.get().outcome, ProposeOutcome::kApplied);
  const std::vector<std::string> rows = node.rows();
  EXPECT_EQ(rows.size(), 300u);
  EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), 300u);
  // A member that joins now reads the same.
  EtcdNode late("b", options);
  late.start();
  ASSERT_TRUE(late.barrier(5'000).ok());
  EXPECT_EQ(late.rows(), rows);
}

// A writer trims right behind its own appends, before its watch has shown it any of them: what it appended it
// knows, so an entry of its own that is gone does not send it for a snapshot.
TEST(EtcdReplica, TrimsBehindItself) {
  EtcdServer server;
  EtcdOptions options = options_for(server, "behind-itself");
  options.dedicated = true;
  EtcdNode writer("a", options);
  ASSERT_TRUE(writer.create_genesis().ok());
  writer.start();
  for (uint64_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(writer.propose("change " + std::to_string(i)).get().outcome, ProposeOutcome::kApplied) << i;
    if (i % 10 != 0) continue;
    EXPECT_TRUE(writer.ask<Status>([i](EtcdLog& log, auto done) { log.trim(Position(i), done); }).ok());
  }
  EXPECT_FALSE(writer.status().trimmed_past);
}

// Someone compacts etcd under the readers, again and again: watches are cancelled and replaced, and nothing
// is missed. As everywhere, only what each of them has applied is trimmed.
TEST(EtcdReplica, CompactionUnderAWatch) {
  EtcdServer server;
  EtcdOptions options = options_for(server, "compacted");
  options.dedicated = true;
  EtcdNode writer("a", options);
  EtcdNode reader("b", options);
  ASSERT_TRUE(writer.create_genesis().ok());
  writer.start();
  reader.start();
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(writer.propose("change " + std::to_string(i)).get().outcome, ProposeOutcome::kApplied);
    if (i % 50 == 49) {
      const Position below(static_cast<uint64_t>(i) - 20);
      ASSERT_TRUE(within(milliseconds(5'000), [&] { return !(reader.status().applied < below); }));
      EXPECT_TRUE(writer.ask<Status>([below](EtcdLog& log, auto done) { log.trim(below, done); }).ok());
    }
  }
  ASSERT_TRUE(reader.barrier(5'000).ok());
  EXPECT_EQ(reader.rows(), writer.rows());
}

// A full etcd refuses with the cure in its words, reads go on, and health shows the alarm.
TEST(EtcdReplica, FullServer) {
  EtcdServer server({"--quota-backend-bytes=4194304"});
  EtcdNode node("a", options_for(server, "full"), 5'000);
  ASSERT_TRUE(node.create_genesis().ok());
  node.start();
  ProposeResult last;
  for (int i = 0; i < 40 && last.outcome != ProposeOutcome::kRefused; ++i)
    last = node.propose(std::string(400'000, 'x')).get();
  ASSERT_EQ(last.outcome, ProposeOutcome::kRefused);
  EXPECT_NE(last.words.find("defrag"), std::string::npos) << last.words;
  EXPECT_TRUE(node.barrier(2'000).ok());
  const auto health = node.ask<Result<Log::Health>>([](EtcdLog& log, auto done) { log.health(done); });
  ASSERT_TRUE(health.ok());
  EXPECT_FALSE(health->healthy);
  EXPECT_NE(text_of(*health).find("NOSPACE at only"), std::string::npos) << text_of(*health);
}

// Operators see each server, the leader and the space; a server that is not reached is a problem with its
// name.
TEST(EtcdLog, HealthNamesServers) {
  EtcdOptions options = options_for(shared_server(), "health");
  const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
  options.endpoints.push_back(nobody);
  EtcdNode node("a", options);
  const auto health = node.ask<Result<Log::Health>>([](EtcdLog& log, auto done) { log.health(done); });
  ASSERT_TRUE(health.ok());
  const std::string text = text_of(*health);
  EXPECT_NE(text.find("server " + shared_server().endpoint() + ": etcd 3."), std::string::npos) << text;
  EXPECT_NE(text.find("leader: only"), std::string::npos) << text;
  EXPECT_NE(text.find("alarms: none"), std::string::npos) << text;
  EXPECT_NE(text.find("problem: no connection to etcd at " + nobody), std::string::npos) << text;
  EXPECT_FALSE(health->healthy);
}

// Users and passwords: with the right ones everything works, with wrong ones the words say what to check.
TEST(EtcdLog, UserAndPassword) {
  EtcdServer server;
  ASSERT_TRUE(server.ctl("user add root:secret"));
  ASSERT_TRUE(server.ctl("user grant-role root root"));
  ASSERT_TRUE(server.ctl("auth enable"));
  EtcdOptions options = options_for(server, "auth");
  options.user = "root";
  options.password = "secret";
  {
    EtcdNode node("a", options);
    ASSERT_TRUE(node.create_genesis().ok());
    node.start();
    EXPECT_EQ(node.propose("one").get().outcome, ProposeOutcome::kApplied);
  }
  options.password = "wrong";
  EtcdNode node("a", options);
  const Status refused = node.create_genesis();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE((refused.error().message + refused.error().hint).find("password"), std::string::npos);
}

// TLS: with the right authority everything works; with none the connection is refused, never unencrypted.
TEST(EtcdLog, Tls) {
  const TempDirectory files;
  const std::string key = files.path() + "/key.pem";
  const std::string certificate = files.path() + "/cert.pem";
  const std::string make =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=waypost -addext "
      "subjectAltName=IP:127.0.0.1 "
      "-keyout " +
      key + " -out " + certificate + " 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  EtcdServer server({"--cert-file=" + certificate, "--key-file=" + key});
  EtcdOptions options = options_for(server, "tls");
  options.endpoints = {"https://" + server.endpoint()};
  options.ca_file = certificate;
  {
    EtcdNode node("a", options);
    ASSERT_TRUE(node.create_genesis().ok());
    node.start();
    EXPECT_EQ(node.propose("one").get().outcome, ProposeOutcome::kApplied);
  }
  options.ca_file = "";
  EtcdNode node("a", options);
  EXPECT_FALSE(node.try_genesis().ok());
}

}  // namespace
}  // namespace waypost::replication
