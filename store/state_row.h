// The one row that says where the state stands; rewritten by every entry, in the entry's batch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace waypost::store {

struct StateRow {
  StateStamp stamp;
  Counts counts;
  uint64_t history_bytes =
      0;  // of all change rows ever written; differences say what a stretch of history holds
};

std::string encode(const StateRow& row);
std::optional<StateRow> decode_state_row(std::string_view bytes);

// Up to where the history is gone: changes_after() answers from `revision` on. After a trim or a snapshot.
struct Floor {
  Revision revision;
  Hash128 digest;              // data digest after `revision`
  uint64_t history_bytes = 0;  // as in StateRow, when `revision` had been written
};

std::string encode(const Floor& floor);
std::optional<Floor> decode_floor(std::string_view bytes);

}  // namespace waypost::store
