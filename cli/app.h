// One call of `waypost`, from its arguments to its exit code.
#pragma once

#include <span>
#include <string>

#include "cli/context.h"

namespace waypost::cli {

int run(std::span<const std::string> arguments, const Host& host, const NameTables& names,
        const RemoteFactory& remotes, Output& out, Output& err);

}  // namespace waypost::cli
