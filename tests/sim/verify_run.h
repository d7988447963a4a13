// Everything that must hold when a run is over and healed: against the log, against the clock, and against
// each other. Failures go to Cluster::fail.
#pragma once

#include <memory>
#include <vector>

#include "tests/sim/client.h"
#include "tests/sim/member.h"

namespace waypost::sim {

void verify_run(Cluster& cluster, const std::vector<std::unique_ptr<Client>>& clients);

}  // namespace waypost::sim
