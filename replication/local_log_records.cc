#include "replication/local_log_records.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include "model/bytes.h"
#include "model/mutant.h"
#include "replication/entry.h"

namespace waypost::replication {
namespace {

constexpr int kExitDiskFailed = 74;  // EX_IOERR
constexpr std::string_view kHeadKey = "\xffhead";
constexpr std::string_view kFirstKey =
    "\xff"
    "first";
constexpr std::string_view kHaltKey = "\xffhalt";
constexpr std::string_view kSealKey = "\xffseal";

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

std::string entry_key(Position position) {
  std::string key;
  append_u64(key, position.value());
  return key;
}

std::string encode_head(Position position, const Hash128& hash) {
  std::string out;
  append_u64(out, position.value());
  append_hash(out, hash);
  return out;
}

std::string encode_seal(const Seal& seal) {
  std::string out;
  append_u8(out, seal.done ? 1 : 0);
  append_hash(out, seal.cluster);
  append_u64(out, seal.position.value());
  append_hash(out, seal.hash);
  return out + seal.target;
}

Error corrupt(const std::string& what) {
  return {ErrorCode::kCorruption, "local log: " + what, "restore this node from a snapshot"};
}

// Errors of RocksDB are sticky and nothing after one can be trusted, so the process ends and the supervisor
// starts it anew.
void write_or_die(rocksdb::DB* db, rocksdb::WriteBatch& batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  const rocksdb::Status status = db->Write(options, &batch);
  if (status.ok()) return;
  spdlog::critical(
      "local log: the disk failed: {}; ending, so that nothing is acknowledged that is not stored",
      status.ToString());
  spdlog::shutdown();
  ::_exit(kExitDiskFailed);
}

Status check_newest_entry(const LocalLogState& state, const std::string& bytes) {
  const Result<Entry> entry = decode_entry(bytes);
  if (!entry.ok()) return entry.error();
  if (entry->position != state.head || entry_hash(bytes) != state.hash) {
    return corrupt("its newest entry is not the one that its head names (" +
                   std::to_string(state.head.value()) + ")");
  }
  return {};
}

}  // namespace

Result<LocalLogState> LocalLogRecords::load() const {
  LocalLogState state;
  const rocksdb::ReadOptions options;
  std::string bytes;
  // Reads one record; false where it is absent. An error of the disk lands in `failed`.
  rocksdb::Status failed;
  const auto get = [&](std::string_view key) {
    const rocksdb::Status status = db_->Get(options, family_, slice(key), &bytes);
    if (!status.ok() && !status.IsNotFound()) failed = status;
    return status.ok();
  };
  if (get(kHeadKey)) {
    ByteReader reader(bytes);
    state.head = Position(reader.u64());
    state.hash = read_hash(reader);
    if (!reader.done()) return corrupt("its head is unreadable");
  }
  if (get(kFirstKey)) {
    ByteReader reader(bytes);
    state.first = Position(reader.u64());
    if (!reader.done()) return corrupt("its first position is unreadable");
  }
  if (get(kHaltKey)) state.halt_words = bytes;
  if (get(kSealKey)) {
    ByteReader reader(bytes);
    Seal seal;
    seal.done = reader.u8() != 0;
    seal.cluster = read_hash(reader);
    seal.position = Position(reader.u64());
    seal.hash = read_hash(reader);
    if (reader.failed()) return corrupt("its seal is unreadable");
    seal.target = reader.rest();
    state.seal = seal;
  }
  const bool has_entries = state.first <= state.head;
  if (has_entries) {
    if (!get(entry_key(state.head)) && failed.ok()) {
      return corrupt("entry " + std::to_string(state.head.value()) + ", which its head names, is missing");
    }
    if (failed.ok()) {
      if (Status status = check_newest_entry(state, bytes); !status.ok()) return status.error();
    }
  }
  if (!failed.ok()) return Error{ErrorCode::kIo, "local log: " + failed.ToString()};
  return state;
}

Result<std::vector<RawEntry>> LocalLogRecords::entries(Position from, Position last, size_t max_bytes) const {
  std::vector<RawEntry> entries;
  const std::string lower = entry_key(from);
  const std::string upper = entry_key(last.next());
  const rocksdb::Slice upper_bound(upper);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &upper_bound;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, family_));
  size_t bytes = 0;
  for (it->Seek(lower); it->Valid() && bytes < max_bytes; it->Next()) {
    const Position expected = entries.empty() ? from : entries.back().position.next();
    if (it->key() != rocksdb::Slice(entry_key(expected))) break;
    entries.push_back({expected, it->value().ToString()});
    bytes += entries.back().bytes.size();
  }
  if (!it->status().ok()) return Error{ErrorCode::kIo, "local log: " + it->status().ToString()};
  const bool stopped_early = bytes < max_bytes && (entries.empty() || entries.back().position != last);
  if (entries.empty() || stopped_early) {
    const Position missing = entries.empty() ? from : entries.back().position.next();
    return corrupt("entry " + std::to_string(missing.value()) + " is missing");
  }
  return entries;
}

uint64_t LocalLogRecords::live_bytes() const {
  uint64_t bytes = 0;
  uint64_t memtables = 0;
  db_->GetIntProperty(family_, rocksdb::DB::Properties::kEstimateLiveDataSize, &bytes);
  db_->GetIntProperty(family_, rocksdb::DB::Properties::kCurSizeAllMemTables, &memtables);
  return bytes + memtables;
}

void LocalLogRecords::append(Position position, const std::string& bytes, const Hash128& hash) const {
  rocksdb::WriteBatch batch;
  batch.Put(family_, entry_key(position), bytes);
  batch.Put(family_, slice(kHeadKey), encode_head(position, hash));
  write_or_die(db_, batch, !mutant("local_ack_before_sync"));
}

void LocalLogRecords::trim(Position below) const {
  std::string first;
  append_u64(first, below.value());
  rocksdb::WriteBatch batch;
  batch.DeleteRange(family_, entry_key(Position(0)), entry_key(below));
  batch.Put(family_, slice(kFirstKey), first);
  write_or_die(db_, batch, false);
}

void LocalLogRecords::put_halt(const std::string& words) const {
  rocksdb::WriteBatch batch;
  batch.Put(family_, slice(kHaltKey), words);
  write_or_die(db_, batch, true);
}

void LocalLogRecords::put_seal(const Seal& seal) const {
  rocksdb::WriteBatch batch;
  batch.Put(family_, slice(kSealKey), encode_seal(seal));
  write_or_die(db_, batch, true);
}

void LocalLogRecords::begin_behind(Position position, const Hash128& hash) const {
  std::string first;
  append_u64(first, position.next().value());
  rocksdb::WriteBatch batch;
  batch.DeleteRange(family_, entry_key(Position(0)), entry_key(Position(~uint64_t{0})));
  batch.Delete(family_, slice(kSealKey));
  batch.Delete(family_, slice(kHaltKey));
  batch.Put(family_, slice(kHeadKey), encode_head(position, hash));
  batch.Put(family_, slice(kFirstKey), first);
  write_or_die(db_, batch, true);
}

}  // namespace waypost::replication
