#include <rocksdb/sst_file_writer.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>

#include "model/bytes.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "store/database_internal.h"
#include "store/durable_mark.h"
#include "store/files.h"
#include "store/keys.h"
#include "store/snapshot.h"
#include "store/snapshot_checker.h"
#include "store/snapshot_format.h"

namespace waypost::store {
namespace {

// A sorted file is closed at this size: ingestion puts each as low as it fits.
constexpr uint64_t kSortedFileBytes = 64u << 20;
// What a row needs at most on disk while it is built, with its share of indexes; and room for the rest.
constexpr uint64_t kBytesPerRow = 160;
constexpr uint64_t kSpareBytes = 64u << 20;

Error disk_failed(const std::string& doing, const rocksdb::Status& status) {
  return {.code = ErrorCode::kIo, .message = doing + ": " + status.ToString()};
}

size_t place_of(Table table) {
  return static_cast<size_t>(std::find(std::begin(kSnapshotTables), std::end(kSnapshotTables), table) -
                             std::begin(kSnapshotTables));
}

}  // namespace

struct SnapshotSink::Impl {
  enum class Step { kHeader, kRows, kDone, kFinished };

  std::string directory;  // empty: verify only
  std::string incoming;   // where sorted files are built
  Step step = Step::kHeader;
  uint32_t number = 0;  // of the next chunk
  StateRow header;
  SnapshotChecker checker;
  Table table = kSnapshotTables[0];
  std::string last_key;  // of the table; empty: none yet
  std::unique_ptr<rocksdb::SstFileWriter> writer;
  std::vector<std::pair<Table, std::string>> files;

  ~Impl() {
    writer.reset();
    if (!incoming.empty()) (void)remove_tree(incoming);
  }

  Status take_header(const Chunk& chunk) {
    const bool known = chunk.kind == ChunkKind::kHeader && chunk.payload.starts_with(kSnapshotMagic);
    const auto row = known ? decode_state_row(chunk.payload.substr(kSnapshotMagic.size())) : std::nullopt;
    if (!row) return damaged_chunk(chunk.number, "it is not the header of a snapshot of this version");
    header = *row;
    step = Step::kRows;
    return check_space();
  }

  Status check_space() const {
    struct statvfs space {};
    if (directory.empty() || ::statvfs(directory.c_str(), &space) != 0) return {};
    const Counts& counts = header.counts;
    const uint64_t needed = (counts.nexthops + counts.interned + counts.routes) * kBytesPerRow + kSpareBytes;
    const uint64_t free = space.f_bavail * space.f_frsize;
    if (free >= needed) return {};
    return Error{.code = ErrorCode::kResourceExhausted,
                 .message = "the snapshot needs about " + std::to_string(needed >> 20) +
                            " MiB beside the store, " + directory + " has " + std::to_string(free >> 20) +
                            " MiB free",
                 .hint = "free disk space, then try again"};
  }

  Status take_rows(const Chunk& chunk) {
    ByteReader reader(chunk.payload);
    const auto of = static_cast<Table>(reader.u8());
    if (reader.failed() || place_of(of) == std::size(kSnapshotTables) || place_of(of) < place_of(table))
      return damaged_chunk(chunk.number, "its table does not belong there");
    if (of != table) {
      if (Status status = close_file(); !status.ok()) return status;
      table = of;
      last_key.clear();
    }
    RowBlockReader block(reader.rest());
    std::string_view key;
    std::string_view value;
    while (block.next(&key, &value)) {
      if (key <= last_key) return damaged_chunk(chunk.number, "its rows are not in order");
      last_key.assign(key);
      if (const std::string wrong = checker.add(table, key, value); !wrong.empty())
        return damaged_chunk(chunk.number, wrong);
      if (Status status = write_row(key, value); !status.ok()) return status;
    }
    if (block.damaged()) return damaged_chunk(chunk.number, "its rows follow no known form");
    return {};
  }

  Status take_footer(const Chunk& chunk) {
    ByteReader reader(chunk.payload);
    if (reader.u64() != checker.rows() || !reader.done())
      return damaged_chunk(chunk.number, "rows are missing before it");
    if (const std::string wrong = checker.finish(header); !wrong.empty())
      return damaged_chunk(chunk.number, wrong);
    step = Step::kDone;
    return close_file();
  }

  Status write_row(std::string_view key, std::string_view value) {
    if (directory.empty()) return {};
    if (writer && writer->FileSize() >= kSortedFileBytes)
      if (Status status = close_file(); !status.ok()) return status;
    if (!writer)
      if (Status status = open_file(); !status.ok()) return status;
    const rocksdb::Status written = writer->Put(slice(key), slice(value));
    if (!written.ok()) return disk_failed("writing a sorted file", written);
    return {};
  }

