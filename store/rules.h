// The rules of SEMANTICS.md A1-A4 and A8: what each command does, and what every kernel would refuse.
// Functions of the state and the command alone; a refused command may leave writes behind, which the caller
// rolls back. One thread.
#pragma once

#include <optional>

#include "model/refusal.h"
#include "model/transaction.h"
#include "store/working_state.h"

namespace waypost::store {

struct CommandResult {
  std::optional<Refusal> refusal;
  bool skipped = false;               // a guard did not hold
  std::optional<NexthopId> assigned;  // PutNexthop with id 0
};

CommandResult execute(WorkingState& state, const Command& command);

// The parts, in rules_nexthop.cc and rules_route.cc.
CommandResult execute(WorkingState& state, const PutNexthop& command);
CommandResult execute(WorkingState& state, const DeleteNexthop& command);
CommandResult execute(WorkingState& state, const GuardedNexthop& command);
CommandResult execute(WorkingState& state, const PutRoute& command);
CommandResult execute(WorkingState& state, const DeleteRoute& command);
CommandResult execute(WorkingState& state, const GuardedRoute& command);

// Why no client may name this id, if so.
std::optional<Refusal> refuse_reserved(NexthopId id);

// Whether a route may go over a nexthop or group with these facts (KERNEL.md cases 36, 37, 41, 65).
std::optional<Refusal> check_route_over(const Route& route, const NexthopFacts& facts);

}  // namespace waypost::store
