// The tables of the state, and the small interface through which the rules read them. RocksDB stands behind
// it in the store, a std::map in the tests of the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/store.h"

namespace waypost::store {

// One RocksDB column family each. Keys and values are in keys.h and model/row_codec.h.
enum class Table : uint8_t {
  kNexthop,           // id:4 -> nexthop or group
  kMembership,        // member id:4 group id:4 -> nothing
  kRoute,             // route key -> route
  kRouteByNexthop,    // nexthop id:4 route key -> nothing
  kNexthopByContent,  // hash:16 id:4 -> nothing; interned rows only
  kNexthopUsers,      // id:4 -> Users: how many routes and groups use it; no row where there are none
  kSession,           // sessions and their answers
  kControl,           // settings, members, rules level, the cursor of interned ids
  kChange,            // revision:8 chunk:4 -> history
  kLog,               // the local engine's entries
  kMeta,              // "state", "floor"
};
inline constexpr size_t kTableCount = 11;

constexpr size_t index_of(Table table) {
  return static_cast<size_t>(table);
}

// The column family's name on disk; never changed.
std::string_view table_name(Table table);

// Rows whose old value apply needs: for the history, a digest, or a count.
constexpr bool is_data(Table table) {
  return table == Table::kNexthop || table == Table::kRoute;
}
constexpr bool is_control(Table table) {
  return table == Table::kSession || table == Table::kControl;
}

class TableReader {
 public:
  virtual ~TableReader() = default;

  // False where the row is absent.
  virtual bool get(Table table, std::string_view key, std::string* value) const = 0;
  // Rows from `from` up to and without `until` (empty: to the end), in key order, until visit returns false.
  // Never looks behind `until`, not even at deleted rows.
  virtual void scan(Table table, std::string_view from, std::string_view until,
                    const RowVisitor& visit) const = 0;
};

}  // namespace waypost::store
