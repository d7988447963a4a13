#include "node/engine.h"

#include <chrono>
#include <mutex>

#include "replication/local_log.h"

namespace waypost::node {

namespace {

using std::chrono::steady_clock;

constexpr auto kMarkPeriod = std::chrono::seconds(1);

// The synced tail goes to the durable mark at most once a second: damage within the last second before a
// crash cannot be told from a torn tail (LOG.md, "Opening a store after a crash"), and every append need not
// be synced twice.
class TailMark {
 public:
  explicit TailMark(store::Store& store) : store_(store) {}

  // On the thread that appends.
  void synced(Position position, const Hash128& chain) {
    const std::lock_guard lock(mutex_);
    newest_ = {store::DurableMark::Of::kLog, position, chain};
    if (steady_clock::now() - written_at_ >= kMarkPeriod) write();
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    if (newest_.position > written_) write();
  }

 private:
  void write() {
    store_.note_durable(newest_);
    written_ = newest_.position;
    written_at_ = steady_clock::now();
  }

  store::Store& store_;
  std::mutex mutex_;
  store::DurableMark newest_;
  Position written_;
  steady_clock::time_point written_at_;
};

}  // namespace

Result<Engine> open_local_engine(store::Store& store, Workers& disk, OrderThread& order) {
  const auto mark = std::make_shared<TailMark>(store);
  replication::LocalLogOptions options;
  options.db = store.database();
  options.family = store.log_family();
  options.writer = [&disk](std::function<void()> work) { disk.post(std::move(work)); };
  options.order = order.executor();
  options.on_synced = [mark](Position position, const Hash128& chain) { mark->synced(position, chain); };
  Result<std::unique_ptr<replication::LocalLog>> log = replication::LocalLog::open(std::move(options));
  if (!log.ok()) return log.error();
  Engine engine;
  engine.local = log->get();
  engine.log = std::move(*log);
  engine.name = "local";
  engine.close = [mark] { mark->flush(); };
  return engine;
}

}  // namespace waypost::node
