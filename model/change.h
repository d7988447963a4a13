// What happened to one row: the unit of the history, of feeds and of kernel_sync's input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/row_codec.h"

namespace waypost {

enum class DataTable : uint8_t { kNexthop = 1, kRoute = 2 };

// key and values in canonical bytes (row_codec.h); an empty value means "absent". Never both empty.
struct Change {
  DataTable table = DataTable::kRoute;
  std::string key;
  std::string old_value;
  std::string new_value;

  bool operator==(const Change&) const = default;
};

// All changes of one transaction.
struct ChangeSet {
  Revision revision;
  Position position;
  uint64_t time_us = 0;  // wall clock of the appender, since 1970
  std::string author;
  std::vector<Change> changes;
};

}  // namespace waypost
