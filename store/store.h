// The replicated state machine on RocksDB: the only way in is apply(), an entry of the log at a time.
//
// Threads: apply(), sync() and install() run on the one writer thread. view(), changes_after() and the
// getters of scalars may be called on any thread. A failed write or sync ends the process with status 74:
// RocksDB's errors are sticky and nothing after one can be trusted (FAULTS.md A.2.4).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/change.h"
#include "model/hash128.h"
#include "model/limits.h"
#include "model/transaction.h"

namespace rocksdb {
class DB;
class ColumnFamilyHandle;
}  // namespace rocksdb

namespace waypost::store {

struct StoreOptions {
  std::string
      directory;  // the data directory; the database lives in the subdirectory that its pointer file names
  bool create = false;  // make the store where there is none (--bootstrap); harmless where there is one
  uint64_t cache_bytes = 256u << 20;
  uint64_t write_buffer_bytes = 64u << 20;
  // Ids of a store that is made now; zero: minted at random. A member that joins takes its cluster's.
  Hash128 cluster = {};
  Hash128 history = {};
  // Reads the chain hash out of a row of the `log` family, for the check against the durable mark; may be
  // empty.
  std::function<std::optional<Hash128>(std::string_view log_row)> chain_of_log_row = nullptr;
};

// How far the disk is known to hold the log (the local engine: its synced tail) or the state (etcd and
// observers: the applied position at the last sync). Kept outside RocksDB and compared at open: see LOG.md,
// "Opening a store after a crash".
struct DurableMark {
  enum class Of : uint8_t { kLog = 1, kApplied = 2 };  // numbers are stored
  Of of = Of::kLog;
  Position position;
  Hash128 chain;

  bool operator==(const DurableMark&) const = default;
};

// What identifies a state: equal ones at the same (history, revision) are the same data.
struct StateStamp {
  Hash128 cluster;  // minted at genesis
  Hash128 history;  // minted at genesis, by a restore, and by starting a log anew
  Revision revision;
  Position position;       // applied
  Hash128 chain;           // of the log up to and with `position`; zero where the log keeps none
  Hash128 data_digest;     // of nexthop and route rows
  Hash128 control_digest;  // of sessions, settings, allocator, members
};

struct Counts {
  uint64_t nexthops = 0;  // single ones and groups, without interned
  uint64_t groups = 0;    // of these
  uint64_t interned = 0;
  uint64_t routes = 0;
};

struct EntryInput {
  Position position;     // applied position + 1
  uint64_t time_us = 0;  // the appender's clock; data, never "now"
  Hash128 chain = {};    // of the log up to and with this entry; comes back in StateStamp
  std::span<const std::string_view> proposals;  // encoded Proposal each
};

// Return false to stop the scan.
using RowVisitor = std::function<bool(std::string_view key, std::string_view value)>;

// One revision, pinned: a consistent picture for a listing, a snapshot or a full sync. Any thread, one at a
// time.
class ReadView {
 public:
  ReadView(ReadView&&) noexcept;
  ReadView& operator=(ReadView&&) noexcept;
  ~ReadView();

  const StateStamp& stamp() const;
  const Counts& counts() const;
  std::optional<NexthopObject> nexthop(NexthopId id) const;
  std::optional<Route> route(const RouteKey& key) const;
  // Rows in key order, from the first key strictly behind `after` (empty: from the start). A seek, whatever
  // `after` is.
  void scan_nexthops(std::string_view after, const RowVisitor& visit) const;
  // Interned rows (ids 0x80000000-0xBFFFFFFF) included; callers that hide them seek past the range.
  void scan_routes(std::string_view after, const RowVisitor& visit) const;
  // Rows of the routes over this nexthop id, strictly behind `after` (a route key), found by the index: what
  // they cost does not depend on how many others there are.
  void scan_routes_of(NexthopId id, std::string_view after, const RowVisitor& visit) const;
  // How many routes go over this nexthop or group: one read.
  uint64_t routes_over(NexthopId id) const;
  // Ids of groups that have this member.
  void scan_groups_of(NexthopId member, const std::function<bool(NexthopId group)>& visit) const;
  std::optional<std::string> setting(std::string_view name) const;
  struct Member {
    std::string name;
    std::string address;
    uint64_t incarnation = 0;
  };
  std::vector<Member> members() const;
  uint64_t session_count() const;

 private:
  friend class Store;
  friend struct ReadViewAccess;
  struct Impl;
  explicit ReadView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Store {
 public:
  // Errors: kNotFound where there is no store and create is false; kFailedPrecondition where another process
  // holds it; kCorruption with the words of LOG.md's "Opening a store after a crash": rows that were synced
  // are gone (a kLog mark that is not reached), or damage; kIo. A kApplied mark that is not reached is healed
  // from the log by whoever feeds the store: see notes().
  static Result<std::unique_ptr<Store>> open(const StoreOptions& options);
  ~Store();

  // Applies one entry and returns one encoded ProposalAnswer per proposal, in order. Rows, indexes, change
  // record, digests, revision and applied position go in one unsynced write batch. Never fails: what is
  // malformed is refused by its answer.
  std::vector<std::string> apply(const EntryInput& entry);

  // Makes everything applied so far durable and returns the position that now is.
  Position sync();

  // Puts the mark on disk, synced. One thread at a time, any.
  void note_durable(const DurableMark& mark);
  std::optional<DurableMark> durable_mark() const;
  // What opening found that people should know: a torn tail cut off, damage stepped over, a mark that is
  // missing.
  const std::vector<std::string>& notes() const;

  ReadView view() const;
  StateStamp stamp() const;
  Counts counts() const;

  // The changes behind `after`, whole ChangeSets in order, at least one where there is one, up to about
  // max_bytes. kNotFound where the history no longer reaches back to it ("compacted"), with the oldest
  // revision kept.
  Result<std::vector<ChangeSet>> changes_after(Revision after, size_t max_bytes) const;
  Revision oldest_history() const;  // changes_after(r) answers for r >= this
  // The data digest after each revision that the history keeps.
  std::optional<Hash128> digest_at(Revision revision) const;

  // Called on the writer thread after every apply that raised the revision. One listener list, set at start.
  void on_revision(std::function<void(Revision)> listener);

  // Trims the history by the settings history.revisions and history.bytes; called now and then on the writer
  // thread.
  void trim_history();

  // Walks every family and recomputes references, indexes and digests: what `cluster check` and the tests
  // ask. Returns the first contradiction in words.
  Status verify() const;

  // For the local engine's log only (replication/local_log): the same database, its `log` family.
  rocksdb::DB* database() const;
  rocksdb::ColumnFamilyHandle* log_family() const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace waypost::store
