// RocksDB as the store uses it: one column family a table, the options of FAULTS.md A.2.4, and failures that
// end the process.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "store/tables.h"

namespace waypost::store {

inline rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
inline std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// A failed read or write ends the process: RocksDB's errors are sticky (FAULTS.md A.2.4).
void must(const rocksdb::Status& status, std::string_view doing);

struct DatabaseOptions {
  uint64_t cache_bytes = 256u << 20;
  uint64_t write_buffer_bytes = 64u << 20;
  bool create = false;
  bool point_in_time = false;  // recover up to the first damage, instead of refusing it
};

rocksdb::Options database_options(const DatabaseOptions& options);
rocksdb::ColumnFamilyOptions family_options(Table table, const rocksdb::Options& base,
                                            const DatabaseOptions& options);

class Database final : public TableReader {
 public:
  // RocksDB's own words and code where it can not be opened.
  static rocksdb::Status open(const std::string& path, const DatabaseOptions& options,
                              std::shared_ptr<Database>* database);
  ~Database() override;

  bool get(Table table, std::string_view key, std::string* value) const override;
  void scan(Table table, std::string_view from, std::string_view until,
            const RowVisitor& visit) const override;
  // As of a snapshot, or now where it is null. A long scan leaves the block cache to others.
  bool get_at(const rocksdb::Snapshot* snapshot, Table table, std::string_view key, std::string* value) const;
  void scan_at(const rocksdb::Snapshot* snapshot, bool long_scan, Table table, std::string_view from,
               std::string_view until, const RowVisitor& visit) const;
  // The last key of the table below `until`; empty where there is none.
  std::string last_key(Table table, std::string_view until) const;

  void write(rocksdb::WriteBatch& batch, bool sync, std::string_view doing);
  void sync_wal();

  rocksdb::DB* db() const { return db_.get(); }
  rocksdb::ColumnFamilyHandle* family(Table table) const { return families_[index_of(table)]; }

 private:
  Database() = default;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_family_ = nullptr;
  std::array<rocksdb::ColumnFamilyHandle*, kTableCount> families_ = {};
};

// The tables at one moment, whatever is written meanwhile.
class DatabaseSnapshot final : public TableReader {
 public:
  explicit DatabaseSnapshot(std::shared_ptr<Database> database)
      : database_(std::move(database)), snapshot_(database_->db()) {}

  bool get(Table table, std::string_view key, std::string* value) const override {
    return database_->get_at(snapshot_.snapshot(), table, key, value);
  }
  void scan(Table table, std::string_view from, std::string_view until,
            const RowVisitor& visit) const override {
    database_->scan_at(snapshot_.snapshot(), true, table, from, until, visit);
  }

 private:
  std::shared_ptr<Database> database_;
  mutable rocksdb::ManagedSnapshot snapshot_;  // its reads are not const in RocksDB's eyes
};

}  // namespace waypost::store
