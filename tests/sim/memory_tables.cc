#include "tests/sim/memory_tables.h"

namespace waypost::sim {

bool MemoryTables::get(store::Table table, std::string_view key, std::string* value) const {
  const auto& rows = rows_[store::index_of(table)];
  const auto found = rows.find(key);
  if (found == rows.end()) return false;
  *value = found->second;
  return true;
}

void MemoryTables::scan(store::Table table, std::string_view from, std::string_view until,
                        const store::RowVisitor& visit) const {
  const auto& rows = rows_[store::index_of(table)];
  for (auto row = rows.lower_bound(from); row != rows.end(); ++row) {
    if (!until.empty() && row->first >= until) return;
    if (!visit(row->first, row->second)) return;
  }
}

void MemoryTables::write(const RowBatch& batch) {
  for (const RowWrite& row : batch) {
    auto& rows = rows_[store::index_of(row.table)];
    if (row.present) {
      rows.insert_or_assign(row.key, row.value);
    } else {
      rows.erase(row.key);
    }
  }
}

}  // namespace waypost::sim
