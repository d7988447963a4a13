#include "store/overlay.h"

#include <cstring>
#include <iterator>

#include "model/check.h"

namespace waypost::store {
namespace {

// Enough for an ordinary entry, so that most entries allocate nothing.
constexpr size_t kFirstBlockBytes = 2u << 20;

}  // namespace

Overlay::Overlay(const TableReader& base)
    : base_(base),
      first_block_(new std::byte[kFirstBlockBytes]),
      arena_(first_block_.get(), kFirstBlockBytes) {
  rows_.reserve(kTableCount);
  for (size_t i = 0; i < kTableCount; ++i) rows_.emplace_back(&arena_);
}

void Overlay::clear() {
  undo_.clear();
  touched_.clear();
  data_rows_touched_ = 0;
  transaction_ = 0;
  // The maps' nodes lie in the arena: let them go without visiting each.
  rows_.clear();
  for (Known& known : known_) known.last.clear();
  arena_.release();
  for (size_t i = 0; i < kTableCount; ++i) rows_.emplace_back(&arena_);
}

void Overlay::begin_transaction() {
  undo_.clear();
  touched_.clear();
  data_rows_touched_ = 0;
  ++transaction_;
}

std::string_view Overlay::keep(std::string_view bytes) {
  if (bytes.empty()) return {};
  auto* copy = static_cast<char*>(arena_.allocate(bytes.size(), 1));
  std::memcpy(copy, bytes.data(), bytes.size());
  return {copy, bytes.size()};
}

Overlay::Rows::iterator Overlay::find_or_add(Table table, std::string_view key, bool* added) {
  Rows& rows = this->rows(table);
  auto at = rows.lower_bound(key);
  *added = at == rows.end() || at->first != key;
  if (*added) at = rows.emplace_hint(at, keep(key), Row{});
  return at;
}

// The row as it is now, read from the base where the overlay does not have it yet.
Overlay::Rows::iterator Overlay::load(Table table, std::string_view key) {
  bool added = false;
  const auto at = find_or_add(table, key, &added);
  const bool ask = added && !known_[index_of(table)].has(key);
  if (ask && base_.get(table, key, &scratch_)) {
    at->second.value = keep(scratch_);
    at->second.present = at->second.base_present = true;
  }
  return at;
}

void Overlay::read_ahead(Table table, std::string_view from, std::string_view last, size_t max_rows) {
  Known& known = known_[index_of(table)];
  known.from = from;
  known.last = last;
  Rows& rows = this->rows(table);
  auto hint = rows.lower_bound(from);
  size_t read = 0;
  const std::string until = std::string(last) + '\0';
  base_.scan(table, from, until, [&](std::string_view key, std::string_view value) {
    if (read == max_rows) {
      known.last = std::prev(hint)->first;
      return false;
    }
    while (hint != rows.end() && hint->first < key) ++hint;
    const bool held = hint != rows.end() && hint->first == key;
    if (!held) {
      hint = rows.emplace_hint(hint, keep(key), Row{});
      hint->second.value = keep(value);
      hint->second.present = hint->second.base_present = true;
    }
    ++hint;
    ++read;
    return true;
  });
}

std::optional<std::string_view> Overlay::get(Table table, std::string_view key) {
  const Row& row = load(table, key)->second;
  return row.present ? std::optional(row.value) : std::nullopt;
}

void Overlay::change(Table table, Rows::iterator at, bool present, std::string_view value) {
  Row& row = at->second;
  const bool first_touch = row.transaction != transaction_;
  undo_.push_back({.row = &row,
                   .value = row.value,
                   .table = table,
                   .present = row.present,
                   .dirty = row.dirty,
                   .first_touch = first_touch});
  if (first_touch) {
    row.before = row.value;
    row.before_present = row.present;
    row.transaction = transaction_;
    if (is_data(table) || is_control(table)) touched_.push_back({table, at->first, &row});
    if (is_data(table)) ++data_rows_touched_;
  }
  row.value = value;
  row.present = present;
  row.dirty = true;
}

void Overlay::put(Table table, std::string_view key, std::string_view value) {
  const auto at = load(table, key);
  const Row& row = at->second;
  if (row.present && row.value == value) return;
  change(table, at, true, keep(value));
}

void Overlay::erase(Table table, std::string_view key) {
  const auto at = load(table, key);
  if (at->second.present) change(table, at, false, {});
}

void Overlay::put_index(Table table, std::string_view key) {
  bool added = false;
  const auto at = find_or_add(table, key, &added);
  change(table, at, true, {});
}

void Overlay::erase_index(Table table, std::string_view key) {
  bool added = false;
  const auto at = find_or_add(table, key, &added);
  // An index row that nobody wrote yet is in the base, or it could not be erased.
  if (added) at->second.present = at->second.base_present = true;
  change(table, at, false, {});
}

void Overlay::scan(Table table, std::string_view from, std::string_view until,
                   const RowVisitor& visit) const {
  const Rows& rows = this->rows(table);
  auto at = rows.lower_bound(from);
  const auto end = until.empty() ? rows.end() : rows.lower_bound(until);
  bool more = true;
  // Overlay rows below `key` come first; true while the caller wants more.
  const auto emit_until = [&](std::string_view key, bool all) {
    for (; more && at != end && (all || at->first < key); ++at)
      if (at->second.present) more = visit(at->first, at->second.value);
    return more;
  };
  base_.scan(table, from, until, [&](std::string_view key, std::string_view value) {
    if (!emit_until(key, false)) return false;
    const bool shadowed = at != end && at->first == key;
    if (!shadowed) more = visit(key, value);
    return more;
  });
  emit_until({}, true);
}

uint32_t Overlay::rollback(size_t mark) {
  uint32_t tables = 0;
  while (undo_.size() > mark) {
    const Undo& undo = undo_.back();
    tables |= 1u << index_of(undo.table);
    undo.row->value = undo.value;
    undo.row->present = undo.present;
    undo.row->dirty = undo.dirty;
    if (undo.first_touch) {
      undo.row->transaction = 0;
      if (is_data(undo.table)) --data_rows_touched_;
      if (is_data(undo.table) || is_control(undo.table)) {
        WAYPOST_CHECK(touched_.back().row == undo.row, "touched rows and undo records go together");
        touched_.pop_back();
      }
    }
    undo_.pop_back();
  }
  return tables;
}

std::optional<std::string> Overlay::first_erased(Table table, std::string_view from,
                                                 std::string_view until) const {
  const Rows& rows = this->rows(table);
  const auto end = until.empty() ? rows.end() : rows.lower_bound(until);
  for (auto at = rows.lower_bound(from); at != end; ++at)
    if (at->second.base_present && !at->second.present) return std::string(at->first);
  return std::nullopt;
}

}  // namespace waypost::store
