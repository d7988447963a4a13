#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <spdlog/spdlog.h>

#include <cstdarg>
#include <cstdio>
#include <filesystem>

#include "store/database_internal.h"
#include "store/files.h"

namespace waypost::store {
namespace {

constexpr size_t kSmallWriteBuffer = 16u << 20;
// A file in which this many of so many neighbouring entries are tombstones is compacted soon.
constexpr size_t kTombstoneWindow = 4'096;
constexpr size_t kTombstoneTrigger = 2'048;

bool holds_many_rows(Table table) {
  return table == Table::kRoute || table == Table::kRouteByNexthop || table == Table::kNexthop ||
         table == Table::kChange || table == Table::kLog;
}

// Tables in which apply mostly asks for keys that are not there.
bool is_probed(Table table) {
  return table == Table::kRoute || table == Table::kNexthop || table == Table::kNexthopUsers ||
         table == Table::kSession;
}

// RocksDB's own log file ends the process in an assertion when it is written to on a full disk, so its words
// go where ours go.
class WordsOfRocksDb final : public rocksdb::Logger {
 public:
  using Logger::Logv;
  WordsOfRocksDb() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    const bool wanted = level >= GetInfoLogLevel() && level < rocksdb::InfoLogLevel::HEADER_LEVEL;
    if (!wanted) return;
    char words[1024];
    std::vsnprintf(words, sizeof words, format, arguments);
    const bool error = level >= rocksdb::InfoLogLevel::ERROR_LEVEL;
    spdlog::log(error ? spdlog::level::err : spdlog::level::warn, "rocksdb: {}", words);
  }
};

}  // namespace

void must(const rocksdb::Status& status, std::string_view doing) {
  if (!status.ok()) end_process(doing, status.ToString());
}

rocksdb::Options database_options(const DatabaseOptions& options) {
  rocksdb::Options db;
  db.create_if_missing = options.create;
  db.create_missing_column_families = true;
  db.paranoid_checks = true;
  db.recycle_log_file_num = 0;
  db.wal_recovery_mode = options.point_in_time ? rocksdb::WALRecoveryMode::kPointInTimeRecovery
                                               : rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // One thread applies, one appends to the log: nothing to gain from memtables that take several at once.
  db.allow_concurrent_memtable_write = false;
  db.max_background_jobs = 2;
  // What a start after a crash has to read again.
  db.max_total_wal_size = 3 * options.write_buffer_bytes;
  db.bytes_per_sync = 1u << 20;
  db.info_log = std::make_shared<WordsOfRocksDb>();
  db.max_open_files = 512;

  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_cache = rocksdb::NewLRUCache(options.cache_bytes);
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  db.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return db;
}

rocksdb::ColumnFamilyOptions family_options(Table table, const rocksdb::Options& base,
                                            const DatabaseOptions& options) {
  rocksdb::ColumnFamilyOptions family(base);
  family.write_buffer_size = holds_many_rows(table)
                                 ? options.write_buffer_bytes
                                 : std::min<uint64_t>(kSmallWriteBuffer, options.write_buffer_bytes);
  family.max_write_buffer_number = 4;
  family.compression = rocksdb::kLZ4Compression;
  if (is_probed(table)) {
    family.memtable_prefix_bloom_size_ratio = 0.05;
    family.memtable_whole_key_filtering = true;
  }
  family.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(kTombstoneWindow, kTombstoneTrigger));
  return family;
}

rocksdb::Status Database::open(const std::string& path, const DatabaseOptions& options,
                               std::shared_ptr<Database>* database) {
  const rocksdb::Options db_options = database_options(options);
  // With a log of our own RocksDB looks into the directory before it makes it, and complains; what fails here
  // fails again in Open(), in its words.
  std::error_code ignored;
  if (options.create) std::filesystem::create_directory(path, ignored);
  // Compaction can wait; what clients and the kernel wait for cannot.
  (void)rocksdb::Env::Default()->LowerThreadPoolCPUPriority(rocksdb::Env::Priority::LOW,
                                                            rocksdb::CpuPriority::kLow);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions(db_options));
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    families.emplace_back(std::string(table_name(table)), family_options(table, db_options, options));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(db_options, path, families, &handles, &db);
  if (!status.ok()) return status;
  std::shared_ptr<Database> opened(new Database);
  opened->db_.reset(db);
  opened->default_family_ = handles[0];
  std::copy(handles.begin() + 1, handles.end(), opened->families_.begin());
  *database = std::move(opened);
  return status;
}

Database::~Database() {
  if (!db_) return;
  for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  db_->DestroyColumnFamilyHandle(default_family_);
  db_->Close();
}

bool Database::get(Table table, std::string_view key, std::string* value) const {
  return get_at(nullptr, table, key, value);
}

void Database::scan(Table table, std::string_view from, std::string_view until,
                    const RowVisitor& visit) const {
  scan_at(nullptr, false, table, from, until, visit);
}

bool Database::get_at(const rocksdb::Snapshot* snapshot, Table table, std::string_view key,
                      std::string* value) const {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  rocksdb::PinnableSlice pinned(value);
  const rocksdb::Status status = db_->Get(options, family(table), slice(key), &pinned);
  if (status.IsNotFound()) return false;
  must(status, "reading the store");
  if (pinned.IsPinned()) value->assign(pinned.data(), pinned.size());
  return true;
}

void Database::scan_at(const rocksdb::Snapshot* snapshot, bool long_scan, Table table, std::string_view from,
                       std::string_view until, const RowVisitor& visit) const {
  const rocksdb::Slice bound = slice(until);
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  options.fill_cache = !long_scan;
  if (!until.empty()) options.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, family(table)));
  for (it->Seek(slice(from)); it->Valid(); it->Next())
    if (!visit(view(it->key()), view(it->value()))) break;
  // An iterator that meets damage stops like one that meets the end.
  must(it->status(), "reading the store");
}

std::string Database::last_key(Table table, std::string_view until) const {
  const rocksdb::Slice bound = slice(until);
  rocksdb::ReadOptions options;
  if (!until.empty()) options.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, family(table)));
  it->SeekToLast();
  must(it->status(), "reading the store");
  return it->Valid() ? it->key().ToString() : std::string();
}

void Database::write(rocksdb::WriteBatch& batch, bool sync, std::string_view doing) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  must(db_->Write(options, &batch), doing);
}

void Database::sync_wal() {
  must(db_->FlushWAL(true), "syncing the store");
}

}  // namespace waypost::store
