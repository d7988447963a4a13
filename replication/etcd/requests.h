// The few shapes of request that the engine sends, and how answers are taken apart. Used by the engine's .cc
// files.
#pragma once

#include <cstdint>
#include <string>

#include "model/result.h"
#include "replication/etcd/client.h"

namespace waypost::etcd {
class RangeResponse;
class ResponseOp;
class TxnRequest;
class TxnResponse;
}  // namespace waypost::etcd

namespace waypost::replication {

constexpr char kTxnMethod[] = "/etcdserverpb.KV/Txn";

void if_value(etcd::TxnRequest& txn, const std::string& key, const std::string& value);
void if_value_less(etcd::TxnRequest& txn, const std::string& key, const std::string& value);
void if_absent(etcd::TxnRequest& txn, const std::string& key);
void if_mod_revision(etcd::TxnRequest& txn, const std::string& key, int64_t revision);  // 0: absent

void then_put(etcd::TxnRequest& txn, const std::string& key, const std::string& value, int64_t lease = 0);
void then_delete(etcd::TxnRequest& txn, const std::string& key, const std::string& range_end = {});
void then_get(etcd::TxnRequest& txn, const std::string& key, const std::string& range_end = {},
              int64_t limit = 0);
void else_get(etcd::TxnRequest& txn, const std::string& key);

// Parses the answer of a Txn; its error where the call failed.
Result<etcd::TxnResponse> txn_response(const EtcdAnswer& answer);
// The only value of a one-key range; empty where the key is absent (no value that is kept here is empty).
std::string value_of(const etcd::TxnResponse& response, int operation);
int64_t mod_revision_of(const etcd::TxnResponse& response, int operation);  // 0: absent

Error unreadable_answer(const char* method);

}  // namespace waypost::replication
