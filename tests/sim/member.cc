#include "tests/sim/member.h"

#include <algorithm>
#include <utility>

#include "model/mutant.h"
#include "replication/entry.h"
#include "replication/trim_limit.h"
#include "store/keys.h"

namespace waypost::sim {

using replication::AppliedEntry;
using replication::ProposeOutcome;
using replication::ProposeResult;

namespace {

constexpr uint64_t kRoundUs = 1'000'000;
constexpr uint64_t kRetryUs = 300'000;
constexpr uint64_t kKeptEntries = 4;
constexpr size_t kRememberedDigests = 4'096;

}  // namespace

Member::Member(Cluster& cluster, std::string name)
    : cluster_(cluster), name_(std::move(name)), node_(cluster.world), disk_(SimDisk::fresh(cluster.id)) {}

Member::~Member() {
  stop_parts();
}

void Member::start() {
  log_ = std::make_unique<SimLog>(cluster_.world, node_, cluster_.server);
  log_->faults() = faults_;
  store_ = std::make_unique<SimStore>(disk_);
  durable_ = Position();
  claimed_ = false;
  fetching_ = false;
  own_.clear();
  replication::ReplicaOptions options;
  options.name = name_;
  options.incarnation = ++starts_;
  options.applied = store_->stamp().position;
  options.applied_hash = store_->stamp().chain;
  options.highest_engine_revision = disk_.engine_revision;
  options.propose_timeout_ms = 2'000;
  replica_ = std::make_unique<replication::Replica>(
      options, *log_, node_,
      [this](std::vector<AppliedEntry> entries, const replication::ApplyCallback& done) {
        apply(std::move(entries), done);
      });
  replica_->start();
  cluster_.world.trace(name_ + " starts at " + std::to_string(options.applied.value()));
  claim();
  round();
}

// A process that ends answers nobody, whatever its parts say when they go.
void Member::stop_parts() {
  ending_ = true;
  replica_.reset();
  node_.crash();
  ending_ = false;
  log_.reset();
  store_.reset();
}

void Member::crash(bool power_lost) {
  if (!running()) return;
  cluster_.world.trace("crash " + name_);
  stop_parts();
  if (power_lost) disk_.lose_power(cluster_.world);
}

void Member::wipe() {
  disk_ = SimDisk::fresh(cluster_.id);
  cluster_.world.trace("wipe " + name_);
}

void Member::apply(std::vector<AppliedEntry> entries, const replication::ApplyCallback& done) {
  node_.after(apply_us_, [this, entries = std::move(entries), done] {
    std::vector<std::vector<std::string>> answers;
    for (const AppliedEntry& entry : entries) {
      const Hash128 before = store_->stamp().chain;
      answers.push_back(store_->apply(entry));
      observe(before);
    }
    done(std::move(answers));
  });
}

// Equal position, equal state; and every entry comes behind the one that it was written behind.
void Member::observe(const Hash128& before) {
  const store::StateStamp& stamp = store_->stamp();
  const std::string place = name_ + " at position " + std::to_string(stamp.position.value());
  cluster_.world.trace(place + " " + to_string(stamp.control_digest));
  own_[stamp.position] = {stamp.control_digest, stamp.data_digest, stamp.revision};
  if (own_.size() > kRememberedDigests) own_.erase(own_.begin());
  if (const auto behind = cluster_.server.lineage().find(stamp.chain);
      behind == cluster_.server.lineage().end() || behind->second != before)
    cluster_.fail(place + " applied an entry that was not written behind its state");
  if (cluster_.forked) return;
  const Cluster::Seen now{stamp.chain, stamp.data_digest, stamp.control_digest, stamp.revision};
  const auto [seen, first] = cluster_.seen.emplace(stamp.position, now);
  if (first) return;
  if (seen->second.chain != now.chain) cluster_.fail(place + " is on another log");
  if (seen->second.data != now.data || seen->second.revision != now.revision)
    cluster_.fail(place + " has other data");
  if (seen->second.control != now.control) cluster_.fail(place + " has another control state");
}

bool Member::on_the_list() const {
  std::string row;
  return store_->tables().get(store::Table::kControl, std::string(store::kMemberPrefix) + name_, &row);
}

// A member puts itself on the list and supersedes its earlier lives before it serves anyone.
void Member::claim() {
  Proposal proposal{.author = {}, .member = {}, .incarnation = starts_, .body = {}};
  if (on_the_list()) {
    proposal.body = ClaimIncarnation{.name = name_, .incarnation = starts_};
  } else {
    proposal.body = AddMember{.name = name_, .address = name_};
  }
  const bool last = std::holds_alternative<ClaimIncarnation>(proposal.body);
  replica_->propose(encode(proposal), [this, last](const ProposeResult& result) {
    if (ending_) return;
    const auto answer = decode_proposal_answer(result.answer);
    const bool applied = result.outcome == ProposeOutcome::kApplied && answer.ok() && !answer->refusal;
    if (applied && last) {
      claimed_ = true;
      return;
    }
    // A superseded claim: this life is over, as LOG.md rule 9 wants it, and the simulation starts no two.
    node_.after(applied ? 0 : kRetryUs, [this] { claim(); });
  });
}

void Member::propose(Proposal proposal, std::function<void(Answer)> done) {
  if (!serving()) return done({});
  proposal.member = name_;
  proposal.incarnation = starts_;
  replica_->propose(encode(proposal), [this, done = std::move(done)](const ProposeResult& result) {
    if (!ending_) done({result.outcome, result.position, result.index, result.answer});
  });
}

void Member::read(NexthopId id, bool stale, std::function<void(Row)> done) {
  if (!running()) return;
  const auto answer = [this, id, done = std::move(done)](bool ok) {
    Row row{.ok = ok, .position = store_->stamp().position, .value = {}};
    if (ok && !store_->tables().get(store::Table::kNexthop, store::nexthop_key(id), &row.value))
      row.value.clear();
    done(std::move(row));
  };
  if (stale) return answer(true);
  const bool astray = cluster_.forked && !on_the_line();
  replica_->barrier(1'000, [this, answer, astray](const Result<Position>& position) {
    if (ending_) return;
    if (position.ok() && astray)
      cluster_.fail(name_ + " answers a read at position " +
                    std::to_string(store_->stamp().position.value()) +
                    " of a line that the restored log does not have");
    answer(position.ok());
  });
}

