#include <algorithm>
#include <map>

#include "model/hash128.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "node/net_changes_internal.h"

namespace waypost::node {

namespace {

constexpr size_t kReadBytes = 1u << 20;

std::optional<NexthopId> interned_id(const Change& change) {
  if (change.table != DataTable::kNexthop) return std::nullopt;
  const std::optional<NexthopId> id = decode_nexthop_key(change.key);
  return id && is_interned(*id) ? id : std::nullopt;
}

}  // namespace

Result<NetChanges> NetChanges::between(const store::Store& store, Revision from, Revision to) {
  NetChanges net(store);
  const Revision newest = store.stamp().revision;
  net.backwards_ = from > to;
  net.low_ = std::min(from, to);
  net.high_ = std::max(from, to);
  if (net.high_ > newest) {
    return Error{ErrorCode::kInvalidArgument,
                 "revision " + std::to_string(net.high_.value()) + " is not reached yet; the newest is " +
                     std::to_string(newest.value()),
                 "`waypost history` lists them"};
  }
  if (net.low_ < store.oldest_history()) {
    return Error{ErrorCode::kNotFound,
                 "the history no longer reaches back to revision " + std::to_string(net.low_.value()) +
                     "; the oldest kept is " + std::to_string(store.oldest_history().value()),
                 "the settings history.revisions and history.bytes decide how much is kept"};
  }
  if (Status status = net.survey(); !status.ok()) return status.error();
  return net;
}

template <typename Visitor>
Status NetChanges::for_each(Visitor&& visit) const {
  Revision cursor = low_;
  while (cursor < high_) {
    Result<std::vector<ChangeSet>> sets = store_->changes_after(cursor, kReadBytes);
    if (!sets.ok()) return sets.error();
    if (sets->empty()) break;
    for (ChangeSet& set : *sets) {
      cursor = set.revision;
      if (set.revision > high_) break;
      for (Change& change : set.changes) visit(change);
    }
  }
  return {};
}

Status NetChanges::survey() {
  bool too_many = false;
  Status status = for_each([&](Change& change) {
    ++changes_;
    const std::optional<NexthopId> id = interned_id(change);
    if (!id) return;
    if (interned_.size() >= limits::kMaxRememberedPaths) {
      too_many = true;
    } else {
      interned_[id->value()] = change.new_value.empty() ? change.old_value : change.new_value;
    }
  });
  if (!status.ok()) return status;
  if (too_many) {
    return Error{ErrorCode::kResourceExhausted,
                 "too many inline paths changed between the two revisions to compare them at once",
                 "take revisions that are nearer to each other"};
  }
  parts_ = changes_ / limits::kNetChangesAtOnce + 1;
  return {};
}

Result<std::vector<Change>> NetChanges::part(size_t index) const {
  std::map<std::pair<DataTable, std::string>, std::pair<std::string, std::string>> net;
  const Status status = for_each([&](Change& change) {
    if (interned_id(change) || hash128(change.key).low % parts_ != index) return;
    const auto [it, first] = net.try_emplace({change.table, change.key});
    if (first) it->second.first = std::move(change.old_value);
    it->second.second = std::move(change.new_value);
  });
  if (!status.ok()) return status.error();
  std::vector<Change> changes;
  changes.reserve(net.size());
  for (auto& [key, values] : net) {
    if (values.first == values.second) continue;
    if (backwards_) std::swap(values.first, values.second);
    changes.push_back(Change{key.first, key.second, std::move(values.first), std::move(values.second)});
  }
  return changes;
}

const std::string* NetChanges::interned(NexthopId id) const {
  const auto found = interned_.find(id.value());
  return found == interned_.end() ? nullptr : &found->second;
}

}  // namespace waypost::node
