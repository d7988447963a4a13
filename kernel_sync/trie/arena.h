// The memory of all tries of one family: blocks of a few fixed sizes, addressed by 32-bit offsets.
//
//     reserved address space, 8 GiB: spans of 16 KiB, each cut into blocks of one size
//     | span 0: 16 B blocks | span 1: 192 B blocks | span 2: free | span 3: 16 B blocks | ...
//
// A span whose last block is freed goes to a pool that all sizes draw from. Without this, nodes that
// grow in step leave every smaller size full of holes: a million dense host routes would hold six times what
// they use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel_sync/trie/node.h"
#include "model/check.h"

namespace waypost::kernel_sync::trie {

// Block sizes: 16 .. 96 by 16; 128 .. 1024 by 64; 1152 .. 2176 by 128. From 128 on they are aligned to 64.
constexpr unsigned kBlockClasses = 6 + 15 + 9;
constexpr unsigned kMaxBlockBytes = 2176;

constexpr unsigned class_of(unsigned bytes) {
  if (bytes <= 96) return (bytes + 15) / 16 - 1;
  if (bytes <= 1024) return 6 + (bytes <= 128 ? 0 : (bytes - 128 + 63) / 64);
  return 21 + (bytes - 1024 + 127) / 128 - 1;
}
constexpr unsigned class_bytes(unsigned block_class) {
  if (block_class < 6) return (block_class + 1) * 16;
  if (block_class < 21) return 128 + (block_class - 6) * 64;
  return 1024 + (block_class - 20) * 128;
}
// Whether a block of this many bytes has no room for one byte more.
constexpr bool fills_class(unsigned bytes) {
  if (bytes <= 96) return bytes % 16 == 0;
  return bytes % (bytes <= 1024 ? 64 : 128) == 0;
}
static_assert(class_of(kMaxBlockBytes) == kBlockClasses - 1);
static_assert(class_bytes(kBlockClasses - 1) == kMaxBlockBytes);

class BlockArena {
 public:
  BlockArena();
  ~BlockArena();
  BlockArena(const BlockArena&) = delete;
  BlockArena& operator=(const BlockArena&) = delete;

  // The bytes of a block. Reading up to kSlackBytes behind any block is harmless.
  [[gnu::always_inline]] uint8_t* at(BlockRef ref) const { return base_ + (size_t{ref} >> kKindBits) * 16; }

  // A block of at least `bytes`, its bytes undefined. Aligned to 16, and to 64 above 96 bytes.
  // Ends the process when the address space of refs is used up (8 GiB, over a billion routes).
  [[gnu::always_inline]] BlockRef allocate(unsigned bytes, unsigned kind) {
    const unsigned block_class = class_of(bytes);
    uint32_t span_index = with_room_[block_class];
    if (span_index == kNoSpan) [[unlikely]]
      span_index = add_span(block_class);
    Span& span = spans_[span_index];
    const uint32_t unit = span_index * kSpanUnits + take_unit(span, span_index);
    live_bytes_ += size_t{span.block_units} * 16;
    if (is_full(span)) [[unlikely]]
      unlink(span_index);
    return unit << kKindBits | kind;
  }

  [[gnu::always_inline]] void release(BlockRef ref) {
    const uint32_t unit = ref >> kKindBits;
    const uint32_t span_index = unit / kSpanUnits;
    Span& span = spans_[span_index];
    const bool was_full = is_full(span);
    store_link(base_ + size_t{unit} * 16, span.free_unit);
    span.free_unit = static_cast<uint16_t>(unit % kSpanUnits);
    --span.live;
    live_bytes_ -= size_t{span.block_units} * 16;
    if (was_full || span.live == 0) [[unlikely]]
      settle(span_index, was_full);
  }

  size_t live_bytes() const { return live_bytes_; }
  // Bytes of the spans cut into blocks, and of those waiting in the pool.
  size_t span_bytes() const { return (spans_.size() - pool_count_) * kSpanBytes; }
  size_t pool_bytes() const { return pool_count_ * kSpanBytes; }
  // Whether ref may be a block of at least `bytes` that is in use, as far as the spans tell. For check().
  bool plausible(BlockRef ref, unsigned bytes) const;
  size_t unit_count() const { return spans_.size() * kSpanUnits; }
  static uint32_t unit_of(BlockRef ref) { return ref >> kKindBits; }

 private:
  static constexpr uint32_t kNoSpan = 0xffff'ffff;
  static constexpr uint16_t kNoUnit = 0xffff;
  static constexpr size_t kSpanBytes = 16 << 10;
  static constexpr uint32_t kSpanUnits = kSpanBytes / 16;
  static constexpr size_t kArenaBytes = size_t{16} << (32 - kKindBits);
  static constexpr size_t kSlackBytes = 4096;
  static constexpr size_t kGrowBytes = size_t{32} << 20;

  // Units are 16 bytes, counted from the span's start. Free blocks are chained through their first two bytes.
  struct Span {
    uint16_t free_unit = kNoUnit;
    uint16_t fresh_unit = 0;  // the first unit that was never handed out
    uint16_t live = 0;        // blocks in use
    uint8_t block_class = 0;
    uint8_t block_units = 1;
    uint32_t next = kNoSpan;  // in the list of spans with room of the class, or of the pool
    uint32_t previous = kNoSpan;
  };

  [[gnu::always_inline]] static bool is_full(const Span& span) {
    return span.free_unit == kNoUnit && span.fresh_unit + span.block_units > kSpanUnits;
  }
  [[gnu::always_inline]] static void store_link(uint8_t* block, uint16_t unit) {
    __builtin_memcpy(block, &unit, sizeof unit);
  }
  [[gnu::always_inline]] uint32_t take_unit(Span& span, uint32_t span_index) {
    ++span.live;
    const uint16_t unit = span.free_unit;
    if (unit != kNoUnit) {
      __builtin_memcpy(&span.free_unit, base_ + (size_t{span_index} * kSpanUnits + unit) * 16, sizeof unit);
      return unit;
    }
    const uint16_t fresh = span.fresh_unit;
    span.fresh_unit = static_cast<uint16_t>(fresh + span.block_units);
    return fresh;
  }

  uint32_t add_span(unsigned block_class);
  void settle(uint32_t span_index, bool was_full);
  void link(uint32_t span_index);
  void unlink(uint32_t span_index);

  uint8_t* base_ = nullptr;
  size_t usable_bytes_ = 0;
  size_t live_bytes_ = 0;
  std::vector<Span> spans_;
  uint32_t pool_ = kNoSpan;
  size_t pool_count_ = 0;
  uint32_t with_room_[kBlockClasses];
};

}  // namespace waypost::kernel_sync::trie
