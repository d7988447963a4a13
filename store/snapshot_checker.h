// Holds the rows of a snapshot against each other while they pass, in flat memory: every derived row must
// follow from a primary one, and the other way round. Sums of hashes do not depend on the order, so neither
// side has to wait for the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/facts.h"
#include "store/state_row.h"
#include "store/tables.h"

namespace waypost::store {

class SnapshotChecker {
 public:
  // Rows in any order. The first thing wrong in words, or empty.
  std::string add(Table table, std::string_view key, std::string_view value);
  // After the last row, against the header.
  std::string finish(const StateRow& header) const;

  uint64_t rows() const { return rows_; }

 private:
  std::string add_nexthop(std::string_view key, std::string_view value);
  std::string add_route(std::string_view key, std::string_view value);
  void count_user(NexthopId id, Users users, bool derived);

  // Both sides of a derived table.
  struct Sides {
    Hash128 wanted;   // from the primary rows
    Hash128 present;  // from the derived rows
    bool equal() const { return wanted == present; }
  };

  Hash128 data_;
  Hash128 control_;
  Sides memberships_;
  Sides route_index_;
  Sides contents_;
  Sides users_;
  Counts counts_;
  uint64_t rows_ = 0;
};

}  // namespace waypost::store
