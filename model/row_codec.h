// The canonical byte form of keys and rows: what the store keeps, digests cover, snapshots, pages and feeds
// carry. It is our own and fixed, so that a digest never depends on a library's encoder (LOG.md rule 7).
// Grammar of each form above its encoder in row_codec.cc; numbers once used are never reused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/nexthop.h"
#include "model/route.h"

namespace waypost {

// Keys order as their numbers do (big-endian).
void append_nexthop_key(std::string& out, NexthopId id);  // id:4
void append_route_key(std::string& out,
                      const RouteKey& key);  // table:4 family:1 address:4|16 length:1 tos:1 metric:4
std::optional<NexthopId> decode_nexthop_key(std::string_view bytes);
std::optional<RouteKey> decode_route_key(std::string_view bytes);

// Values, without the key. Equal objects have equal bytes.
std::string encode_nexthop_value(const NexthopObject& object);
std::string encode_route_value(const Route& route);
// kCorruption on bytes that no encoder wrote.
Result<NexthopObject> decode_nexthop_value(NexthopId id, std::string_view bytes);
Result<Route> decode_route_value(const RouteKey& key, std::string_view bytes);

// The guard of GuardedNexthop and GuardedRoute: xxh3-64 of the canonical value, never 0 for a present row.
uint64_t row_guard(std::string_view value);

// A block of rows, as in list pages and snapshot chunks: (key length varint, key, value length varint,
// value)*.
void append_row(std::string& block, std::string_view key, std::string_view value);

class RowBlockReader {
 public:
  explicit RowBlockReader(std::string_view block) : rest_(block) {}
  // False at the end, and on damage: then damaged() is true.
  bool next(std::string_view* key, std::string_view* value);
  bool damaged() const { return damaged_; }

 private:
  std::string_view rest_;
  bool damaged_ = false;
};

}  // namespace waypost
