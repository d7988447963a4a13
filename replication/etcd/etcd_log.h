// The engine for clusters: entries in an etcd cluster that operators already run (LOG.md, the etcd engine).
// Built by the node; all verbs on the order thread.
//
// What keeps it right: an append is one transaction that compares `head` and moves it (rule 1); reads go
// through etcd's quorum, never serializable; nothing trusts a watch to have seen everything, since positions
// are dense and a gap shows.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "replication/etcd/keys.h"
#include "replication/etcd/options.h"
#include "replication/log.h"

namespace waypost::replication {

class LocalLog;
struct Seal;

class EtcdLog final : public Log {
 public:
  // Asks nothing of the network yet. Errors: kInvalidArgument, kIo for what the options name.
  static Result<std::unique_ptr<EtcdLog>> open(const EtcdOptions& options, Executor order);
  ~EtcdLog() override;

  // kNotFound in words for people while there is no genesis: a node that joins waits for it and never makes
  // one (rule 10).
  void genesis(std::function<void(Result<Genesis>)> done);
  // Begins the log behind genesis.position. An equal genesis there is a success, another is
  // kFailedPrecondition. Repeatable.
  void create_genesis(const Genesis& genesis, DoneCallback done);
  // Begins the log anew: everything in it goes, `halt` too. Only where the genesis there is `old`.
  void begin_anew(const Genesis& old, const Genesis& anew, DoneCallback done);

  // Raises the incarnation of `name` and returns it; from then on publish() succeeds only while nobody raised
  // it further (rule 9).
  void claim_incarnation(const std::string& name, std::function<void(Result<uint64_t>)> done);

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

  // "etcd at a:2379,b:2379, log default": for messages and seals.
  std::string describe() const;

 private:
  struct Core;
  explicit EtcdLog(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

// Grows a node's own log into etcd: seals `local` at `seal`, makes the genesis, records that it is done (rule
// 10). Each step may be repeated after a crash; call it with the same seal again, also from a sealed log
// found at start.
void grow(LocalLog& local, EtcdLog& target, const Seal& seal, Log::DoneCallback done);

}  // namespace waypost::replication
