// How local_log keeps its entries and records in the `log` family. Used by local_log*.cc only, on its writer
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "replication/local_log.h"

namespace waypost::replication {

struct LocalLogState {
  Position head;
  Hash128 hash;
  Position first{1};
  std::string halt_words;
  std::optional<Seal> seal;
};

class LocalLogRecords {
 public:
  LocalLogRecords(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) : db_(db), family_(family) {}

  Result<LocalLogState> load() const;
  // Entries from `from` to `last`, at least one, up to about max_bytes.
  Result<std::vector<RawEntry>> entries(Position from, Position last, size_t max_bytes) const;
  uint64_t live_bytes() const;

  // Writers end the process with status 74 when the disk fails.
  void append(Position position, const std::string& bytes, const Hash128& hash) const;  // synced
  void trim(Position below) const;                                                      // unsynced
  void put_halt(const std::string& words) const;                                        // synced
  void put_seal(const Seal& seal) const;                                                // synced
  void begin_behind(Position position, const Hash128& hash) const;                      // synced

 private:
  rocksdb::DB* db_;
  rocksdb::ColumnFamilyHandle* family_;
};

}  // namespace waypost::replication
