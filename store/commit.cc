#include "store/commit_internal.h"
#include "store/keys.h"

namespace waypost::store {
namespace {

// Fewer rows than this are not worth looking for runs; a run shorter than that is not worth a range.
constexpr size_t kManyDeletions = 256;
constexpr size_t kLongRun = 32;
// Where this many looks found no long runs on average, the rest goes row by row: each look costs a seek.
constexpr size_t kMaxUselessLooks = 64;

using Keys = std::vector<std::string_view>;

// How many of the keys from `first` on are neighbours in the table, with nothing between them that stays.
size_t run_length(const Database& database, Table table, const Keys& keys, size_t first) {
  size_t length = 0;
  const std::string until = std::string(keys.back()) + '\0';
  database.scan(table, keys[first], until, [&](std::string_view key, std::string_view) {
    const bool neighbour = first + length < keys.size() && key == keys[first + length];
    if (neighbour) ++length;
    return neighbour;
  });
  return length;
}

// `keys` are in the table, ascending.
void append_deletions(const Database& database, Table table, const Keys& keys, rocksdb::WriteBatch* batch) {
  rocksdb::ColumnFamilyHandle* family = database.family(table);
  size_t at = 0;
  size_t looks = 0;
  while (keys.size() >= kManyDeletions && at < keys.size()) {
    if (++looks > kMaxUselessLooks && at < looks * kLongRun) break;
    const size_t length = run_length(database, table, keys, at);
    if (length >= kLongRun) {
      const std::string end = std::string(keys[at + length - 1]) + '\0';
      must(batch->DeleteRange(family, slice(keys[at]), slice(end)), "writing a batch");
    } else {
      for (size_t i = at; i < at + std::max<size_t>(length, 1); ++i) batch->Delete(family, slice(keys[i]));
    }
    at += std::max<size_t>(length, 1);
  }
  for (; at < keys.size(); ++at) batch->Delete(family, slice(keys[at]));
}

}  // namespace

void append_to_batch(const Database& database, const StateMachine& machine, rocksdb::WriteBatch* batch) {
  const Overlay& overlay = machine.overlay();
  Keys gone;
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    if (overlay.empty(table)) continue;
    gone.clear();
    overlay.for_each_dirty(table, [&](std::string_view key, const Overlay::Row& row) {
      if (!row.present) gone.push_back(key);
    });
    // Ranges first: what is put behind them in the batch stays.
    append_deletions(database, table, gone, batch);
    overlay.for_each_dirty(table, [&](std::string_view key, const Overlay::Row& row) {
      if (row.present) batch->Put(database.family(table), slice(key), slice(row.value));
    });
  }
  for (const auto& [key, value] : machine.change_rows())
    batch->Put(database.family(Table::kChange), slice(key), slice(value));
  batch->Put(database.family(Table::kMeta), slice(kStateKey), encode(machine.row()));
}

}  // namespace waypost::store
