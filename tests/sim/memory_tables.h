// The tables of the state in memory: what the simulated disk holds, and what a simulated store reads.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/tables.h"

namespace waypost::sim {

struct RowWrite {
  store::Table table;
  std::string key;
  std::string value;
  bool present = true;  // false: the row goes
};
// What one entry writes, all or nothing, as a record of a write-ahead log.
using RowBatch = std::vector<RowWrite>;

class MemoryTables final : public store::TableReader {
 public:
  bool get(store::Table table, std::string_view key, std::string* value) const override;
  void scan(store::Table table, std::string_view from, std::string_view until,
            const store::RowVisitor& visit) const override;

  void put(store::Table table, std::string_view key, std::string_view value) {
    rows_[store::index_of(table)].insert_or_assign(std::string(key), std::string(value));
  }
  void write(const RowBatch& batch);

 private:
  std::array<std::map<std::string, std::string, std::less<>>, store::kTableCount> rows_;
};

}  // namespace waypost::sim
