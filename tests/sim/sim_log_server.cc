#include "tests/sim/sim_log_server.h"

#include <utility>

#include "model/mutant.h"
#include "replication/entry.h"

namespace waypost::sim {

using replication::AppendOutcome;
using replication::RawEntry;

replication::AppendResult SimLogServer::append(Position position, const Hash128& previous,
                                               const std::string& bytes) {
  if (!halt_words_.empty()) return {AppendOutcome::kHalted, halt_words_};
  if (full_) return {AppendOutcome::kNoSpace, "the log is full; trim it"};
  const bool fenced = head_.next() == position && hash_ == previous;
  const bool free = !entries_.contains(position.value());
  const auto taken = entries_.find(position.value());
  if (taken != entries_.end() && taken->second == bytes) return {AppendOutcome::kAppended, ""};
  if (!free || (!fenced && !mutant("append_not_fenced"))) return {AppendOutcome::kLost, ""};
  entries_[position.value()] = bytes;
  history_[position.value()] = bytes;
  head_ = position;
  hash_ = replication::entry_hash(bytes);
  lineage_[hash_] = previous;
  ++revision_;
  world_.trace("append " + std::to_string(position.value()) + " " + to_string(hash_));
  std::vector<std::pair<Position, std::function<void()>>> still_waiting;
  for (auto& waiter : std::exchange(waiting_, {})) {
    if (waiter.first < head_) {
      waiter.second();
    } else {
      still_waiting.push_back(std::move(waiter));
    }
  }
  waiting_ = std::move(still_waiting);
  return {AppendOutcome::kAppended, ""};
}

Result<std::vector<RawEntry>> SimLogServer::read(Position from, size_t max_bytes) const {
  if (from < first_)
    return Error{ErrorCode::kNotFound, "entry " + std::to_string(from.value()) + " is trimmed"};
  std::vector<RawEntry> entries;
  size_t bytes = 0;
  for (auto it = entries_.lower_bound(from.value()); it != entries_.end() && bytes < max_bytes; ++it) {
    entries.push_back({Position(it->first), it->second});
    bytes += it->second.size();
  }
  return entries;
}

void SimLogServer::trim(Position below) {
  if (below <= first_ || below > head_.next()) return;
  entries_.erase(entries_.begin(), entries_.lower_bound(below.value()));
  first_ = below;
  ++revision_;
  world_.trace("trim below " + std::to_string(below.value()));
}

void SimLogServer::halt(const std::string& words) {
  halt_words_ = words;
  ++revision_;
  world_.trace("halt");
}

Status SimLogServer::publish(const replication::Presence& presence) {
  const auto found = members_.find(presence.name);
  if (found != members_.end() && found->second.presence.incarnation > presence.incarnation) {
    return Error{ErrorCode::kFailedPrecondition, "member " + presence.name + " was started again"};
  }
  members_[presence.name] = {presence, world_.monotonic_us()};
  ++revision_;
  return {};
}

Status SimLogServer::withdraw(const std::string& name) {
  members_.erase(name);
  return {};
}

std::vector<replication::Presence> SimLogServer::presences() const {
  std::vector<replication::Presence> all;
  for (const auto& [name, published] : members_)
    if (published.at_us + kPresenceUs >= world_.monotonic_us()) all.push_back(published.presence);
  return all;
}

void SimLogServer::when_past(Position position, std::function<void()> wake) {
  if (position < head_) return wake();
  waiting_.emplace_back(position, std::move(wake));
}

SimLogServer::Backup SimLogServer::backup() const {
  return {entries_, history_, head_, hash_, first_, revision_, halt_words_};
}

SimLogServer::Backup SimLogServer::one_back() const {
  Backup before = backup();
  if (before.entries.erase(head_.value()) == 0) return before;
  before.history.erase(head_.value());
  before.head = Position(head_.value() - 1);
  before.hash = lineage_.at(hash_);
  --before.revision;
  return before;
}

void SimLogServer::restore(const Backup& backup) {
  entries_ = backup.entries;
  history_ = backup.history;
  head_ = backup.head;
  hash_ = backup.hash;
  first_ = backup.first;
  revision_ = backup.revision;
  halt_words_ = backup.halt_words;
  world_.trace("restore");
}

}  // namespace waypost::sim
