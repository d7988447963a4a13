#include "replication/etcd/requests.h"

#include "replication/etcd/etcd.pb.h"

namespace waypost::replication {
namespace {

etcd::Compare& compare(etcd::TxnRequest& txn, const std::string& key, etcd::Compare::Target target) {
  etcd::Compare& added = *txn.add_compare();
  added.set_result(etcd::Compare::EQUAL);
  added.set_target(target);
  added.set_key(key);
  return added;
}

void get(etcd::RequestOp& operation, const std::string& key, const std::string& range_end, int64_t limit) {
  etcd::RangeRequest& range = *operation.mutable_request_range();
  range.set_key(key);
  range.set_range_end(range_end);
  range.set_limit(limit);
}

}  // namespace

void if_value(etcd::TxnRequest& txn, const std::string& key, const std::string& value) {
  compare(txn, key, etcd::Compare::VALUE).set_value(value);
}

void if_value_less(etcd::TxnRequest& txn, const std::string& key, const std::string& value) {
  etcd::Compare& added = compare(txn, key, etcd::Compare::VALUE);
  added.set_result(etcd::Compare::LESS);
  added.set_value(value);
}

void if_absent(etcd::TxnRequest& txn, const std::string& key) {
  compare(txn, key, etcd::Compare::VERSION).set_version(0);
}

void if_mod_revision(etcd::TxnRequest& txn, const std::string& key, int64_t revision) {
  compare(txn, key, etcd::Compare::MOD).set_mod_revision(revision);
}

void then_put(etcd::TxnRequest& txn, const std::string& key, const std::string& value, int64_t lease) {
  etcd::PutRequest& put = *txn.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
  put.set_lease(lease);
}

void then_delete(etcd::TxnRequest& txn, const std::string& key, const std::string& range_end) {
  etcd::DeleteRangeRequest& range = *txn.add_success()->mutable_request_delete_range();
  range.set_key(key);
  range.set_range_end(range_end);
}

void then_get(etcd::TxnRequest& txn, const std::string& key, const std::string& range_end, int64_t limit) {
  get(*txn.add_success(), key, range_end, limit);
}

void else_get(etcd::TxnRequest& txn, const std::string& key) {
  get(*txn.add_failure(), key, {}, 0);
}

Result<etcd::TxnResponse> txn_response(const EtcdAnswer& answer) {
  if (!answer.status.ok()) return answer.status.error();
  etcd::TxnResponse response;
  if (!response.ParseFromString(answer.bytes)) return unreadable_answer("Txn");
  return response;
}

std::string value_of(const etcd::TxnResponse& response, int operation) {
  if (operation >= response.responses_size()) return {};
  const etcd::RangeResponse& range = response.responses(operation).response_range();
  return range.kvs_size() == 0 ? std::string() : range.kvs(0).value();
}

int64_t mod_revision_of(const etcd::TxnResponse& response, int operation) {
  if (operation >= response.responses_size()) return 0;
  const etcd::RangeResponse& range = response.responses(operation).response_range();
  return range.kvs_size() == 0 ? 0 : range.kvs(0).mod_revision();
}

Error unreadable_answer(const char* method) {
  return {ErrorCode::kInternal, std::string("etcd: unreadable answer to ") + method,
          "is this an etcd of version 3.4 or later?"};
}

}  // namespace waypost::replication
