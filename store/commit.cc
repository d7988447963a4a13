#include "store/commit_internal.h"
#include "store/keys.h"

namespace waypost::store {

void append_to_batch(const Database& database, const StateMachine& machine, TombstoneSweeper* sweeper,
                     rocksdb::WriteBatch* batch) {
  const Overlay& overlay = machine.overlay();
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    rocksdb::ColumnFamilyHandle* family = database.family(table);
    overlay.for_each_dirty(table, [&](std::string_view key, const Overlay::Row& row) {
      if (row.present) {
        batch->Put(family, slice(key), slice(row.value));
        return;
      }
      batch->Delete(family, slice(key));
      sweeper->note(table, key);
    });
  }
  for (const auto& [key, value] : machine.change_rows())
    batch->Put(database.family(Table::kChange), slice(key), slice(value));
  batch->Put(database.family(Table::kMeta), slice(kStateKey), encode(machine.row()));
}

}  // namespace waypost::store
