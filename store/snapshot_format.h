// The chunks of the snapshot stream.
//
//   chunk   := kind:1 number:4 payload checksum:16       numbers from 0; XXH3-128 of what is before it
//   kinds   1 header, 2 rows, 3 footer
//   header  := "WPSNAP1\0" state                          state_row.h's form of the state row
//   rows    := table:1 (key length:varint, key, value length:varint, value)*
//   footer  := rows:8
//
// Tables come in the order of their numbers, rows in key order. Derived tables travel too, so that the
// receiver needs to sort nothing; it checks them against the rows they are derived from (snapshot_checker.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/result.h"
#include "store/state_row.h"
#include "store/tables.h"

namespace waypost::store {

enum class ChunkKind : uint8_t { kHeader = 1, kRows = 2, kFooter = 3 };

inline constexpr std::string_view kSnapshotMagic("WPSNAP1\0", 8);

// In stream order. Their numbers in the stream are those of Table, which are never changed.
inline constexpr Table kSnapshotTables[] = {
    Table::kNexthop,          Table::kMembership,   Table::kRoute,   Table::kRouteByNexthop,
    Table::kNexthopByContent, Table::kNexthopUsers, Table::kSession, Table::kControl,
};

struct Chunk {
  ChunkKind kind = ChunkKind::kHeader;
  uint32_t number = 0;
  std::string_view payload;
};

std::string encode_chunk(ChunkKind kind, uint32_t number, std::string_view payload);
// kCorruption names the chunk by `expected`.
Result<Chunk> decode_chunk(std::string_view bytes, uint32_t expected);

Error damaged_chunk(uint32_t number, const std::string& words);

}  // namespace waypost::store
