// What an entry has changed so far, above the tables as they were before it: reads see both, a refused
// command leaves no trace, and at the end the dirty rows are the write batch. One thread; emptied before
// every entry.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/tables.h"

namespace waypost::store {

class Overlay {
 public:
  struct Row {
    std::string_view value;    // now; meaningful where present
    std::string_view before;   // when the transaction first wrote the row
    uint32_t transaction = 0;  // in which `before` was taken
    bool present = false;
    bool before_present = false;
    bool base_present = false;  // below the overlay
    bool dirty = false;         // written by something that was not rolled back
  };
  struct Touched {
    Table table;
    std::string_view key;
    Row* row;
  };

  explicit Overlay(const TableReader& base);
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  // Forgets everything. Views that get() gave out end here.
  void clear();
  // Starts a transaction: touched() is empty, and earlier writes can no longer be rolled back.
  void begin_transaction();

  std::optional<std::string_view> get(Table table, std::string_view key);
  // Reads the rows of the base from `from` to `last`, both with them, in one walk that ends after `max_rows`:
  // what lies in between is not asked for again, present or absent. Replaces the table's earlier range.
  void read_ahead(Table table, std::string_view from, std::string_view last, size_t max_rows);
  // For data, control and count tables: the old value is known afterwards, see touched().
  void put(Table table, std::string_view key, std::string_view value);
  void erase(Table table, std::string_view key);
  // For index tables, whose rows carry no value and need no old one. Preconditions: absent, and present.
  void put_index(Table table, std::string_view key);
  void erase_index(Table table, std::string_view key);

  // Merged rows, as TableReader::scan. The overlay must not be written meanwhile.
  void scan(Table table, std::string_view from, std::string_view until, const RowVisitor& visit) const;

  // A point to roll back to, within the transaction.
  size_t mark() const { return undo_.size(); }
  // Returns a bit (1 << table) for each table that had a write undone.
  uint32_t rollback(size_t mark);

  // Data and control rows that this transaction wrote, in the order of first writing. Some may have their old
  // value again.
  const std::vector<Touched>& touched() const { return touched_; }
  size_t data_rows_touched() const { return data_rows_touched_; }

  // Dirty rows of a table in key order: those written, and those that were in the base and are gone.
  template <typename Visit>
  void for_each_dirty(Table table, Visit&& visit) const {
    for (const auto& [key, row] : rows(table))
      if (row.dirty && (row.present || row.base_present)) visit(key, row);
  }
  bool empty(Table table) const { return rows(table).empty(); }
  // The first id-like key from `from` that was in the base and is gone, below `until`.
  std::optional<std::string> first_erased(Table table, std::string_view from, std::string_view until) const;

 private:
  using Rows = std::pmr::map<std::string_view, Row, std::less<>>;
  struct Undo {
    Row* row;
    std::string_view value;
    Table table;
    bool present;
    bool dirty;
    bool first_touch;
  };

  // Every row of the base between these keys, both with them, is in the overlay. No row has an empty key.
  struct Known {
    std::string from;
    std::string last;

    bool has(std::string_view key) const { return from <= key && key <= last; }
  };

  Rows& rows(Table table) { return rows_[index_of(table)]; }
  const Rows& rows(Table table) const { return rows_[index_of(table)]; }
  Rows::iterator find_or_add(Table table, std::string_view key, bool* added);
  Rows::iterator load(Table table, std::string_view key);
  void change(Table table, Rows::iterator at, bool present, std::string_view value);
  std::string_view keep(std::string_view bytes);

  const TableReader& base_;
  std::unique_ptr<std::byte[]> first_block_;
  std::pmr::monotonic_buffer_resource arena_;
  std::vector<Rows> rows_;
  std::array<Known, kTableCount> known_;
  std::vector<Undo> undo_;
  std::vector<Touched> touched_;
  size_t data_rows_touched_ = 0;
  uint32_t transaction_ = 0;
  std::string scratch_;
};

}  // namespace waypost::store
