// The one snapshot format: header, rows of every family a member needs in key order in checksummed chunks,
// footer with both digests. The same stream serves joining and lagging members, observers, and `waypost
// snapshot save | verify | restore`. Grammar in snapshot.cc. Pure streams: who carries the chunks does not
// matter here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace waypost::store {

// Cuts one read view into chunks of about limits::kStreamChunkBytes. Memory stays flat. Any one thread at a
// time.
class SnapshotSource {
 public:
  explicit SnapshotSource(ReadView view);
  ~SnapshotSource();
  // Chunk n, n from 0 in order; empty optional behind the last. Resuming: start at any chunk number of the
  // same view
  // (`resume_at` seeks by the cursor that the previous chunk ended with).
  std::optional<std::string> next();
  std::string cursor() const;  // opaque; valid for the same view
  Status resume_at(std::string_view cursor);
  const StateStamp& stamp() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Checks a stream chunk by chunk and, where a directory is given, builds a new database there from sorted
// files, ready to switch to. Nothing takes effect before switch_to_snapshot().
class SnapshotSink {
 public:
  // directory empty: verify only.
  static Result<std::unique_ptr<SnapshotSink>> create(const std::string& directory);
  ~SnapshotSink();
  // kCorruption names the chunk. `done()` after the footer: both digests were recomputed and equal.
  Status add(std::string_view chunk);
  bool done() const;
  const StateStamp& stamp() const;  // after the header
  uint64_t rows() const;
  // Ingests and syncs; the new database is then complete in `directory`. New history id and lifted revision
  // where `as_restore` (LOG.md rule 8).
  Status finish(bool as_restore, Revision at_least);

 private:
  struct Impl;
  explicit SnapshotSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Where a sink may build the next database of this data directory: a name that was never used. What is left
// of one that was cut off goes when the store is opened.
std::string new_database_directory(const std::string& data_directory);

// One fsynced rename of the pointer file in the data directory (LOG.md rule 11); the old database is removed
// afterwards. The store must be closed.
Status switch_to_snapshot(const std::string& data_directory, const std::string& new_database_directory);

}  // namespace waypost::store
