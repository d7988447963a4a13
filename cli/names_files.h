// Names of tables, protocols, scopes and tos values from this host's iproute2 files (SEMANTICS.md A6).
#pragma once

#include <string>

#include "model/names.h"

namespace waypost::cli {

// The defaults, then /usr/share/iproute2 and /etc/iproute2 below `root` (each file, then its .d directory by
// name). A file that is missing or has bad lines is passed over, as iproute2 does.
NameTables read_host_names(const std::string& root = "");

}  // namespace waypost::cli
