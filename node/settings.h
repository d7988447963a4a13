// The history's caps are settings of the whole cluster, kept in the state; a node whose file names them
// proposes them at its start.
#pragma once

namespace waypost::node {

struct Parts;

// On the order thread. Proposes what differs from the state; a refusal is a line in the log.
void propose_configured_settings(Parts& parts);

}  // namespace waypost::node
