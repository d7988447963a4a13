// The engine of one node alone: entries in the `log` family of the node's own RocksDB, one synced batch per
// append. The store applies unsynced and is replayed from here after a crash (LOG.md, the local engine).
//
//   position:8          entry
//   0xff "head"         position:8 hash:16      the newest entry; never trimmed, moved in the append's own
//   batch (LOG.md rule 1) 0xff "first"        position:8              the lowest position that can be read;
//   absent: 1 0xff "halt"         words 0xff "seal"         done:1 cluster:16 position:8 hash:16 target
//
// Threads: the verbs of Log are called on the order thread. Disk work runs on `writer`, a serial executor;
// where it is a thread of its own (not the one that applies), entry n is applied while n + 1 is appended. A
// failed write or sync ends the process with status 74.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "replication/log.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
}  // namespace rocksdb

namespace waypost::replication {

struct LocalLogOptions {
  rocksdb::DB* db = nullptr;                      // outlives the log
  rocksdb::ColumnFamilyHandle* family = nullptr;  // `log`; outlives the log
  Executor writer;
  Executor order;
  // Runs on the writer after each synced append, before it is acknowledged: the durable mark follows it. May
  // be empty.
  std::function<void(Position, const Hash128&)> on_synced;
};

// Where a node's log goes on when it grows into a cluster (LOG.md rule 10).
struct Seal {
  std::string target;  // what the operator named: endpoints and key prefix
  Hash128 cluster;
  Position position;  // the last entry of the sealed log
  Hash128 hash;       // of the chain up to it
  bool done = false;  // the genesis was seen at the target
};

class LocalLog final : public Log {
 public:
  // Reads the head and checks it against the newest entry. kCorruption where they contradict each other.
  static Result<std::unique_ptr<LocalLog>> open(LocalLogOptions options);
  // Makes the log begin behind (position, hash), without entries: after a restore. Synced. Only before
  // open().
  static Status begin_behind(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, Position position,
                             const Hash128& hash);
  ~LocalLog() override;

  void append(Position position, const Hash128& previous, std::string bytes, AppendCallback done) override;
  void read(Position from, size_t max_bytes, ReadCallback done) override;
  void tail(TailCallback done) override;
  void trim(Position below, DoneCallback done) override;
  void first(std::function<void(Result<Position>)> done) override;
  void halt(std::string words, DoneCallback done) override;
  void publish(const Presence& presence, DoneCallback done) override;
  void withdraw(const std::string& name, DoneCallback done) override;
  void presences(PresenceCallback done) override;
  void health(std::function<void(Result<Health>)> done) override;

  // Any thread; without asking the disk.
  Tail head() const;
  std::optional<Seal> sealed() const;

  // Seals the log at its head, which must be (seal.position, seal.hash); from then on it takes no appends,
  // also after a restart. Repeatable: an equal seal is a success, another is kFailedPrecondition.
  void seal(Seal seal, DoneCallback done);
  // Records that the genesis stands at the target; the last step of growing.
  void seal_done(DoneCallback done);

 private:
  struct Core;
  explicit LocalLog(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace waypost::replication
