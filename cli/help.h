// The help pages, and the version.
#pragma once

#include <string_view>

#include "cli/output.h"

namespace waypost::cli {

// The overview, or the page of one object (abbreviations as everywhere).
void print_help(Output& out, std::string_view object);
void print_version(Output& out);

}  // namespace waypost::cli
