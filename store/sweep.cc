#include <algorithm>

#include "store/sweep_internal.h"

namespace waypost::store {
namespace {

// So many keys are gathered before they are looked at, so that looking costs little per key.
constexpr size_t kSweepKeys = 4'096;
// A shorter run is not worth a range: ranges cost reads something too.
constexpr size_t kLongRun = 64;
// Where so many looks found short runs only, the keys stand between others that stay: the rest is left alone.
constexpr size_t kMaxUselessLooks = 32;
constexpr size_t kFlushRows = 32'768;
constexpr size_t kFlushRowsAtRest = 1'024;

}  // namespace

void TombstoneSweeper::sweep_where_due() {
  for (size_t i = 0; i < kTableCount; ++i) {
    if (gone_[i].size() >= kSweepKeys) sweep(static_cast<Table>(i));
    if (covered_[i] >= kFlushRows) flush(static_cast<Table>(i));
  }
}

void TombstoneSweeper::sweep_all() {
  for (size_t i = 0; i < kTableCount; ++i) {
    if (gone_[i].size() >= kLongRun) sweep(static_cast<Table>(i));
    if (covered_[i] >= kFlushRowsAtRest) flush(static_cast<Table>(i));
  }
}

void TombstoneSweeper::flush(Table table) {
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  const rocksdb::Status status = database_.db()->Flush(options, database_.family(table));
  // So RocksDB answers where writes are stopped because memtables are being flushed already: the next look
  // asks again.
  if (status.IsTryAgain()) return;
  must(status, "flushing a memtable");
  covered_[index_of(table)] = 0;
}

void TombstoneSweeper::sweep(Table table) {
  std::vector<std::string> keys = std::exchange(gone_[index_of(table)], {});
  std::sort(keys.begin(), keys.end());
  // A row that went, came back and went again is there more than once.
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const std::string until = keys.back() + '\0';
  rocksdb::WriteBatch batch;
  size_t useless = 0;
  for (size_t at = 0; at < keys.size() && useless < kMaxUselessLooks;) {
    // Up to the first row that is there: one that stayed, or one that came back.
    size_t end = keys.size();
    database_.scan(table, keys[at], until, [&](std::string_view key, std::string_view) {
      end = static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
      return false;
    });
    if (end - at >= kLongRun) {
      const std::string behind = keys[end - 1] + '\0';
      must(batch.DeleteRange(database_.family(table), slice(keys[at]), slice(behind)), "covering tombstones");
      covered_[index_of(table)] += end - at;
    } else {
      ++useless;
    }
    at = std::max(end, at + 1);
  }
  if (batch.Count() > 0) database_.write(batch, false, "covering tombstones");
}

}  // namespace waypost::store
