// Keys of the index and control tables. Integers are big-endian, so that the natural order is the numeric
// one.
#pragma once

#include <string>
#include <string_view>

#include "model/hash128.h"
#include "model/transaction.h"
#include "store/tables.h"

namespace waypost::store {

std::string nexthop_key(NexthopId id);  // id:4
std::string route_key_bytes(const RouteKey& key);
std::string membership_key(NexthopId member, NexthopId group);  // member:4 group:4
std::string route_index_key(NexthopId id, std::string_view route_key);
std::string content_key(const Hash128& hash, NexthopId id);  // hash:16 id:4
std::string change_key(Revision revision, uint32_t chunk);   // revision:8 chunk:4
std::string hash_bytes(const Hash128& hash);                 // 16, high half first

// Everything of a route key but its metric: routes that differ only in the metric stand together, the lowest
// first.
std::string_view without_metric(std::string_view route_key);

// The session table: a head per session, and a slot per kept answer.
//   head   := 'h' session            session := position:8 index:4 random:16
//   slot   := 's' session number_modulo_window:1
std::string session_head_key(const SessionId& session);
std::string session_slot_key(const SessionId& session, uint64_t number);

// The control table.
inline constexpr std::string_view kInternedCursorKey = "interned_cursor";
inline constexpr std::string_view kRulesLevelKey = "rules_level";
inline constexpr std::string_view kMemberPrefix = "member/";
inline constexpr std::string_view kSettingPrefix = "setting/";

// The meta table.
inline constexpr std::string_view kStateKey = "state";
inline constexpr std::string_view kFloorKey = "floor";

// The first key behind all that start with `prefix`; empty where there is none.
std::string behind_prefix(std::string_view prefix);

// What a digest adds for a row of a data or control table: the table's number, the key with its length, the
// value.
Hash128 row_digest(Table table, std::string_view key, std::string_view value);

}  // namespace waypost::store