  Status open_file() {
    const DatabaseOptions options;
    const rocksdb::Options db = database_options(options);
    const rocksdb::Options sorted(db, family_options(table, db, options));
    writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), sorted);
    const std::string path = incoming + "/" + std::to_string(files.size()) + ".sst";
    const rocksdb::Status opened = writer->Open(path);
    if (!opened.ok()) return disk_failed("making " + path, opened);
    files.emplace_back(table, path);
    return {};
  }

  Status close_file() {
    if (!writer) return {};
    const rocksdb::Status closed = writer->Finish();
    writer.reset();
    if (!closed.ok()) return disk_failed("closing a sorted file", closed);
    return {};
  }

  Status ingest(Database& database) {
    for (Table each : kSnapshotTables) {
      std::vector<std::string> paths;
      for (const auto& [of, path] : files)
        if (of == each) paths.push_back(path);
      if (paths.empty()) continue;
      rocksdb::IngestExternalFileOptions options;
      options.move_files = true;
      options.verify_checksums_before_ingest = true;
      const rocksdb::Status status = database.db()->IngestExternalFile(database.family(each), paths, options);
      if (!status.ok()) return disk_failed("taking in sorted files", status);
    }
    return {};
  }
};

SnapshotSink::SnapshotSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SnapshotSink::~SnapshotSink() = default;

Result<std::unique_ptr<SnapshotSink>> SnapshotSink::create(const std::string& directory) {
  auto impl = std::make_unique<Impl>();
  if (!directory.empty()) {
    std::error_code error;
    if (std::filesystem::exists(directory + "/CURRENT", error))
      return Error{.code = ErrorCode::kAlreadyExists,
                   .message = directory + " holds a database already",
                   .hint = "name a new directory"};
    if (Status status = make_directory(directory); !status.ok()) return status.error();
    impl->directory = directory;
    impl->incoming = directory + "/incoming";
    if (Status status = remove_tree(impl->incoming); !status.ok()) return status.error();
    if (Status status = make_directory(impl->incoming); !status.ok()) return status.error();
  }
  return std::unique_ptr<SnapshotSink>(new SnapshotSink(std::move(impl)));
}

Status SnapshotSink::add(std::string_view bytes) {
  using Step = Impl::Step;
  auto chunk = decode_chunk(bytes, impl_->number);
  if (!chunk.ok()) return chunk.error();
  Status status;
  if (impl_->step == Step::kHeader)
    status = impl_->take_header(*chunk);
  else if (impl_->step == Step::kRows && chunk->kind == ChunkKind::kRows)
    status = impl_->take_rows(*chunk);
  else if (impl_->step == Step::kRows && chunk->kind == ChunkKind::kFooter)
    status = impl_->take_footer(*chunk);
  else
    status = damaged_chunk(impl_->number, "it does not belong there");
  if (status.ok()) ++impl_->number;
  return status;
}

bool SnapshotSink::done() const {
  return impl_->step == Impl::Step::kDone;
}

const StateStamp& SnapshotSink::stamp() const {
  return impl_->header.stamp;
}

uint64_t SnapshotSink::rows() const {
  return impl_->checker.rows();
}

Status SnapshotSink::finish(bool as_restore, Revision at_least) {
  if (!done() || impl_->directory.empty())
    return Error{
        .code = ErrorCode::kFailedPrecondition,
        .message = "the snapshot is not complete: chunk " + std::to_string(impl_->number) + " is missing"};
  StateRow row = impl_->header;
  row.history_bytes = 0;
  if (as_restore) {
    row.stamp.history = mint_id();
    row.stamp.revision = std::max(row.stamp.revision.next(), at_least);
  }
  std::shared_ptr<Database> database;
  const rocksdb::Status made = Database::open(impl_->directory, {.create = true}, &database);
  if (!made.ok()) return disk_failed("making " + impl_->directory, made);
  if (Status status = impl_->ingest(*database); !status.ok()) return status;
  rocksdb::WriteBatch batch;
  batch.Put(database->family(Table::kMeta), slice(kStateKey), encode(row));
  batch.Put(database->family(Table::kMeta), slice(kFloorKey),
            encode(Floor{.revision = row.stamp.revision, .digest = row.stamp.data_digest}));
  database->write(batch, true, "finishing a snapshot");
  database.reset();
  impl_->step = Impl::Step::kFinished;
  if (Status status = remove_tree(impl_->incoming); !status.ok()) return status;
  return sync_directory(impl_->directory);
}

std::string new_database_directory(const std::string& data_directory) {
  return data_directory + "/" + fresh_name(data_directory, kDatabasePrefix);
}

Status switch_to_snapshot(const std::string& data_directory, const std::string& new_database_directory) {
  namespace fs = std::filesystem;
  const std::string name = fs::path(new_database_directory).filename().string();
  std::error_code error;
  if (!fs::exists(data_directory + "/" + name + "/CURRENT", error))
    return Error{.code = ErrorCode::kNotFound,
                 .message = new_database_directory + " is no finished database of " + data_directory};
  auto lock = DirectoryLock::acquire(data_directory);
  if (!lock.ok()) return lock.error();
  auto old = read_pointer(data_directory);
  if (!old.ok()) return old.error();
  // The mark speaks of the old database. Forgetting it first can lose no more than its warning, if the power
  // goes now.
  if (Status status = remove_tree(data_directory + "/durable_mark"); !status.ok()) return status;
  auto mark = DurableMarkFile::open(data_directory + "/durable_mark");
  if (!mark.ok()) return mark.error();
  mark->write({});
  if (Status status = write_pointer(data_directory, name); !status.ok()) return status;
  if (!*old || **old == name) return {};
  return remove_tree(data_directory + "/" + **old);
}

}  // namespace waypost::store
