// `monitor`: changes as the store makes them, in `ip monitor`'s words; with -j one JSON object a line, where
// `ip` prints text.
#pragma once

#include "cli/context.h"

namespace waypost::cli {

// `words` behind `monitor`: [all|route|nexthop]... [label] [after REVISION]. `only`: from `route monitor`,
// `nexthop monitor`.
int run_monitor(const Context& context, std::span<const Word> words,
                ObjectVerb::Object only = ObjectVerb::Object::kOther);

}  // namespace waypost::cli
