// One changing command: `nexthop add ...`, `route replace ...`.
#pragma once

#include "cli/context.h"
#include "cli/fib_wait.h"

namespace waypost::cli {

// `line` is the whole command, object and verb included.
int run_change(const Context& context, std::span<const Word> line);

// What a refused command says; `name` is what the refusal does not name itself.
Error refusal_error(const Refusal& refusal);

// A cascade that is larger than a transaction may be is planned by the node as many (LOG.md rule 12).
bool needs_job(const Command& command, const Refusal& refusal);

// Adds the row that `command` leaves behind, if it leaves one, to `rows`.
void add_changed_row(const Command& command, ChangedRows& rows);

// "id 18" or {"id":18}: which id apply chose.
void print_assigned_id(const Context& context, NexthopId id);

}  // namespace waypost::cli
