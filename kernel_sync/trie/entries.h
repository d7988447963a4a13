// The entries of a node (node.h has the picture): which of its 511 prefixes are there, and their cells.
// All five operations cost at most one move of a block, 2 KiB at the largest.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "kernel_sync/trie/arena.h"
#include "kernel_sync/trie/isa.h"
#include "kernel_sync/trie/node.h"
#include "kernel_sync/trie/preorder.h"

namespace waypost::kernel_sync::trie {

// start[lanes] at 0, mask[lanes] behind it, cell[lanes] at cells_at: one code path reads all six shapes.
struct SmallShape {
  uint8_t lanes;
  uint8_t cells_at;
  uint8_t bytes;
};
inline constexpr SmallShape kSmallShapes[kSmallKinds] = {{2, 4, 16},   {5, 12, 32},  {8, 16, 48},
                                                         {10, 20, 64}, {13, 28, 80}, {16, 32, 96}};
constexpr unsigned kMaxSmall = 16;
// A bitmap block becomes small again here, well below where it came from, so that one route coming and
// going does not rebuild it each time. Small shapes step down at one below the next size's lanes.
constexpr unsigned kShrinkBitmapAt = 14;

// A small block of each shape without entries.
struct SmallImage {
  uint8_t bytes[96] = {};
};
constexpr std::array<SmallImage, kSmallKinds> make_empty_small() {
  std::array<SmallImage, kSmallKinds> images = {};
  for (unsigned kind = 0; kind < kSmallKinds; ++kind) {
    for (unsigned lane = 0; lane < kSmallShapes[kind].lanes; ++lane) images[kind].bytes[lane] = 1;
  }
  return images;
}
inline constexpr std::array<SmallImage, kSmallKinds> kEmptySmall = make_empty_small();

constexpr unsigned bitmap_entries_bytes(unsigned count) {
  return 64 + 4 * count;
}

// A view of a small block.
struct SmallBlock {
  uint8_t* bytes;
  SmallShape shape;

  uint8_t* starts() const { return bytes; }
  uint8_t* masks() const { return bytes + shape.lanes; }
  Cell* cells() const { return reinterpret_cast<Cell*>(bytes + shape.cells_at); }
};

struct EntryMatch {
  unsigned position = 0;
  Cell cell = kNoCell;  // kNoCell: nothing matched
};

template <class Isa>
class Entries {
 public:
  explicit Entries(BlockArena& arena) : arena_(arena) {}

  Cell find(const Slot& slot, Place place) const;
  // The longest of the node's prefixes that covers the byte.
  EntryMatch longest(const Slot& slot, uint8_t byte) const;
  // Inserts or replaces; returns the cell that was there or kNoCell.
  Cell put(Slot& slot, Place place, Cell cell);
  // Removes the entry when its cell is below `bound`. Returns the cell that was there (and, not below it,
  // still is), or kNoCell. Leaves one entry without children inline.
  Cell remove(Slot& slot, Place place, Cell bound);
  unsigned count(const Slot& slot) const;
  // Frees the block and forgets the entries.
  void clear(Slot& slot);
  // Makes room for children: an inline entry moves into a block of its own.
  void make_outline(Slot& slot);
  // The reverse, when the last child has gone and one entry is left.
  void make_inline_if_alone(Slot& slot);
  // Reads the lines a lookup of this byte will want, the cells by a guess, before they are asked for.
  void prefetch(const Slot& slot, uint8_t byte) const;

  SmallBlock small(BlockRef ref) const { return {arena_.at(ref), kSmallShapes[kind_of(ref)]}; }
  uint64_t* bitmap(BlockRef ref) const { return reinterpret_cast<uint64_t*>(bitmap_block(ref)); }
  Cell* bitmap_cells(BlockRef ref) const { return reinterpret_cast<Cell*>(bitmap_block(ref) + 64); }

 private:
  // A bitmap block is aligned to 64, so two bits of its ref are free. They hold a rough count of its entries.
  static constexpr BlockRef kHintBits = 3u << kKindBits;
  static BlockRef with_hint(BlockRef ref, unsigned count) {
    const unsigned hint = (count > 48) + (count > 96) + (count > 160);
    return (ref & ~kHintBits) | hint << kKindBits;
  }
  uint8_t* bitmap_block(BlockRef ref) const { return arena_.at(ref & ~kHintBits); }

