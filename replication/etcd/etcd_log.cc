#include "replication/etcd/etcd_log.h"

#include <algorithm>
#include <utility>

#include "model/limits.h"
#include "model/mutant.h"
#include "replication/entry.h"
#include "replication/etcd/etcd.pb.h"
#include "replication/etcd/etcd_log_core.h"
#include "replication/etcd/requests.h"

namespace waypost::replication {

EtcdLog::EtcdLog(std::shared_ptr<Core> core) : core_(std::move(core)) {}

EtcdLog::~EtcdLog() {
  core_->reader->close();
  core_->client.reset();
}

Result<std::unique_ptr<EtcdLog>> EtcdLog::open(const EtcdOptions& options, Executor order) {
  const bool bad_name = options.cluster.empty() || options.cluster.find('/') != std::string::npos;
  if (bad_name) {
    return Error{ErrorCode::kInvalidArgument, "etcd: \"" + options.cluster + "\" cannot name a log",
                 "use letters, digits and dashes"};
  }
  auto client = EtcdClient::create(options, order);
  if (!client.ok()) return client.error();
  auto core = std::make_shared<Core>(options, std::move(order));
  core->client = std::move(client).value();
  core->reader = std::make_shared<EtcdReader>(*core->client, core->keys, options.request_timeout_ms);
  return std::unique_ptr<EtcdLog>(new EtcdLog(std::move(core)));
}

std::string EtcdLog::describe() const {
  std::string text = "etcd at ";
  for (size_t i = 0; i < core_->options.endpoints.size(); ++i)
    text += (i == 0 ? "" : ",") + core_->options.endpoints[i];
  return text + ", log " + core_->options.cluster;
}

void EtcdLog::Core::txn(const etcd::TxnRequest& request, TxnCallback done) {
  client->call(kTxnMethod, request.SerializeAsString(), options.request_timeout_ms,
               [done = std::move(done)](const EtcdAnswer& answer) { done(txn_response(answer), answer); });
}

Error EtcdLog::Core::no_log() const {
  return {ErrorCode::kNotFound, "etcd holds no log named " + options.cluster + " yet",
          "start one member with --bootstrap, or name the right log"};
}

void EtcdLog::append(Position position, const Hash128& previous, std::string bytes, AppendCallback done) {
  const EtcdKeys& keys = core_->keys;
  const Hash128 hash = entry_hash(bytes);
  etcd::TxnRequest txn;
  if (!mutant("append_not_fenced"))
    if_value(txn, keys.head(), encode_head({Position(position.value() - 1), previous}));
  if_absent(txn, keys.entry(position));
  if (!mutant("halt_not_compared")) if_absent(txn, keys.halt());
  then_put(txn, keys.entry(position), bytes);
  then_put(txn, keys.head(), encode_head({position, hash}));
  else_get(txn, keys.head());
  else_get(txn, keys.halt());
  core_->txn(txn, [core = core_, hash, position, done = std::move(done)](
                      const Result<etcd::TxnResponse>& response, const EtcdAnswer& answer) {
    core->on_append(hash, position, response, answer, done);
  });
}

void EtcdLog::Core::on_append(const Hash128& hash, Position position,
                              const Result<etcd::TxnResponse>& response, const EtcdAnswer& answer,
                              const AppendCallback& done) {
  if (!response.ok()) {
    const Error& error = response.error();
    const std::string words = error.message + (error.hint.empty() ? "" : "; " + error.hint);
    AppendOutcome outcome = answer.may_have_happened ? AppendOutcome::kUnknown : AppendOutcome::kUnreachable;
    if (error.code == ErrorCode::kResourceExhausted) outcome = AppendOutcome::kNoSpace;
    return done({outcome, words});
  }
  if (response->succeeded()) {
    reader->head_is_known(position);
    return done({AppendOutcome::kAppended, ""});
  }
  const std::optional<EtcdHead> head = decode_head(value_of(*response, 0));
  if (!head) return done({AppendOutcome::kUnreachable, no_log().message});
  reader->head_is_known(head->position);
  // An earlier try of the same bytes won.
  if (head->position == position && head->hash == hash) return done({AppendOutcome::kAppended, ""});
  const std::string words = value_of(*response, 1);
  if (!words.empty()) return done({AppendOutcome::kHalted, words});
  done({AppendOutcome::kLost, ""});
}

void EtcdLog::read(Position from, size_t max_bytes, ReadCallback done) {
  core_->reader->read(from, max_bytes, std::move(done));
}

void EtcdLog::tail(TailCallback done) {
  etcd::TxnRequest txn;
  then_get(txn, core_->keys.head());
  then_get(txn, core_->keys.halt());
  core_->txn(txn, [core = core_, done = std::move(done)](const Result<etcd::TxnResponse>& response,
                                                         const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    const std::optional<EtcdHead> head = decode_head(value_of(*response, 0));
    if (!head) return done(core->no_log());
    core->reader->head_is_known(head->position);
    done(Tail{head->position, head->hash, static_cast<uint64_t>(response->header().revision()),
              value_of(*response, 1)});
  });
}

// The mark, or what is there where a full etcd took the deletion but not the mark.
void EtcdLog::first(std::function<void(Result<Position>)> done) {
  const EtcdKeys& keys = core_->keys;
  etcd::TxnRequest txn;
  then_get(txn, keys.trim());
  then_get(txn, keys.head());
  then_get(txn, keys.log(), keys.log_end(), 1);
  core_->txn(txn, [core = core_, done = std::move(done)](const Result<etcd::TxnResponse>& response,
                                                         const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    const std::optional<Position> mark = parse_hex_position(value_of(*response, 0));
    const std::optional<EtcdHead> head = decode_head(value_of(*response, 1));
    if (!mark || !head) return done(core->no_log());
    const etcd::RangeResponse& oldest = response->responses(2).response_range();
    const std::optional<Position> there =
        oldest.kvs_size() == 0 ? std::nullopt : core->keys.position(oldest.kvs(0).key());
    done(std::max(*mark, there.value_or(head->position.next())));
  });
}

void EtcdLog::trim(Position below, DoneCallback done) {
  etcd::TxnRequest txn;
  then_get(txn, core_->keys.trim());
  then_get(txn, core_->keys.head());
  core_->txn(txn, [core = core_, below, done = std::move(done)](const Result<etcd::TxnResponse>& response,
                                                                const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    const std::optional<Position> first = parse_hex_position(value_of(*response, 0));
    const std::optional<EtcdHead> head = decode_head(value_of(*response, 1));
    if (!first || !head) return done(core->no_log());
    if (below > head->position.next()) {
      return done(Error{ErrorCode::kInvalidArgument,
                        "the log ends at position " + std::to_string(head->position.value()) +
                            ", so it cannot be trimmed below " + std::to_string(below.value())});
    }
    if (below <= *first) return done({});
    core->trim_step(*first, below, true, done);
  });
}

// In steps, so that no transaction deletes more than etcd swallows without a stall. The mark and the entries
// go together, except in an etcd that is full: it takes deletions only, and trimming is what heals it.
void EtcdLog::Core::trim_step(Position from, Position below, bool marked, DoneCallback done) {
  const Position step = std::min(below, Position(from.value() + limits::kMaxTrimStep));
  etcd::TxnRequest request;
  if_value_less(request, keys.trim(), EtcdKeys::hex(step));
  if (marked) then_put(request, keys.trim(), EtcdKeys::hex(step));
  then_delete(request, keys.log(), keys.entry(step));
  txn(request, [self = shared_from_this(), from, step, below, marked, done = std::move(done)](
                   const Result<etcd::TxnResponse>& response, const EtcdAnswer&) {
    if (!response.ok()) {
      const bool full = response.error().code == ErrorCode::kResourceExhausted;
      if (full && marked) return self->trim_step(from, below, false, done);
      return done(response.error());
    }
    if (step < below) return self->trim_step(step, below, marked, done);
    if (self->options.dedicated) self->compact(response->header().revision());
    done({});
  });
}

// Old revisions of this etcd go; a watch that wanted them pages anew. Only where nobody else lives in it.
void EtcdLog::Core::compact(int64_t revision) {
  etcd::CompactionRequest request;
  request.set_revision(revision);
  client->call("/etcdserverpb.KV/Compact", request.SerializeAsString(), options.request_timeout_ms,
               [](const EtcdAnswer&) {});
}

void EtcdLog::halt(std::string words, DoneCallback done) {
  etcd::TxnRequest txn;
  if_absent(txn, core_->keys.halt());  // the first words stay
  then_put(txn, core_->keys.halt(), words);
  core_->txn(txn, [done = std::move(done)](const Result<etcd::TxnResponse>& response, const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    done({});
  });
}

}  // namespace waypost::replication
