// Keeps deleted rows from being walked over. Every row that goes leaves a tombstone, and a scan that starts
// in front of a million of them would visit each. So the keys that went are gathered, and where many of them
// stand together with nothing between them that stays, one range deletion covers them: a scan steps over it
// at once. The writer thread only.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "store/database_internal.h"

namespace waypost::store {

class TombstoneSweeper {
 public:
  explicit TombstoneSweeper(Database& database) : database_(database) {}

  // A row that the batch being written deletes.
  void note(Table table, std::string_view key) { gone_[index_of(table)].emplace_back(key); }
  // After the batch is written.
  void sweep_where_due();
  // Now and then: also what is less than enough for the above.
  void sweep_all();

 private:
  void sweep(Table table);
  void flush(Table table);

  Database& database_;
  std::array<std::vector<std::string>, kTableCount> gone_;
  // Rows covered since the table's memtable was last flushed: a range hides rows of the same memtable only
  // one by one, and the flush drops them.
  std::array<size_t, kTableCount> covered_ = {};
};

}  // namespace waypost::store