  static unsigned position_at(const SmallBlock& block, unsigned lane) {
    const unsigned length = static_cast<unsigned>(std::popcount(block.masks()[lane]));
    return position_of({block.starts()[lane], static_cast<uint8_t>(length)});
  }
  unsigned small_count(const SmallBlock& block) const {
    return static_cast<unsigned>(
        std::popcount(Isa::used_lanes(block.starts(), block.masks(), block.shape.lanes)));
  }
  BlockRef make_small(unsigned kind);
  void resize_small(Slot& slot, unsigned kind, unsigned count);
  Cell put_small(Slot& slot, Place place, Cell cell);
  Cell put_bitmap(Slot& slot, Place place, Cell cell);
  Cell remove_small(Slot& slot, Place place, Cell bound);
  Cell remove_bitmap(Slot& slot, Place place, Cell bound);
  void small_to_bitmap(Slot& slot);
  void bitmap_to_small(Slot& slot, unsigned count);

  BlockArena& arena_;
};

template <class Isa>
Cell Entries<Isa>::find(const Slot& slot, Place place) const {
  const BlockRef ref = slot.entries;
  if (kind_of(ref) < kSmallKinds) {
    if (ref == 0) return kNoCell;
    const SmallBlock block = small(ref);
    const uint32_t lanes = Isa::equal_lanes(block.starts(), block.masks(), block.shape.lanes, place.start,
                                            mask_of(place.length));
    return lanes == 0 ? kNoCell : block.cells()[std::countr_zero(lanes)];
  }
  const unsigned position = position_of(place);
  if (kind_of(ref) == kInlineEntry) return ref >> kKindBits == position ? slot.children : kNoCell;
  const uint64_t* bits = bitmap(ref);
  if ((bits[position / 64] >> position % 64 & 1) == 0) return kNoCell;
  return bitmap_cells(ref)[Isa::template rank<kBitmapWords>(bits, position)];
}

template <class Isa>
EntryMatch Entries<Isa>::longest(const Slot& slot, uint8_t byte) const {
  const BlockRef ref = slot.entries;
  if (kind_of(ref) < kSmallKinds) {
    if (ref == 0) return {};
    const SmallBlock block = small(ref);
    const uint32_t lanes = Isa::covering_lanes(block.starts(), block.masks(), block.shape.lanes, byte);
    if (lanes == 0) return {};
    const unsigned lane = 31 - static_cast<unsigned>(std::countl_zero(lanes));
    return {position_at(block, lane), block.cells()[lane]};
  }
  if (kind_of(ref) == kInlineEntry) {
    const unsigned position = ref >> kKindBits;
    const Place place = kPlaces[position];
    if ((byte & mask_of(place.length)) != place.start) return {};
    return {position, slot.children};
  }
  const uint64_t* bits = bitmap(ref);
  const int position = Isa::highest_covering(bits, byte);
  if (position < 0) return {};
  const unsigned bit = static_cast<unsigned>(position);
  return {bit, bitmap_cells(ref)[Isa::template rank<kBitmapWords>(bits, bit)]};
}

template <class Isa>
void Entries<Isa>::prefetch(const Slot& slot, uint8_t byte) const {
  const BlockRef ref = slot.entries;
  if (kind_of(ref) == kInlineEntry) return;
  const uint8_t* block = arena_.at(kind_of(ref) == kBitmapEntries ? ref & ~kHintBits : ref);
  __builtin_prefetch(block);
  if (kind_of(ref) != kBitmapEntries) return;
  static constexpr uint8_t kLikelyCount[4] = {32, 72, 128, 220};
  const unsigned likely = kLikelyCount[ref >> kKindBits & 3] * byte >> 8;
  __builtin_prefetch(block + 64 + size_t{4} * likely);
}

template <class Isa>
Cell Entries<Isa>::put(Slot& slot, Place place, Cell cell) {
  const unsigned position = position_of(place);
  if (is_empty(slot)) {
    slot = {position << kKindBits | kInlineEntry, cell};
    return kNoCell;
  }
  if (kind_of(slot.entries) == kInlineEntry) {
    if (slot.entries >> kKindBits == position) {
      const Cell old = slot.children;
      slot.children = cell;
      return old;
    }
    make_outline(slot);
  } else if (slot.entries == 0) {
    slot.entries = make_small(0);
  }
  return kind_of(slot.entries) == kBitmapEntries ? put_bitmap(slot, place, cell)
                                                 : put_small(slot, place, cell);
}

template <class Isa>
Cell Entries<Isa>::remove(Slot& slot, Place place, Cell bound) {
  if (kind_of(slot.entries) == kBitmapEntries) return remove_bitmap(slot, place, bound);
  if (kind_of(slot.entries) != kInlineEntry)
    return slot.entries == 0 ? kNoCell : remove_small(slot, place, bound);
  if (slot.entries >> kKindBits != position_of(place)) return kNoCell;
  const Cell old = slot.children;
  if (old < bound) slot = {};
  return old;
}

template <class Isa>
unsigned Entries<Isa>::count(const Slot& slot) const {
  if (slot.entries == 0) return 0;
  if (kind_of(slot.entries) == kInlineEntry) return 1;
  if (kind_of(slot.entries) == kBitmapEntries) {
    return Isa::template count<kBitmapWords>(bitmap(slot.entries));
  }
  return small_count(small(slot.entries));
}

template <class Isa>
void Entries<Isa>::clear(Slot& slot) {
  if (kind_of(slot.entries) == kInlineEntry) {
    slot.children = 0;
  } else if (slot.entries != 0) {
    arena_.release(kind_of(slot.entries) == kBitmapEntries ? slot.entries & ~kHintBits : slot.entries);
  }
  slot.entries = 0;
}

template <class Isa>
void Entries<Isa>::make_outline(Slot& slot) {
  if (kind_of(slot.entries) != kInlineEntry) return;
  const Place place = kPlaces[slot.entries >> kKindBits];
  const Cell cell = slot.children;
  slot = {make_small(0), 0};
  put_small(slot, place, cell);
}

template <class Isa>
void Entries<Isa>::make_inline_if_alone(Slot& slot) {
  if (slot.entries == 0 || slot.children != 0 || kind_of(slot.entries) >= kSmallKinds) return;
  const SmallBlock block = small(slot.entries);
  if (small_count(block) != 1) return;
  const Slot inlined = {position_at(block, 0) << kKindBits | kInlineEntry, block.cells()[0]};
  arena_.release(slot.entries);
  slot = inlined;
}

template <class Isa>
BlockRef Entries<Isa>::make_small(unsigned kind) {
  const SmallShape shape = kSmallShapes[kind];
  const BlockRef ref = arena_.allocate(shape.bytes, kind);
  // Every byte is defined, so that blocks with equal entries are equal bytes.
  for (unsigned i = 0; i < shape.bytes; i += 16)
    std::memcpy(arena_.at(ref) + i, kEmptySmall[kind].bytes + i, 16);
  return ref;
}

// Moves the first `count` lanes to a block of another shape.
template <class Isa>
void Entries<Isa>::resize_small(Slot& slot, unsigned kind, unsigned count) {
  const BlockRef old_ref = slot.entries;
  slot.entries = make_small(kind);
  const SmallBlock from = small(old_ref);
  const SmallBlock to = small(slot.entries);
  std::memcpy(to.starts(), from.starts(), count);
  std::memcpy(to.masks(), from.masks(), count);
  std::memcpy(to.cells(), from.cells(), count * sizeof(Cell));
  arena_.release(old_ref);
}

template <class Isa>
Cell Entries<Isa>::put_small(Slot& slot, Place place, Cell cell) {
  SmallBlock block = small(slot.entries);
  const uint8_t mask = mask_of(place.length);
  const uint32_t equal =
      Isa::equal_lanes(block.starts(), block.masks(), block.shape.lanes, place.start, mask);
  if (equal != 0) {
    Cell& existing = block.cells()[std::countr_zero(equal)];
    const Cell old = existing;
    existing = cell;
    return old;
  }
  const unsigned count = small_count(block);
  if (count == block.shape.lanes) {
    if (count == kMaxSmall) {
      small_to_bitmap(slot);
      return put_bitmap(slot, place, cell);
    }
    resize_small(slot, kind_of(slot.entries) + 1, count);
    block = small(slot.entries);
  }
  const unsigned lane = static_cast<unsigned>(
      std::popcount(Isa::below_lanes(block.starts(), block.masks(), block.shape.lanes, place.start, mask)));
  const unsigned behind = count - lane;
  std::memmove(block.starts() + lane + 1, block.starts() + lane, behind);
  std::memmove(block.masks() + lane + 1, block.masks() + lane, behind);
  std::memmove(block.cells() + lane + 1, block.cells() + lane, behind * sizeof(Cell));
  block.starts()[lane] = place.start;
  block.masks()[lane] = mask;
  block.cells()[lane] = cell;
  return kNoCell;
}

template <class Isa>
Cell Entries<Isa>::put_bitmap(Slot& slot, Place place, Cell cell) {
  const unsigned position = position_of(place);
  const BlockRef old_ref = slot.entries & ~kHintBits;
  uint64_t* bits = bitmap(old_ref);
  const unsigned rank = Isa::template rank<kBitmapWords>(bits, position);
  const uint64_t bit = uint64_t{1} << position % 64;
  if ((bits[position / 64] & bit) != 0) {
    const Cell old = bitmap_cells(old_ref)[rank];
    bitmap_cells(old_ref)[rank] = cell;
    return old;
  }
  const unsigned count = Isa::template count<kBitmapWords>(bits);
  const unsigned bytes = bitmap_entries_bytes(count + 1);
  BlockRef ref = old_ref;
  // The block's room follows from its count: it moves when the next size begins.
  if (fills_class(bitmap_entries_bytes(count))) {
    ref = arena_.allocate(bytes, kBitmapEntries);
    std::memcpy(bitmap_block(ref), bits, bitmap_entries_bytes(rank));
  }
  std::memmove(bitmap_cells(ref) + rank + 1, bitmap_cells(old_ref) + rank, (count - rank) * sizeof(Cell));
  if (ref != old_ref) arena_.release(old_ref);
  bitmap(ref)[position / 64] |= bit;
  bitmap_cells(ref)[rank] = cell;
  slot.entries = with_hint(ref, count + 1);
  return kNoCell;
}

template <class Isa>
Cell Entries<Isa>::remove_small(Slot& slot, Place place, Cell bound) {
  const SmallBlock block = small(slot.entries);
  const uint32_t equal =
      Isa::equal_lanes(block.starts(), block.masks(), block.shape.lanes, place.start, mask_of(place.length));
  if (equal == 0) return kNoCell;
  const unsigned lane = static_cast<unsigned>(std::countr_zero(equal));
  const Cell old = block.cells()[lane];
  if (old >= bound) return old;
  const unsigned left = small_count(block) - 1;
  const unsigned behind = left - lane;
  std::memmove(block.starts() + lane, block.starts() + lane + 1, behind);
  std::memmove(block.masks() + lane, block.masks() + lane + 1, behind);
  std::memmove(block.cells() + lane, block.cells() + lane + 1, behind * sizeof(Cell));
  block.starts()[left] = 1;
  block.masks()[left] = 0;
  block.cells()[left] = 0;
  const unsigned kind = kind_of(slot.entries);
  if (left == 0) {
    clear(slot);
  } else if (left == 1 && slot.children == 0) {
    make_inline_if_alone(slot);
  } else if (kind > 0 && left < kSmallShapes[kind - 1].lanes) {
    resize_small(slot, kind - 1, left);
  }
  return old;
}

template <class Isa>
Cell Entries<Isa>::remove_bitmap(Slot& slot, Place place, Cell bound) {
  const unsigned position = position_of(place);
  const BlockRef old_ref = slot.entries & ~kHintBits;
  uint64_t* bits = bitmap(old_ref);
  const uint64_t bit = uint64_t{1} << position % 64;
  if ((bits[position / 64] & bit) == 0) return kNoCell;
  const unsigned rank = Isa::template rank<kBitmapWords>(bits, position);
  const Cell old = bitmap_cells(old_ref)[rank];
  if (old >= bound) return old;
  const unsigned left = Isa::template count<kBitmapWords>(bits) - 1;
  bits[position / 64] &= ~bit;
  BlockRef ref = old_ref;
  const unsigned bytes = bitmap_entries_bytes(left);
  const bool becomes_small = left <= kShrinkBitmapAt;
  if (!becomes_small && fills_class(bytes)) {
    ref = arena_.allocate(bytes, kBitmapEntries);
    std::memcpy(bitmap_block(ref), bits, bitmap_entries_bytes(rank));
  }
  std::memmove(bitmap_cells(ref) + rank, bitmap_cells(old_ref) + rank + 1, (left - rank) * sizeof(Cell));
  if (ref != old_ref) arena_.release(old_ref);
  slot.entries = with_hint(ref, left);
  if (becomes_small) bitmap_to_small(slot, left);
  return old;
}

template <class Isa>
void Entries<Isa>::small_to_bitmap(Slot& slot) {
  const SmallBlock block = small(slot.entries);
  const BlockRef ref = arena_.allocate(bitmap_entries_bytes(kMaxSmall), kBitmapEntries);
  uint64_t* bits = bitmap(ref);
  std::memset(bits, 0, 64);
  for (unsigned lane = 0; lane < kMaxSmall; ++lane) {
    const unsigned position = position_at(block, lane);
    bits[position / 64] |= uint64_t{1} << position % 64;
  }
  std::memcpy(bitmap_cells(ref), block.cells(), kMaxSmall * sizeof(Cell));
  arena_.release(slot.entries);
  slot.entries = with_hint(ref, kMaxSmall);
}

template <class Isa>
void Entries<Isa>::bitmap_to_small(Slot& slot, unsigned count) {
  const BlockRef old_ref = slot.entries & ~kHintBits;
  const uint64_t* bits = bitmap(old_ref);
  slot.entries = make_small(kSmallKinds - 1);
  const SmallBlock block = small(slot.entries);
  unsigned lane = 0;
  for (unsigned word = 0; word < kBitmapWords; ++word) {
    for (uint64_t rest = bits[word]; rest != 0; rest &= rest - 1) {
      const Place place = kPlaces[word * 64 + static_cast<unsigned>(std::countr_zero(rest))];
      block.starts()[lane] = place.start;
      block.masks()[lane] = mask_of(place.length);
      ++lane;
    }
  }
  std::memcpy(block.cells(), bitmap_cells(old_ref), count * sizeof(Cell));
  arena_.release(old_ref);
}

}  // namespace waypost::kernel_sync::trie
