#include "node/snapshot_fetch.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include "model/bytes.h"
#include "model/limits.h"
#include "replication/local_log.h"
#include "rpc/client.h"
#include "rpc/waypost.pb.h"
#include "store/snapshot.h"

namespace waypost::node {

namespace {

using store::SnapshotSink;

// Of a whole stream; a member that hangs in the middle is given up for another.
constexpr std::chrono::minutes kFetchTimeout{30};

std::string words_of(const store::StateStamp& stamp, uint64_t rows) {
  return "revision " + std::to_string(stamp.revision.value()) + ", " + std::to_string(rows) +
         " rows, digest " + to_string(stamp.data_digest) + ", cluster " + to_string(stamp.cluster);
}

Error incomplete(const std::string& where) {
  return {ErrorCode::kCorruption, where + " ends before the snapshot does", "take or fetch it again"};
}

// The chunks of a saved file: (length:4 big-endian, chunk)*.
Status read_file(const std::string& path, SnapshotSink& sink) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "snapshot file " + path + " cannot be read", ""};
  std::string chunk;
  while (true) {
    char header[4];
    if (!file.read(header, sizeof header)) {
      return file.gcount() == 0 ? Status() : Status(incomplete(path));
    }
    const auto length = load_big_endian<uint32_t>(header);
    if (length > limits::kMaxFrameBytes) {
      return Error{ErrorCode::kCorruption,
                   path + " is no snapshot: a chunk of " + std::to_string(length) + " bytes",
                   "`waypost snapshot save` makes them"};
    }
    chunk.resize(length);
    if (!file.read(chunk.data(), length)) return incomplete(path);
    if (Status status = sink.add(chunk); !status.ok()) return status;
  }
}

// Whatever was there has its revision; the restored store goes past it.
Revision revision_there(const std::string& data_dir) {
  store::StoreOptions options;
  options.directory = data_dir;
  const Result<std::unique_ptr<store::Store>> store = store::Store::open(options);
  return store.ok() ? (*store)->stamp().revision : Revision(0);
}

// The log of the restored node goes on behind the position that the snapshot was taken at.
Status begin_log(const std::string& data_dir) {
  store::StoreOptions options;
  options.directory = data_dir;
  const Result<std::unique_ptr<store::Store>> store = store::Store::open(options);
  if (!store.ok()) return store.error();
  const store::StateStamp stamp = (*store)->stamp();
  Status begun = replication::LocalLog::begin_behind((*store)->database(), (*store)->log_family(),
                                                     stamp.position, stamp.chain);
  if (begun.ok()) (*store)->note_durable({store::DurableMark::Of::kLog, stamp.position, stamp.chain});
  return begun;
}

class NewDatabase {
 public:
  explicit NewDatabase(const std::string& data_dir) : path_(store::new_database_directory(data_dir)) {}
  ~NewDatabase() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  const std::string path_;
  bool kept_ = false;
};

}  // namespace

Result<uint64_t> fetch_snapshot(const std::string& address, const std::string& data_dir,
                                const Hash128& cluster, const std::function<void(uint64_t bytes)>& progress) {
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  NewDatabase database(data_dir);
  Result<std::unique_ptr<SnapshotSink>> sink = SnapshotSink::create(database.path());
  if (!sink.ok()) return sink.error();
  rpc::ClientOptions options;
  options.endpoints = {address};
  options.timeout = kFetchTimeout;
  rpc::Client client(options);
  rpc::Request request;
  request.mutable_snapshot();
  Status added;
  uint64_t bytes = 0;
  const Result<rpc::End> end = client.call(request, [&](const rpc::Part& part) {
    added = (*sink)->add(part.snapshot_chunk());
    bytes += part.snapshot_chunk().size();
    progress(bytes);
    return added.ok();
  });
  if (!added.ok()) return added.error();
  if (!end.ok()) return end.error();
  if (!(*sink)->done()) return incomplete("the stream of " + address);
  if ((*sink)->stamp().cluster != cluster) {
    return Error{ErrorCode::kFailedPrecondition, "the node at " + address + " belongs to another cluster",
                 "check the addresses that members advertise"};
  }
  if (const Status status = (*sink)->finish(false, Revision(0)); !status.ok()) return status.error();
  sink->reset();
  if (const Status switched = store::switch_to_snapshot(data_dir, database.path()); !switched.ok())
    return switched.error();
  database.keep();
  return bytes;
}

Result<std::string> verify_snapshot_file(const std::string& path) {
  Result<std::unique_ptr<SnapshotSink>> sink = SnapshotSink::create("");
  if (!sink.ok()) return sink.error();
  if (Status status = read_file(path, **sink); !status.ok()) return status.error();
  if (!(*sink)->done()) return incomplete(path);
  return "good: " + words_of((*sink)->stamp(), (*sink)->rows());
}

Result<std::string> restore_snapshot_file(const std::string& path, const std::string& data_dir) {
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  const Revision before = revision_there(data_dir);
  NewDatabase database(data_dir);
  Result<std::unique_ptr<SnapshotSink>> sink = SnapshotSink::create(database.path());
  if (!sink.ok()) return sink.error();
  if (Status status = read_file(path, **sink); !status.ok()) return status.error();
  if (!(*sink)->done()) return incomplete(path);
  const std::string words = words_of((*sink)->stamp(), (*sink)->rows());
  if (Status status = (*sink)->finish(true, before); !status.ok()) return status.error();
  sink->reset();
  if (Status status = store::switch_to_snapshot(data_dir, database.path()); !status.ok())
    return status.error();
  database.keep();
  if (Status status = begin_log(data_dir); !status.ok()) return status.error();
  return "restored " + words +
         "; the store has a new history, and kernel_sync asks before it takes anything away";
}

}  // namespace waypost::node
