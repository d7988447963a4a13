// Rows as the store would hold them, made from what `ip -d -j` printed: the other half of the parity tests.
#pragma once

#include <optional>
#include <string>

#include "cli/nexthop_cache.h"
#include "model/names.h"
#include "model/route.h"
#include "tests/cli/json_value.h"

namespace waypost::cli {

NexthopObject nexthop_from_json(const JsonValue& json, const NameTables& names);

// Why the store does not hold this route, in a few words; empty where it does.
std::string not_stored_reason(const JsonValue& json);

// A route over a nexthop id, or inline: then the interned nexthops go into `cache`, with ids counted up from
// `next_interned`.
Route route_from_json(const JsonValue& json, const NameTables& names, NexthopCache& cache,
                      uint32_t& next_interned);

}  // namespace waypost::cli
