// `history`, `diff REV1 REV2`, `snapshot save | verify | restore`, `completion`.
#pragma once

#include "cli/context.h"

namespace waypost::cli {

int run_history(const Context& context, Words words);
int run_diff(const Context& context, Words words);
int run_snapshot(const Context& context, Words words);
int run_completion(const Context& context, Words words);

}  // namespace waypost::cli
