#include "node/membership.h"

#include <algorithm>

#include "model/limits.h"
#include "node/enrol_internal.h"
#include "node/logging.h"
#include "node/parting.h"
#include "replication/trim_limit.h"

namespace waypost::node {

namespace {

constexpr uint64_t kRoundUs = 1'000'000;
constexpr uint64_t kHealthRounds = 15;
constexpr size_t kControlDigestsKept = 64;
constexpr uint32_t kRulesLevel = 1;

}  // namespace

Membership::Membership(Dependencies dependencies) : given_(std::move(dependencies)) {}

void Membership::start() {
  if (given_.clustered) enrol();
  round();
}

void Membership::round() {
  if (stopped_) return;
  publish();
  ask_log();
  if (!syncing_) {
    syncing_ = true;
    given_.writer.post([this] {
      Synced synced = sync();
      given_.order.post([this, synced = std::move(synced)]() mutable {
        if (!stopped_) after_sync(std::move(synced));
      });
    });
  }
  given_.order.after(kRoundUs, [this] { round(); });
}

void Membership::ask_log() {
  given_.log.presences([this](Result<std::vector<replication::Presence>> result) {
    if (!stopped_) take_presences(std::move(result));
  });
  // Any member trims, so where the log begins is asked.
  given_.log.first([this](Result<Position> first) {
    if (!stopped_ && first.ok()) trimmed_ = std::max(trimmed_, *first);
  });
  if (rounds_++ % kHealthRounds != 0) return;
  given_.log.health([this](Result<replication::Log::Health> health) {
    if (!stopped_) engine_problems_ = health.ok() ? health->problems.size() : 1;
  });
}

Membership::Synced Membership::sync() {
  const store::StateStamp stamp = given_.store.stamp();
  Synced synced;
  synced.durable = given_.store.sync();
  if (given_.clustered) {
    given_.store.note_durable({store::DurableMark::Of::kApplied, stamp.position, stamp.chain});
  }
  given_.store.trim_history();
  synced.members = given_.store.view().members();
  return synced;
}

void Membership::after_sync(Synced synced) {
  syncing_ = false;
  durable_ = synced.durable;
  members_ = std::move(synced.members);
  if (given_.clustered && enrolled_ && !is_member(members_, given_.config.name))
    return given_.must_exit(removed_words(given_.config));
  trim_now_and_then();
}

void Membership::publish() {
  const store::StateStamp stamp = given_.store.stamp();
  control_digests_[stamp.position.value()] = stamp.control_digest;
  if (control_digests_.size() > kControlDigestsKept) control_digests_.erase(control_digests_.begin());
  replication::Presence presence;
  presence.name = given_.config.name;
  presence.incarnation = given_.incarnation;
  presence.address = given_.config.advertise;
  presence.applied = stamp.position;
  presence.durable = durable_;
  presence.revision = stamp.revision.value();
  presence.history = stamp.history;
  presence.data_digest = stamp.data_digest;
  presence.control_digest = stamp.control_digest;
  presence.rules_level = kRulesLevel;
  presence.status = status_;
  given_.log.publish(presence, [this](Status status) {
    if (stopped_ || status.ok() || status.error().code != ErrorCode::kFailedPrecondition) return;
    given_.must_exit(status.error().message);
  });
}

void Membership::take_presences(Result<std::vector<replication::Presence>> result) {
  if (!result.ok()) return;  // what is known stays, with its age
  presences_ = std::move(*result);
  presences_at_us_ = given_.order.monotonic_us();
  for (const replication::Presence& presence : presences_) last_durable_[presence.name] = presence.durable;
  compare_digests();
}

uint64_t Membership::presences_age_ms() const {
  return presences_at_us_ == 0 ? 0 : (given_.order.monotonic_us() - presences_at_us_) / 1'000;
}

// Equal history and revision means equal data, and equal position equal control state (LOG.md rule 8). Where
// they are not, the minority stops answering; of two that differ nobody knows which is right, so both sound
// the alarm.
void Membership::compare_digests() {
  const Hash128 history = given_.store.stamp().history;
  size_t equal = 1, differing = 0;
  std::string words;
  for (const replication::Presence& other : presences_) {
    if (other.name == given_.config.name || other.history != history) continue;
    const std::optional<Hash128> data = given_.store.digest_at(Revision(other.revision));
    const auto control = control_digests_.find(other.applied.value());
    const bool control_known = control != control_digests_.end();
    if (!data && !control_known) continue;
    ++digest_checks_;
    const bool data_differs = data && *data != other.data_digest;
    if (!data_differs) partings_.erase(other.name);
    if (data_differs) {
      words = data_difference(other);
    } else if (control_known && control->second != other.control_digest) {
      words = "tables session and control differ from member " + other.name + " at position " +
              std::to_string(other.applied.value());
    } else {
      ++equal;
      continue;
    }
    ++differing;
  }
  if (!words.empty() && words != status_) log_error(words);
  status_ = words.empty() ? "ok" : words;
  diverged_ = differing > equal ? words : "";
}

// At once what is seen; once the two histories are compared, where they parted.
std::string Membership::data_difference(const replication::Presence& other) {
  const auto known = partings_.find(other.name);
  if (known != partings_.end()) return known->second;
  const std::string seen = "table nexthop or route differs from member " + other.name + " at revision " +
                           std::to_string(other.revision);
  partings_[other.name] = seen;
  given_.readers.post([this, other] {
    std::string words = parting_words(given_.store, other);
    given_.order.post([this, name = other.name, words = std::move(words)] {
      if (const auto asked = partings_.find(name); asked != partings_.end()) asked->second = words;
    });
  });
  return seen;
}

std::optional<Error> Membership::refusal() const {
  if (diverged_.empty()) return std::nullopt;
  return Error{
      ErrorCode::kCorruption,
      "the state of node " + given_.config.name + " is not that of the cluster: " + diverged_,
      "ask another node; to heal this one, stop it, empty its data directory and start it with --join"};
}

Position Membership::trim_limit() const {
  if (!given_.clustered) return durable_;
  std::vector<replication::TrimMember> all;
  for (const store::ReadView::Member& member : members_) {
    const auto known = last_durable_.find(member.name);
    const bool live = std::any_of(
        presences_.begin(), presences_.end(),
        [&member](const replication::Presence& presence) { return presence.name == member.name; });
    all.push_back({known == last_durable_.end() ? Position(0) : known->second, live});
    if (member.name == given_.config.name) all.back() = {durable_, true};
  }
  const bool over_cap =
      given_.replica.status().known_tail.value() - trimmed_.value() > limits::kMaxLogEntries;
  return replication::trim_limit(all, over_cap);
}

void Membership::trim_now_and_then() {
  const uint64_t limit = trim_limit().value();
  if (limit <= limits::kKeptLogEntries) return;
  const uint64_t below = limit - limits::kKeptLogEntries;
  if (below < trimmed_.value() + limits::kTrimStepEntries) return;
  trimmed_ = Position(below);
  given_.log.trim(trimmed_, [](Status) {});  // what is not trimmed now is at the next step
}

void Membership::trim(Position below, std::function<void(Result<Position>)> done) {
  const Position limit = trim_limit();
  given_.log.trim(std::min(below, limit), [this, done = std::move(done)](Status status) {
    if (!status.ok()) return done(status.error());
    given_.log.first(done);
  });
}

}  // namespace waypost::node
