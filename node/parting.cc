#include "node/parting.h"

#include <map>
#include <optional>

#include "model/bytes.h"
#include "model/change.h"
#include "rpc/client.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

constexpr std::chrono::milliseconds kAskTimeout{3'000};

std::string number(Revision revision) {
  return std::to_string(revision.value());
}

const char* name_of(DataTable table) {
  return table == DataTable::kNexthop ? "nexthop" : "route";
}

std::optional<Hash128> hash_of(const std::string& bytes) {
  if (bytes.size() != 16) return std::nullopt;
  ByteReader reader(bytes);
  Hash128 hash;
  hash.high = reader.u64();
  hash.low = reader.u64();
  return hash;
}

class Comparison {
 public:
  Comparison(const store::Store& store, const std::string& address)
      : store_(store), client_(options_for(address)) {}

  // None: one of the two histories does not reach there. Otherwise whether both had the same rows then.
  std::optional<bool> equal_at(Revision revision) {
    const std::optional<Hash128> ours = store_.digest_at(revision);
    const std::optional<Hash128> theirs = digest_there(revision);
    if (!ours || !theirs) return std::nullopt;
    return *ours == *theirs;
  }

  // In which table this revision did something else there; none where the same was done to other rows.
  std::optional<DataTable> table_at(Revision revision) {
    const auto here = changes_here(revision);
    const auto there = changes_there(revision);
    if (!here || !there) return std::nullopt;
    for (const auto& [row, value] : *here) {
      const auto found = there->find(row);
      if (found == there->end() || found->second != value) return row.first;
    }
    for (const auto& [row, value] : *there) {
      if (!here->contains(row)) return row.first;
    }
    return std::nullopt;
  }

 private:
  using Changes = std::map<std::pair<DataTable, std::string>, std::string>;

  static rpc::ClientOptions options_for(const std::string& address) {
    rpc::ClientOptions options;
    options.endpoints = {address};
    options.timeout = kAskTimeout;
    return options;
  }

  std::optional<Hash128> digest_there(Revision revision) {
    rpc::Request request;
    request.mutable_history()->set_after(revision.value() - 1);
    request.mutable_history()->set_limit(1);
    std::optional<Hash128> digest;
    const Result<rpc::End> end = client_.call(request, [&](const rpc::Part& part) {
      if (part.history().revision() == revision.value()) digest = hash_of(part.history().data_digest());
      return true;
    });
    return end.ok() ? digest : std::nullopt;
  }

  std::optional<Changes> changes_here(Revision revision) const {
    const Result<std::vector<ChangeSet>> sets = store_.changes_after(Revision(revision.value() - 1), 1);
    if (!sets.ok() || sets->empty()) return std::nullopt;
    Changes changes;
    for (const Change& change : sets->front().changes) changes[{change.table, change.key}] = change.new_value;
    return changes;
  }

  std::optional<Changes> changes_there(Revision revision) {
    rpc::Request request;
    request.mutable_diff()->set_from(revision.value() - 1);
    request.mutable_diff()->set_to(revision.value());
    request.mutable_diff()->set_stale(true);
    Changes changes;
    const Result<rpc::End> end = client_.call(request, [&](const rpc::Part& part) {
      const rpc::Change& change = part.difference().change();
      changes[{static_cast<DataTable>(change.table()), change.key()}] = change.new_value();
      return true;
    });
    return end.ok() ? std::optional(changes) : std::nullopt;
  }

  const store::Store& store_;
  rpc::Client client_;
};

}  // namespace

std::string parting_words(const store::Store& store, const replication::Presence& other) {
  Comparison comparison(store, other.address);
  const std::string seen =
      "differs from member " + other.name + " at revision " + std::to_string(other.revision);
  Revision equal = store.oldest_history();
  Revision differs(other.revision);
  const std::optional<bool> oldest = comparison.equal_at(equal.next());
  if (!oldest) return "table nexthop or route " + seen + "; its history could not be compared";
  if (!*oldest) {
    return "table nexthop or route " + seen + ", and already at the oldest revision kept, " +
           number(equal.next());
  }
  equal = equal.next();
  while (equal.next() < differs) {  // halves at each turn
    const Revision middle(equal.value() + (differs.value() - equal.value()) / 2);
    const std::optional<bool> same = comparison.equal_at(middle);
    if (!same) return "table nexthop or route " + seen + ", and was equal at revision " + number(equal);
    (*same ? equal : differs) = middle;
  }
  const std::optional<DataTable> table = comparison.table_at(differs);
  return std::string("table ") + (table ? name_of(*table) : "nexthop or route") + " differs from member " +
         other.name + " since revision " + number(differs);
}

}  // namespace waypost::node
