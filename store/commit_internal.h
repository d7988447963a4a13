// What an entry decided, as one RocksDB batch.
#pragma once

#include "store/database_internal.h"
#include "store/state_machine.h"
#include "store/sweep_internal.h"

namespace waypost::store {

// Rows, indexes, change rows and the state row. The rows that go are noted for the sweeper.
void append_to_batch(const Database& database, const StateMachine& machine, TombstoneSweeper* sweeper,
                     rocksdb::WriteBatch* batch);

}  // namespace waypost::store
