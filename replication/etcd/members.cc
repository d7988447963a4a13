// Presence under a lease, and incarnations that only grow (LOG.md rule 9).
#include <utility>

#include "model/bytes.h"
#include "model/limits.h"
#include "replication/etcd/etcd.pb.h"
#include "replication/etcd/etcd_log.h"
#include "replication/etcd/etcd_log_core.h"
#include "replication/etcd/requests.h"
#include "replication/presence_codec.h"

namespace waypost::replication {
namespace {

std::string encode_incarnation(uint64_t incarnation) {
  std::string out;
  append_u64(out, incarnation);
  return out;
}

uint64_t decode_incarnation(const std::string& bytes) {
  ByteReader reader(bytes);
  const uint64_t incarnation = reader.u64();
  return reader.done() ? incarnation : 0;
}

Error superseded_by(const std::string& name, uint64_t incarnation) {
  return {ErrorCode::kFailedPrecondition, "member " + name + " was started again elsewhere (incarnation " +
                                              std::to_string(incarnation) + "); this process must end"};
}

}  // namespace

void EtcdLog::claim_incarnation(const std::string& name, std::function<void(Result<uint64_t>)> done) {
  core_->try_claim(name, 0, std::move(done));
}

void EtcdLog::Core::try_claim(const std::string& name, int tries,
                              std::function<void(Result<uint64_t>)> done) {
  if (tries == limits::kMaxCompareTries) {
    return done(
        Error{ErrorCode::kUnavailable, "member " + name + ": others claim its name at the same time"});
  }
  etcd::TxnRequest look;
  then_get(look, keys.incarnation(name));
  txn(look, [self = shared_from_this(), name, tries, done = std::move(done)](
                const Result<etcd::TxnResponse>& seen, const EtcdAnswer&) {
    if (!seen.ok()) return done(seen.error());
    const uint64_t next = decode_incarnation(value_of(*seen, 0)) + 1;
    etcd::TxnRequest raise;
    if_mod_revision(raise, self->keys.incarnation(name), mod_revision_of(*seen, 0));
    then_put(raise, self->keys.incarnation(name), encode_incarnation(next));
    self->txn(raise,
              [self, name, tries, next, done](const Result<etcd::TxnResponse>& raised, const EtcdAnswer&) {
                if (!raised.ok()) return done(raised.error());
                if (!raised->succeeded()) return self->try_claim(name, tries + 1, done);
                self->claimed = {name, next};
                done(next);
              });
  });
}

void EtcdLog::publish(const Presence& presence, DoneCallback done) {
  if (core_->publishing.withdrawn)
    return done(Error{ErrorCode::kUnavailable, "member " + presence.name + " is leaving", ""});
  core_->publishing.presence = presence;
  core_->publishing.waiting.push_back(std::move(done));
  core_->start_publishing();
}

void EtcdLog::withdraw(const std::string&, DoneCallback done) {
  Core::Publishing& p = core_->publishing;
  p.withdrawn = true;
  p.leaving = std::move(done);
  if (!p.busy) core_->delete_presence();
}

// Our own key as we last wrote it, and nobody else's.
void EtcdLog::Core::delete_presence() {
  DoneCallback done = std::exchange(publishing.leaving, {});
  if (!publishing.presence || publishing.mod_revision == 0) return done({});
  const std::string key = keys.member(publishing.presence->name);
  etcd::TxnRequest request;
  if_mod_revision(request, key, publishing.mod_revision);
  then_delete(request, key);
  txn(request, [done = std::move(done)](const Result<etcd::TxnResponse>& response, const EtcdAnswer&) {
    done(response.ok() ? Status() : Status(response.error()));
  });
}

void EtcdLog::Core::start_publishing() {
  Publishing& p = publishing;
  if (p.busy) return;
  p.busy = true;
  p.tries = 0;
  p.running = std::exchange(p.waiting, {});
  // A new lease now and then instead of keeping one alive: the key moves to it with the next put, and the old
  // one expires empty.
  const bool lease_is_young = p.lease != 0 && client->now_ms() - p.lease_at_ms < options.presence_ttl_s * 500;
  if (lease_is_young) return put_presence();
  etcd::LeaseGrantRequest request;
  request.set_ttl(static_cast<int64_t>(options.presence_ttl_s));
  client->call("/etcdserverpb.Lease/LeaseGrant", request.SerializeAsString(), options.request_timeout_ms,
               [self = shared_from_this(), asked_ms = client->now_ms()](const EtcdAnswer& answer) {
                 etcd::LeaseGrantResponse response;
                 if (!answer.status.ok()) return self->finish_publishing(answer.status);
                 if (!response.ParseFromString(answer.bytes))
                   return self->finish_publishing(unreadable_answer("LeaseGrant"));
                 self->publishing.lease = response.id();
                 self->publishing.lease_at_ms = asked_ms;
                 self->put_presence();
               });
}

void EtcdLog::Core::put_presence() {
  Publishing& p = publishing;
  const std::string& name = p.presence->name;
  etcd::TxnRequest request;
  if_mod_revision(request, keys.member(name), p.mod_revision);
  if (claimed && claimed->first == name)
    if_value(request, keys.incarnation(name), encode_incarnation(claimed->second));
  then_put(request, keys.member(name), encode_presence(*p.presence), p.lease);
  else_get(request, keys.member(name));
  else_get(request, keys.incarnation(name));
  txn(request, [self = shared_from_this()](const Result<etcd::TxnResponse>& response, const EtcdAnswer&) {
    self->on_presence(response);
  });
}

void EtcdLog::Core::on_presence(const Result<etcd::TxnResponse>& response) {
  Publishing& p = publishing;
  if (!response.ok()) {
    p.lease = 0;  // it may have expired; the next round takes a new one
    return finish_publishing(response.error());
  }
  if (response->succeeded()) {
    p.mod_revision = response->header().revision();
    p.published_at_ms = client->now_ms();
    return finish_publishing({});
  }
  uint64_t found = claimed ? decode_incarnation(value_of(*response, 1)) : 0;
  const Result<Presence> other = decode_presence(value_of(*response, 0));
  if (other.ok()) found = std::max(found, other->incarnation);
  if (found > p.presence->incarnation) {
    p.superseded = true;
    return finish_publishing(superseded_by(p.presence->name, found));
  }
  p.mod_revision = mod_revision_of(*response, 0);
  if (++p.tries >= limits::kMaxCompareTries) {
    return finish_publishing(
        Error{ErrorCode::kUnavailable, "member " + p.presence->name + ": its presence cannot be written"});
  }
  put_presence();
}

void EtcdLog::Core::finish_publishing(const Status& status) {
  publishing.busy = false;
  for (const DoneCallback& done : std::exchange(publishing.running, {})) done(status);
  if (publishing.leaving) return delete_presence();
  if (!client || publishing.superseded || publishing.withdrawn) return;
  if (!publishing.waiting.empty()) start_publishing();
  keep_alive();
}

// Repeats the last presence where nobody publishes a newer one in time.
void EtcdLog::Core::keep_alive() {
  if (publishing.keeping_alive) return;
  publishing.keeping_alive = true;
  const uint64_t period_ms = options.presence_ttl_s * 1'000 / 4;
  client->after(period_ms, [self = shared_from_this(), period_ms] {
    self->publishing.keeping_alive = false;
    if (self->publishing.superseded || self->publishing.withdrawn) return;
    if (self->client->now_ms() - self->publishing.published_at_ms >= period_ms) self->start_publishing();
    self->keep_alive();
  });
}

void EtcdLog::presences(PresenceCallback done) {
  etcd::TxnRequest txn;
  then_get(txn, core_->keys.members(), core_->keys.members_end());
  core_->txn(txn, [done = std::move(done)](const Result<etcd::TxnResponse>& response, const EtcdAnswer&) {
    if (!response.ok()) return done(response.error());
    std::vector<Presence> all;
    for (const etcd::KeyValue& kv : response->responses(0).response_range().kvs()) {
      // A form that only a later version writes is left out; its writer shows up once this binary is
      // upgraded.
      Result<Presence> presence = decode_presence(kv.value());
      if (presence.ok()) all.push_back(std::move(presence).value());
    }
    done(std::move(all));
  });
}

}  // namespace waypost::replication