// Whether the log, which was restored from a backup, leads to this state. An entry that was lost with the
// restore may still be on its way here: what was astray before it was asked for is what counts.
bool Member::on_the_line() const {
  const store::StateStamp& stamp = store_->stamp();
  const auto& line = cluster_.server.history();
  const auto entry = line.find(stamp.position.value());
  return stamp.position == Position() ||
         (entry != line.end() && replication::entry_hash(entry->second) == stamp.chain);
}

bool Member::caught_up() const {
  return running() && store_->stamp().position == cluster_.server.tail().position &&
         store_->stamp().chain == cluster_.server.tail().hash;
}

// Every second: sync, say so, hear the others, trim.
void Member::round() {
  durable_ = store_->sync();
  Position& most = cluster_.most_durable[name_];
  most = std::max(most, durable_);
  disk_.engine_revision = std::max(disk_.engine_revision, replica_->status().engine_revision);
  if (mutant("sim_trim_above_durable")) durable_ = Position(durable_.value() + 20);
  publish();
  log_->presences([this](const Result<std::vector<replication::Presence>>& presences) {
    if (!presences.ok()) return;
    compare(*presences);
    trim(*presences);
  });
  if (replica_->status().trimmed_past) fetch_snapshot();
  if (claimed_ && !on_the_list()) {  // removed, late: it joins again
    claimed_ = false;
    claim();
  }
  node_.after(kRoundUs, [this] { round(); });
}

void Member::publish() {
  const store::StateStamp& stamp = store_->stamp();
  replication::Presence presence;
  presence.name = name_;
  presence.incarnation = starts_;
  presence.address = name_;
  presence.applied = stamp.position;
  presence.durable = durable_;
  presence.revision = stamp.revision.value();
  presence.history = stamp.history;
  presence.data_digest = stamp.data_digest;
  presence.control_digest = stamp.control_digest;
  log_->publish(presence, [](const Status&) {});
}

