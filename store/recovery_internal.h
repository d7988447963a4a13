// Opening the database of a data directory after whatever happened to it (LOG.md, "Opening a store after a
// crash").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/database_internal.h"
#include "store/durable_mark.h"
#include "store/state_row.h"

namespace waypost::store {

struct Opened {
  std::shared_ptr<Database> database;
  StateRow row;
  std::vector<std::string> notes;
};

// Makes an empty database with its first state row, synced, and then the pointer to it.
Status create_database(const StoreOptions& options);

// Opens database `name` of the data directory and holds it against the mark.
Result<Opened> open_database(const StoreOptions& options, const std::string& name,
                             const std::optional<DurableMark>& mark);

}  // namespace waypost::store
