// `route save` and `route restore`: the stream of save_stream.h between standard input or output and the
// store.
#pragma once

#include "cli/context.h"

namespace waypost::cli {

int run_route_save(const Context& context, std::span<const Word> words);
// Reads the whole stream before anything is stored, so that a damaged one leaves nothing behind.
int run_route_restore(const Context& context, std::span<const Word> words);

}  // namespace waypost::cli
