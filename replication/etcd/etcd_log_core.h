// The inside of EtcdLog, divided among etcd_log.cc (the log's verbs), members.cc (presence, incarnations),
// genesis.cc and health.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replication/etcd/client.h"
#include "replication/etcd/etcd_log.h"
#include "replication/etcd/reader.h"

namespace waypost::etcd {
class TxnRequest;
class TxnResponse;
}  // namespace waypost::etcd

namespace waypost::replication {

struct EtcdLog::Core : std::enable_shared_from_this<EtcdLog::Core> {
  Core(const EtcdOptions& given, Executor given_order)
      : options(given), order(std::move(given_order)), keys(given.cluster) {}

  using TxnCallback = std::function<void(Result<etcd::TxnResponse>, const EtcdAnswer&)>;
  void txn(const etcd::TxnRequest& request, TxnCallback done);

  // etcd_log.cc
  void on_append(const Hash128& hash, Position position, const Result<etcd::TxnResponse>& response,
                 const EtcdAnswer& answer, const AppendCallback& done);
  void trim_step(Position from, Position below, bool marked, DoneCallback done);
  void compact(int64_t revision);
  Error no_log() const;

  // members.cc
  struct Publishing {
    std::optional<Presence> presence;   // the newest that was given
    std::vector<DoneCallback> waiting;  // for the next round
    std::vector<DoneCallback> running;  // of this round
    bool busy = false;
    bool superseded = false;  // someone with a higher incarnation is there: never publish again
    bool withdrawn = false;   // this node leaves: never publish again
    DoneCallback leaving;     // waits for the round that runs
    int64_t lease = 0;
    uint64_t lease_at_ms = 0;
    int64_t mod_revision = 0;  // of our key as last seen
    int tries = 0;
    uint64_t published_at_ms = 0;
    bool keeping_alive = false;
  };
  void start_publishing();
  void put_presence();
  void on_presence(const Result<etcd::TxnResponse>& response);
  void finish_publishing(const Status& status);
  void delete_presence();
  void keep_alive();
  void try_claim(const std::string& name, int tries, std::function<void(Result<uint64_t>)> done);

  const EtcdOptions options;
  const Executor order;
  const EtcdKeys keys;
  std::unique_ptr<EtcdClient> client;
  std::shared_ptr<EtcdReader> reader;
  Publishing publishing;
  std::optional<std::pair<std::string, uint64_t>> claimed;  // name and incarnation
};

}  // namespace waypost::replication
