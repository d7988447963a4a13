// Inline paths as interned nexthops and groups (SEMANTICS.md A4): equal contents share one object, which
// nobody can change and which goes with its last user.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/refusal.h"
#include "model/transaction.h"
#include "store/working_state.h"

namespace waypost::store {

// Finds or makes the object for these paths (not empty) of a route and tells its id. Equal IPv4 paths merge,
// their weights added; equal IPv6 paths are refused.
std::optional<Refusal> intern(WorkingState& state, const RouteKey& key, std::span<const InlinePath> paths,
                              NexthopId* id);

// What a route over this interned id was written as.
std::vector<InlinePath> paths_of(WorkingState& state, NexthopId id);

}  // namespace waypost::store