void Member::compare(const std::vector<replication::Presence>& presences) {
  for (const replication::Presence& other : presences) {
    const auto here = own_.find(other.applied);
    if (other.name == name_ || here == own_.end() || cluster_.forked) continue;
    cluster_.world.reach("digests compared");
    if (here->second.control != other.control_digest || here->second.data != other.data_digest)
      cluster_.fail(name_ + " and " + other.name + " differ at position " +
                    std::to_string(other.applied.value()));
  }
}

void Member::trim(const std::vector<replication::Presence>& presences) {
  for (const replication::Presence& each : presences) {
    Position& last = last_durable_[each.name];
    last = std::max(last, each.durable);
    // A member whose disk was lost holds less than it once said.
    if (each.incarnation > 0 && each.durable < last) last = each.durable;
  }
  if (!cluster_.trim) return;
  std::vector<replication::TrimMember> members, truth;
  for (const store::ReadView::Member& member : store_->view().members()) {
    const bool live = std::any_of(presences.begin(), presences.end(),
                                  [&](const auto& each) { return each.name == member.name; });
    members.push_back({last_durable_[member.name], live});
    truth.push_back({cluster_.most_durable[member.name], live});
  }
  if (members.empty()) return;
  const Position limit = replication::trim_limit(members, cluster_.over_cap);
  if (limit > replication::trim_limit(truth, cluster_.over_cap))
    cluster_.fail(name_ + " trims below " + std::to_string(limit.value()) +
                  ", which members do not hold durably");
  if (limit.value() <= kKeptEntries) return;
  log_->trim(Position(limit.value() - kKeptEntries), [](const Status&) {});
}

// The peer's chunks, one message each. What is lost on the way is asked for again; a peer that ends is given
// up with all that it sent.
struct Member::Fetch {
  Member* from = nullptr;
  uint64_t life = 0;  // of the peer
  std::unique_ptr<store::SnapshotSource> source;
  SimSnapshotSink sink;
  std::string cursor;
};

void Member::fetch_snapshot() {
  if (fetching_) return;
  std::vector<Member*> peers;
  for (const auto& member : cluster_.members) {
    const bool ahead = member.get() != this && member->running() && !member->node_.paused() &&
                       member->store_->stamp().position > store_->stamp().position;
    if (ahead) peers.push_back(member.get());
  }
  if (peers.empty()) return;
  const auto fetch = std::make_shared<Fetch>();
  fetch->from = peers[cluster_.world.pick(Concern::kNetwork, 0, peers.size() - 1)];
  fetch->life = fetch->from->starts_;
  fetch->source = std::make_unique<store::SnapshotSource>(fetch->from->store_->view());
  fetching_ = true;
  fetch_next(fetch);
}

void Member::fetch_next(const std::shared_ptr<Fetch>& fetch) {
  const uint64_t travel_us = cluster_.world.pick(Concern::kNetwork, 500, 150'000);
  const bool lost = cluster_.world.chance(Concern::kNetwork, 0.1);
  node_.after(travel_us, [this, fetch, lost] {
    Member& peer = *fetch->from;
    if (!peer.running() || peer.starts_ != fetch->life) {
      cluster_.world.reach("snapshot cut off");
      fetching_ = false;
      return;
    }
    if (lost) {
      // The receiver goes on where it stands: the same view, from the cursor of the last chunk that came.
      cluster_.world.reach("snapshot resumed");
      if (const Status status = fetch->source->resume_at(fetch->cursor);
          !fetch->cursor.empty() && !status.ok())
        cluster_.fail("a snapshot cannot be resumed: " + status.error().message);
      return fetch_next(fetch);
    }
    const auto chunk = fetch->source->next();
    if (!chunk) return install(fetch);
    if (const Status status = fetch->sink.add(*chunk); !status.ok()) {
      cluster_.fail(name_ + " refuses a snapshot of " + peer.name_ + ": " + status.error().message);
      return;
    }
    fetch->cursor = fetch->source->cursor();
    fetch_next(fetch);
  });
}

void Member::install(const std::shared_ptr<Fetch>& fetch) {
  if (!fetch->sink.done()) return cluster_.fail("a snapshot ended before its footer");
  cluster_.world.reach("snapshot installed");
  cluster_.world.trace(name_ + " installs a snapshot");
  const uint64_t engine_revision = disk_.engine_revision;
  stop_parts();
  disk_ = fetch->sink.finish(engine_revision);
  start();
}

}  // namespace waypost::sim
