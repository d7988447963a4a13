// `-batch FILE`: an `ip -batch` file as it is, in bounded transactions, several in flight.
//
// By default it stops at the first refused line: what is before it stays, nothing behind it is applied,
// although transactions behind it may be under way: they are chained, and the store refuses a chained one
// whose predecessor was not applied whole. -force leaves refused lines out and goes on; --atomic is one
// transaction.
#pragma once

#include "cli/context.h"

namespace waypost::cli {

int run_batch(const Context& context, const std::string& path);

// Set by an interrupt: the batch sends nothing more, waits for what is under way and says how far it came.
void interrupt_batch();

}  // namespace waypost::cli
