// The lowest nexthop id that is free, also among millions: a count per block of 65,536 ids says which blocks
// are full, and only the first block with room is looked into. Built by one scan when it is first asked, then
// kept in step. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "store/tables.h"

namespace waypost::store {

class FreeIds {
 public:
  explicit FreeIds(const TableReader& base) : base_(base) {}

  // The lowest id >= from that has no row in the base and that clients may use; none where all are taken.
  std::optional<uint32_t> next(uint32_t from);

  // The base has gained or lost this row.
  void added(uint32_t id);
  void removed(uint32_t id);

 private:
  using Bitmap = std::vector<uint64_t>;  // a bit per id of a block: taken or reserved
  void build();
  Bitmap& bitmap(uint32_t block);

  const TableReader& base_;
  std::vector<uint32_t> taken_;         // per block, reserved ids included; empty until built
  std::map<uint32_t, Bitmap> bitmaps_;  // of the blocks looked into, at most kMaxBitmaps
};

}  // namespace waypost::store
