// Where a log begins, and how a node's own log goes on in etcd (LOG.md rule 10).
#include <utility>

#include "model/mutant.h"
#include "replication/etcd/etcd.pb.h"
#include "replication/etcd/etcd_log.h"
#include "replication/etcd/etcd_log_core.h"
#include "replication/etcd/requests.h"
#include "replication/local_log.h"

namespace waypost::replication {
namespace {

void put_beginning(etcd::TxnRequest& txn, const EtcdKeys& keys, const Genesis& genesis) {
  then_put(txn, keys.genesis(), encode_genesis(genesis));
  then_put(txn, keys.head(), encode_head({genesis.position, genesis.hash}));
  then_put(txn, keys.trim(), EtcdKeys::hex(genesis.position.next()));
}

Error other_genesis(const EtcdOptions& options, const std::optional<Genesis>& found) {
  const std::string what = found ? "another cluster (" + to_string(found->cluster) +
                                       ", begun behind position " + std::to_string(found->position.value()) +
                                       ")"
                                 : "something that is no log";
  return {ErrorCode::kFailedPrecondition, "etcd holds " + what + " under the name " + options.cluster,
          "choose another name, or join that cluster"};
}

}  // namespace

void EtcdLog::genesis(std::function<void(Result<Genesis>)> done) {
  etcd::TxnRequest txn;
  then_get(txn, core_->keys.genesis());
  core_->txn(txn, [core = core_, done = std::move(done)](const Result<etcd::TxnResponse>& response,
                                                         const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    const std::string value = value_of(*response, 0);
    if (value.empty()) return done(core->no_log());
    const std::optional<Genesis> found = decode_genesis(value);
    if (!found) return done(other_genesis(core->options, found));
    done(*found);
  });
}

void EtcdLog::create_genesis(const Genesis& genesis, DoneCallback done) {
  const EtcdKeys& keys = core_->keys;
  etcd::TxnRequest txn;
  if (!mutant("genesis_overwritten")) {
    if_absent(txn, keys.genesis());
    if_absent(txn, keys.head());
  }
  put_beginning(txn, keys, genesis);
  else_get(txn, keys.genesis());
  core_->txn(txn, [core = core_, genesis, done = std::move(done)](const Result<etcd::TxnResponse>& response,
                                                                  const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    if (response->succeeded()) return done({});
    const std::optional<Genesis> found = decode_genesis(value_of(*response, 0));
    if (found && *found == genesis) return done({});
    done(other_genesis(core->options, found));
  });
}

void EtcdLog::begin_anew(const Genesis& old, const Genesis& anew, DoneCallback done) {
  const EtcdKeys& keys = core_->keys;
  etcd::TxnRequest txn;
  if_value(txn, keys.genesis(), encode_genesis(old));
  put_beginning(txn, keys, anew);
  then_delete(txn, keys.halt());
  then_delete(txn, keys.log(), keys.log_end());
  else_get(txn, keys.genesis());
  core_->txn(txn, [core = core_, anew, done = std::move(done)](const Result<etcd::TxnResponse>& response,
                                                               const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    if (response->succeeded()) return done({});
    const std::optional<Genesis> found = decode_genesis(value_of(*response, 0));
    if (found && *found == anew) return done({});
    done(other_genesis(core->options, found));
  });
}

void grow(LocalLog& local, EtcdLog& target, const Seal& seal, Log::DoneCallback done) {
  local.seal(seal, [&local, &target, seal, done = std::move(done)](const Status& sealed) {
    if (!sealed.ok()) return done(sealed);
    target.create_genesis({seal.cluster, seal.position, seal.hash}, [&local, done](const Status& made) {
      if (!made.ok()) return done(made);
      local.seal_done(done);
    });
  });
}

}  // namespace waypost::replication
