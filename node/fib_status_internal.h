// kernel_sync's values as messages.
#pragma once

#include "kernel_sync/status.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

void fill(rpc::RowReport& out, const kernel_sync::RowReport& row);
void fill(rpc::FibStatus& out, const kernel_sync::FibStatus& status);

}  // namespace waypost::node
