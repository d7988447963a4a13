#include "store/free_ids.h"

#include "model/check.h"
#include "model/limits.h"
#include "model/nexthop.h"
#include "model/row_codec.h"
#include "store/keys.h"

namespace waypost::store {
namespace {

constexpr uint32_t kBlockIds = 65'536;
constexpr uint32_t kBlocks = 65'536;
constexpr size_t kMaxBitmaps = 16;  // 8 KiB each; all are forgotten at it

bool is_reserved(uint32_t id) {
  return id == 0 || is_interned(NexthopId(id)) || is_scratch(NexthopId(id));
}

// Reserved ids of a block.
uint32_t reserved_in(uint32_t block) {
  static_assert(limits::kFirstInternedId % kBlockIds == 0 && (limits::kLastInternedId + 1) % kBlockIds == 0 &&
                    limits::kFirstScratchId % kBlockIds == 0,
                "only the scratch range may end inside a block");
  const uint32_t first = block * kBlockIds;
  if (block == 0) return 1;
  if (is_interned(NexthopId(first))) return kBlockIds;
  if (first < limits::kFirstScratchId || first > limits::kLastScratchId) return 0;
  return std::min(kBlockIds, limits::kLastScratchId - first + 1);
}

}  // namespace

void FreeIds::build() {
  taken_.resize(kBlocks);
  for (uint32_t block = 0; block < kBlocks; ++block) taken_[block] = reserved_in(block);
  base_.scan(Table::kNexthop, {}, {}, [this](std::string_view key, std::string_view) {
    const uint32_t id = decode_nexthop_key(key)->value();
    if (!is_reserved(id)) ++taken_[id / kBlockIds];
    return true;
  });
}

FreeIds::Bitmap& FreeIds::bitmap(uint32_t block) {
  if (const auto found = bitmaps_.find(block); found != bitmaps_.end()) return found->second;
  if (bitmaps_.size() >= kMaxBitmaps) bitmaps_.clear();
  Bitmap& bits = bitmaps_[block];
  bits.resize(kBlockIds / 64);
  const auto take = [&](uint32_t id) { bits[id % kBlockIds / 64] |= uint64_t{1} << (id % 64); };
  const uint32_t first = block * kBlockIds;
  if (reserved_in(block) != 0)
    for (uint32_t i = 0; i < kBlockIds; ++i)
      if (is_reserved(first + i)) take(first + i);
  const std::string until = block + 1 < kBlocks ? nexthop_key(NexthopId(first + kBlockIds)) : std::string();
  base_.scan(Table::kNexthop, nexthop_key(NexthopId(first)), until,
             [&](std::string_view key, std::string_view) {
               take(decode_nexthop_key(key)->value());
               return true;
             });
  return bits;
}

std::optional<uint32_t> FreeIds::next(uint32_t from) {
  if (taken_.empty()) build();
  uint32_t start = from % kBlockIds;
  for (uint32_t block = from / kBlockIds; block < kBlocks; ++block, start = 0) {
    if (taken_[block] == kBlockIds) continue;
    const Bitmap& bits = bitmap(block);
    for (uint32_t word = start / 64; word < kBlockIds / 64; ++word) {
      uint64_t free = ~bits[word];
      if (word == start / 64) free &= ~uint64_t{0} << (start % 64);
      if (free != 0) return block * kBlockIds + word * 64 + static_cast<uint32_t>(__builtin_ctzll(free));
    }
  }
  return std::nullopt;
}

void FreeIds::added(uint32_t id) {
  if (taken_.empty() || is_reserved(id)) return;
  ++taken_[id / kBlockIds];
  if (const auto found = bitmaps_.find(id / kBlockIds); found != bitmaps_.end())
    found->second[id % kBlockIds / 64] |= uint64_t{1} << (id % 64);
}

void FreeIds::removed(uint32_t id) {
  if (taken_.empty() || is_reserved(id)) return;
  WAYPOST_CHECK(taken_[id / kBlockIds] > 0, "an id was counted when it came");
  --taken_[id / kBlockIds];
  if (const auto found = bitmaps_.find(id / kBlockIds); found != bitmaps_.end())
    found->second[id % kBlockIds / 64] &= ~(uint64_t{1} << (id % 64));
}

}  // namespace waypost::store
