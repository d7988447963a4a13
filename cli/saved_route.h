// Saved routes to commands and back: what is taken, what is passed over, what is an error (SEMANTICS.md A5).
// Pure.
#pragma once

#include <variant>

#include "cli/links.h"
#include "cli/nexthop_cache.h"
#include "cli/save_stream.h"
#include "model/transaction.h"

namespace waypost::cli {

// Why a route of the stream is no business of the store.
struct Skipped {
  std::string_view reason;  // "proto kernel", "table local", ...
};

// The command that adds the route, or why it is passed over. Errors name the byte of its message.
// `inline_paths`: the copy beside a nexthop id is taken instead of the id.
Result<std::variant<PutRoute, Skipped>> restore_command(const SavedRoute& saved, const Links& links,
                                                        bool inline_paths);

// True where the stored row is what the command would have made.
bool is_same_route(const Route& stored, const NexthopCache& nexthops, const PutRoute& wanted);

// The other way. Errors name the route: a device that this host does not have, a weight that the stream
// cannot carry.
Result<SavedRoute> saved_route(const Route& route, const NexthopCache& nexthops, const Links& links);

// The paths of an interned object, in its order; empty for others.
std::vector<InlinePath> inline_paths_of(NexthopId id, const NexthopCache& nexthops);

}  // namespace waypost::cli
