// `fib status | diff | get | wait | audit | sweep | release`: the asked node's kernel beside its store.
#pragma once

#include "cli/context.h"

namespace waypost::cli {

int run_fib(const Context& context, Words words);

}  // namespace waypost::cli
