// What an entry decided, as one RocksDB batch.
#pragma once

#include "store/database_internal.h"
#include "store/state_machine.h"

namespace waypost::store {

// Rows, indexes, change rows and the state row. Long runs of rows that go become range deletions, so that a
// scan after a flush does not walk over their tombstones.
void append_to_batch(const Database& database, const StateMachine& machine, rocksdb::WriteBatch* batch);

}  // namespace waypost::store
