// The replica's entries into the store, on the writer thread.
#pragma once

#include "node/order_thread.h"
#include "node/workers.h"
#include "replication/replica.h"
#include "store/store.h"

namespace waypost::node {

replication::ApplyFunction apply_to(store::Store& store, Workers& writer, OrderThread& order);

}  // namespace waypost::node
