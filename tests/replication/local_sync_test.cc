// LOG.md, the local engine: what is acknowledged is on the disk, not only in its cache.
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <string>

#include "replication/entry.h"
#include "replication/local_log.h"
#include "tests/replication/serial_thread.h"
#include "tests/replication/temp_db.h"

namespace waypost::replication {
namespace {

// How much of each write-ahead log file was synced; a power cut keeps no more.
class SyncedSizes {
 public:
  void wrote(const std::string& path, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    written_[path] += bytes;
  }
  void synced(const std::string& path) {
    const std::lock_guard lock(mutex_);
    synced_[path] = written_[path];
  }
  // A copy of `from` as it would be found after the power came back.
  void copy_after_power_cut(const std::string& from, const std::string& to) {
    const std::lock_guard lock(mutex_);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
    for (const auto& [path, bytes] : written_) {
      const std::filesystem::path copy = std::filesystem::path(to) / std::filesystem::path(path).filename();
      if (std::filesystem::exists(copy)) std::filesystem::resize_file(copy, synced_[path]);
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::string, uint64_t> written_;
  std::map<std::string, uint64_t> synced_;
};

class CountingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  CountingFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path, SyncedSizes& sizes)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), sizes_(sizes) {}
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    sizes_.wrote(path_, data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info,
                           rocksdb::IODebugContext* debug) override {
    sizes_.wrote(path_, data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FSWritableFileOwnerWrapper::Sync(options, debug);
    sizes_.synced(path_);
    return status;
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FSWritableFileOwnerWrapper::Fsync(options, debug);
    sizes_.synced(path_);
    return status;
  }

 private:
  const std::string path_;
  SyncedSizes& sizes_;
};

class CountingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit CountingFileSystem(SyncedSizes& sizes)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), sizes_(sizes) {}
  const char* Name() const override { return "CountingFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    if (status.ok() && path.ends_with(".log"))
      *file = std::make_unique<CountingFile>(std::move(*file), path, sizes_);
    return status;
  }

 private:
  SyncedSizes& sizes_;
};

// The power is cut after each of some appends was acknowledged: each time everything acknowledged is found
// again, with its chain.
TEST(LocalLog, AcknowledgedSurvivesAPowerCut) {
  const TempDirectory directory;
  const std::string live = directory.path() + "/live";
  SyncedSizes sizes;
  const auto env = rocksdb::NewCompositeEnv(std::make_shared<CountingFileSystem>(sizes));
  const LogDatabase db(live, env.get());
  SerialThread thread;
  LocalLogOptions options;
  options.db = db.db();
  options.family = db.family();
  options.writer = options.order = thread.executor();
  const auto log = std::move(LocalLog::open(options)).value();
  Hash128 hash;
  for (uint64_t p = 1; p <= 5; ++p) {
    Entry entry;
    entry.position = Position(p);
    entry.previous = hash;
    entry.proposals = {"change"};
    const std::string bytes = encode_entry(entry);
    std::promise<AppendOutcome> done;
    log->append(entry.position, hash, bytes,
                [&](const AppendResult& result) { done.set_value(result.outcome); });
    ASSERT_EQ(done.get_future().get(), AppendOutcome::kAppended);
    hash = entry_hash(bytes);
    const std::string after = directory.path() + "/after-" + std::to_string(p);
    sizes.copy_after_power_cut(live, after);
    const LogDatabase found(after);
    LocalLogOptions again = options;
    again.db = found.db();
    again.family = found.family();
    const auto reopened = LocalLog::open(again);
    ASSERT_TRUE(reopened.ok());
    EXPECT_EQ((*reopened)->head().position, Position(p));
    EXPECT_EQ((*reopened)->head().hash, hash);
  }
  thread.join();
}

// A log whose head and newest entry contradict each other is refused in words instead of being written on.
TEST(LocalLog, ContradictionIsRefused) {
  const TempDirectory directory;
  const LogDatabase db(directory.path());
  ASSERT_TRUE(LocalLog::begin_behind(db.db(), db.family(), Position(41), Hash128{1, 1}).ok());
  LocalLogOptions options;
  options.db = db.db();
  options.family = db.family();
  options.writer = options.order = [](const std::function<void()>& work) { work(); };
  {
    const auto log = std::move(LocalLog::open(options)).value();
    EXPECT_EQ(log->head().position, Position(41));
    Entry entry;
    entry.position = Position(42);
    entry.previous = Hash128{1, 1};
    log->append(Position(42), Hash128{1, 1}, encode_entry(entry),
                [](const AppendResult& result) { EXPECT_EQ(result.outcome, AppendOutcome::kAppended); });
  }
  const std::string key{0, 0, 0, 0, 0, 0, 0, 42};
  ASSERT_TRUE(db.db()->Put({}, db.family(), key, "garbage").ok());
  EXPECT_EQ(LocalLog::open(options).error().code, ErrorCode::kCorruption);
  ASSERT_TRUE(db.db()->Delete({}, db.family(), key).ok());
  EXPECT_EQ(LocalLog::open(options).error().code, ErrorCode::kCorruption);
}

}  // namespace
}  // namespace waypost::replication
