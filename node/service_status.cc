// How this node and the others are: status, members, check, trim.
#include <algorithm>
#include <set>

#include "node/engine.h"
#include "node/fib_status_internal.h"
#include "node/logging.h"
#include "node/membership.h"
#include "node/parts_internal.h"
#include "node/version.h"
#include "rpc/utf8.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

void fill_state(rpc::NodeStatus& out, const Parts& parts) {
  const store::StateStamp stamp = parts.store.stamp();
  const store::Counts counts = parts.store.counts();
  out.set_name(parts.config.name);
  out.set_version(kVersion);
  out.set_cluster(hash_bytes(stamp.cluster));
  out.set_history(hash_bytes(stamp.history));
  out.set_revision(stamp.revision.value());
  out.set_position(stamp.position.value());
  out.set_data_digest(hash_bytes(stamp.data_digest));
  out.set_control_digest(hash_bytes(stamp.control_digest));
  out.set_nexthops(counts.nexthops);
  out.set_groups(counts.groups);
  out.set_interned(counts.interned);
  out.set_routes(counts.routes);
  out.set_oldest_revision(parts.store.oldest_history().value());
  out.set_started_us(parts.started_us);
}

void fill_log(rpc::NodeStatus& out, const Parts& parts) {
  const replication::ReplicaStatus status = parts.replica.status();
  out.set_engine(parts.engine);
  out.set_tail(status.known_tail.value());
  out.set_log_reachable(status.reachable);
  if (!status.reachable)
    out.set_log_silent_ms((parts.order.monotonic_us() - status.unreachable_since_us) / 1'000);
  out.set_halted(rpc::valid_utf8(status.halted));
  out.set_lost_races(status.lost_races);
  out.set_unknown_outcomes(status.unknown_outcomes);
  if (status.trimmed_past) {
    out.add_problems(
        "this node is behind the oldest entry of the log; it waits for a snapshot of another member");
  }
  if (!status.reachable) out.add_problems("the log does not answer; see the facts of its engine");
  if (!status.halted.empty()) out.add_problems(rpc::valid_utf8(status.halted));
}

void fill_own_problems(rpc::NodeStatus& out, Parts& parts) {
  if (const auto refused = parts.membership.refusal())
    out.add_problems(refused->message + "; " + refused->hint);
  if (const auto full = parts.space.refusal()) out.add_problems(full->message + "; " + full->hint);
  for (const std::string& note : parts.store.notes()) out.add_problems(rpc::valid_utf8(note));
}

void add_fact(rpc::NodeStatus& out, const std::string& name, const std::string& value) {
  rpc::Fact& fact = *out.add_engine_facts();
  fact.set_name(rpc::valid_utf8(name));
  fact.set_value(rpc::valid_utf8(value));
}

rpc::Member& member_of(rpc::MembersAnswer& answer, const std::string& name) {
  for (rpc::Member& member : *answer.mutable_members()) {
    if (member.name() == name) return member;
  }
  answer.add_members()->set_name(name);
  return *answer.mutable_members()->rbegin();
}

void fill_member(rpc::Member& out, const replication::Presence& presence) {
  out.set_address(rpc::valid_utf8(presence.address));
  out.set_incarnation(presence.incarnation);
  out.set_live(true);
  out.set_applied(presence.applied.value());
  out.set_durable(presence.durable.value());
  out.set_revision(presence.revision);
  out.set_data_digest(hash_bytes(presence.data_digest));
  out.set_control_digest(hash_bytes(presence.control_digest));
  out.set_status(rpc::valid_utf8(presence.status));
  out.set_rules_level(presence.rules_level);
  out.set_history(hash_bytes(presence.history));
}

rpc::MembersAnswer members_answer(const Parts& parts, const std::vector<store::ReadView::Member>& members) {
  rpc::MembersAnswer answer;
  for (const store::ReadView::Member& member : members) {
    rpc::Member& out = member_of(answer, member.name);
    out.set_address(rpc::valid_utf8(member.address));
    out.set_incarnation(member.incarnation);
    out.set_status(parts.membership.presences_known() ? "away" : "not heard of yet");
  }
  for (const replication::Presence& presence : parts.membership.presences()) {
    const int listed = answer.members_size();
    rpc::Member& out = member_of(answer, presence.name);
    fill_member(out, presence);
    if (answer.members_size() > listed) out.set_status("no member: joining, or removed");
  }
  answer.set_age_ms(parts.membership.presences_age_ms());
  answer.set_from_log(parts.membership.presences_known() && parts.replica.status().reachable);
  return answer;
}

// One `cluster check`: the digests of all members beside ours, and our own rows beside their indexes. What
// could not be compared is a finding too: nobody may take it for healthy.
class Check : public std::enable_shared_from_this<Check> {
 public:
  Check(Parts& parts, SharedCall call) : parts_(parts), call_(std::move(call)) {}

  // The whole store is walked meanwhile: seconds, on a reader.
  void start() {
    compare();
    on_reader(parts_, call_, [self = shared_from_this()] { self->walk(); });
  }

 private:
  static constexpr uint64_t kAgainUs = 500'000;
  static constexpr int kTries = 6;  // presences come every second

  void walk() {
    const store::Counts counts = parts_.store.counts();
    const std::string& name = parts_.config.name;
    if (const Status status = parts_.store.verify(); !status.ok()) {
      answer_.add_findings(rpc::valid_utf8(name + ": " + status.error().message));
    } else {
      answer_.add_facts(name + ": " + std::to_string(counts.nexthops) + " nexthops and " +
                        std::to_string(counts.routes) + " routes agree with their indexes and digests");
    }
    parts_.order.post([self = shared_from_this()] { self->compare_again(kTries); });
  }

  void compare_again(int tries) {
    if (call_->closed() || parts_.stopping) return;
    compare();
    if (open_.empty() || tries == 0 || !parts_.replica.status().reachable) return finish();
    parts_.order.after(kAgainUs, [self = shared_from_this(), tries] { self->compare_again(tries - 1); });
  }

  // Members are compared at the revision that they say they have. One that is ahead of us, or so far behind
  // that our digest of then is gone, stays open.
  void compare() {
    open_.clear();
    for (const replication::Presence& presence : parts_.membership.presences()) {
      if (compared_.count(presence.name) != 0) continue;
      const std::optional<Hash128> ours = parts_.store.digest_at(Revision(presence.revision));
      const std::string who =
          rpc::valid_utf8(presence.name) + " at revision " + std::to_string(presence.revision);
      if (presence.history != parts_.store.stamp().history) {
        answer_.add_findings(who + " has another history than this node");
      } else if (!ours) {
        open_.push_back(who);
        continue;
      } else if (*ours != presence.data_digest) {
        answer_.add_findings(who + ": digest " + to_string(presence.data_digest) + ", here " +
                             to_string(*ours));
      } else {
        answer_.add_facts(who + ": digest " + to_string(*ours) + ", equal");
      }
      compared_.insert(presence.name);
    }
  }

  void add_what_is_unknown() {
    const std::string here = "this node at revision " + std::to_string(parts_.store.stamp().revision.value());
    for (const std::string& who : open_)
      answer_.add_findings(who + " could not be compared with " + here + "; check again when both are level");
    if (!parts_.membership.signs()) return;
    if (!parts_.replica.status().reachable)
      answer_.add_findings("the log does not answer, so that what the members say is " +
                           std::to_string(parts_.membership.presences_age_ms() / 1'000) +
                           " s old; `cluster status` tells how etcd is");
    if (!parts_.membership.presences_known())
      answer_.add_findings(
          "no member has been heard of since this node started; check again in a few seconds");
    for (const store::ReadView::Member& member : parts_.membership.members())
      if (compared_.count(member.name) == 0 && !is_present(member.name))
        answer_.add_findings(rpc::valid_utf8(member.name) +
                             " is away and was not compared; start it, or take it out with `cluster remove`");
  }
  bool is_present(const std::string& name) const {
    const auto& presences = parts_.membership.presences();
    return std::any_of(presences.begin(), presences.end(),
                       [&name](const replication::Presence& presence) { return presence.name == name; });
  }

  void finish() {
    add_what_is_unknown();
    answer_.set_healthy(answer_.findings_size() == 0);
    rpc::End end;
    *end.mutable_check() = std::move(answer_);
    call_->finish(std::move(end));
  }

  Parts& parts_;
  const SharedCall call_;
  rpc::CheckAnswer answer_;
  std::set<std::string> compared_;
  std::vector<std::string> open_;
};

}  // namespace

void serve_node_status(Parts& parts, SharedCall call) {
  auto end = std::make_shared<rpc::End>();
  rpc::NodeStatus& status = *end->mutable_node_status();
  fill_state(status, parts);
  fill_log(status, parts);
  fill_own_problems(status, parts);
  if (parts.syncer != nullptr) fill(*status.mutable_fib(), parts.syncer->status());
  add_fact(status, "append p50 ms", std::to_string(parts.replica.status().append_ms_p50));
  add_fact(status, "append p99 ms", std::to_string(parts.replica.status().append_ms_p99));
  parts.log.health([call, end](Result<replication::Log::Health> health) {
    rpc::NodeStatus& out = *end->mutable_node_status();
    if (health.ok()) {
      for (const auto& [name, value] : health->facts) add_fact(out, name, value);
      for (const std::string& problem : health->problems) out.add_problems(rpc::valid_utf8(problem));
    } else {
      out.add_problems(rpc::valid_utf8(health.error().message + "; " + health.error().hint));
    }
    call->finish(std::move(*end));
  });
}

// Members are those of the state now: one that was just removed is none any more.
void serve_members(Parts& parts, SharedCall call) {
  on_reader(parts, call, [&parts, call] {
    parts.order.post([&parts, call, members = parts.store.view().members()] {
      rpc::End end;
      *end.mutable_members() = members_answer(parts, members);
      call->finish(std::move(end));
    });
  });
}

void serve_check(Parts& parts, SharedCall call) {
  std::make_shared<Check>(parts, std::move(call))->start();
}

void serve_trim(Parts& parts, SharedCall call) {
  const uint64_t asked = call->request().trim().below();
  const Position below = asked == 0 ? parts.membership.trim_limit() : Position(asked);
  parts.membership.trim(below, [call](Result<Position> first) {
    if (!first.ok()) return call->fail(first.error());
    rpc::End end;
    end.mutable_trim()->set_first(first->value());
    call->finish(std::move(end));
  });
}

void serve_grow(Parts& parts, SharedCall call) {
  const rpc::Grow& asked = call->request().grow();
  if (parts.local == nullptr) {
    return call->fail({ErrorCode::kFailedPrecondition,
                       "node " + parts.config.name + " is a member of a cluster already", ""});
  }
  NodeConfig target = parts.config;
  target.cluster = asked.cluster();
  Status status = apply_log_url(asked.log(), target);
  if (status.ok()) status = complete(target);
  if (status.ok() && target.etcd.endpoints.empty())
    status = Error{ErrorCode::kInvalidArgument, "a cluster's log is etcd://HOST:PORT,...", ""};
  if (!status.ok()) return call->fail(status.error());
  log_info("growing into " + asked.log() + ", cluster " + asked.cluster());
  grow(target, *parts.local, parts.store.stamp().cluster, parts.order,
       [call](Status grown) { grown.ok() ? call->finish({}) : call->fail(grown.error()); });
}

}  // namespace waypost::node
