// Recomputes what the tables say about each other: the answer of `cluster check`, and of the tests after
// every kind of damage.
#pragma once

#include "model/result.h"
#include "store/tables.h"

namespace waypost::store {

// The first contradiction in words (kCorruption). Memory stays flat at any size.
Status verify_tables(const TableReader& tables);

}  // namespace waypost::store
