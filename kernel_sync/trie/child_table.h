// The tables of a node's children (node.h has the picture): which bytes have a child, and their slots.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernel_sync/trie/arena.h"
#include "kernel_sync/trie/isa.h"
#include "kernel_sync/trie/node.h"

namespace waypost::kernel_sync::trie {

// Sorted keys at 0, their number at count_at, the slots in the same order.
struct ListShape {
  uint8_t capacity;
  uint8_t count_at;
  uint8_t slots_at;
  uint8_t bytes;
};
inline constexpr ListShape kFewShape = {5, 7, 8, 48};
inline constexpr ListShape kSomeShape = {14, 15, 16, 128};
constexpr const ListShape& list_shape(unsigned kind) {
  return kind == kFew ? kFewShape : kSomeShape;
}

constexpr unsigned kMaxBitmapChildren = 96;
// Where the kinds step down again, each well below where it came from (see kShrinkBitmapAt).
constexpr unsigned kShrinkDirectAt = 64;
constexpr unsigned kShrinkBitmapChildrenAt = 12;
constexpr unsigned kShrinkSomeAt = 4;
constexpr unsigned kDirectBytes = 256 * sizeof(Slot);

constexpr unsigned bitmap_children_bytes(unsigned count) {
  return 32 + count * static_cast<unsigned>(sizeof(Slot));
}
// A view of a list block.
struct ListBlock {
  uint8_t* bytes;
  const ListShape& shape;

  uint8_t* keys() const { return bytes; }
  uint8_t& count() const { return bytes[shape.count_at]; }
  Slot* slots() const { return reinterpret_cast<Slot*>(bytes + shape.slots_at); }
};

template <class Isa>
class ChildTable {
 public:
  explicit ChildTable(BlockArena& arena) : arena_(arena) {}

  // nullptr when the byte has no child.
  [[gnu::always_inline]] Slot* find(BlockRef table, uint8_t byte) const;
  // A table of two.
  BlockRef make(uint8_t first_byte, const Slot& first, uint8_t second_byte, const Slot& second);
  // An empty slot for a byte that has none; it must be filled. The table may move: `table` is its ref.
  Slot* add(BlockRef& table, uint8_t byte);
  // Takes a child out. One may be left: then the table has to become a path (single).
  void remove(BlockRef& table, uint8_t byte);
  bool is_single(BlockRef table) const { return kind_of(table) == kFew && list(table).count() == 1; }

  ListBlock list(BlockRef ref) const { return {arena_.at(ref), list_shape(kind_of(ref))}; }
  uint64_t* bitmap(BlockRef ref) const { return reinterpret_cast<uint64_t*>(arena_.at(ref)); }
  Slot* bitmap_slots(BlockRef ref) const { return reinterpret_cast<Slot*>(arena_.at(ref) + 32); }
  Slot* direct_slots(BlockRef ref) const { return reinterpret_cast<Slot*>(arena_.at(ref)); }
  static unsigned bitmap_count(const uint64_t* bits) { return Isa::template count<4>(bits); }

 private:
  Slot* add_to_list(BlockRef& table, uint8_t byte);
  Slot* add_to_bitmap(BlockRef& table, uint8_t byte);
  void list_to_bitmap(BlockRef& table);
  void bitmap_to_direct(BlockRef& table);
  void remove_from_list(BlockRef& table, uint8_t byte);
  void remove_from_bitmap(BlockRef& table, uint8_t byte);
  void remove_from_direct(BlockRef& table, uint8_t byte);

  BlockArena& arena_;
};

template <class Isa>
inline Slot* ChildTable<Isa>::find(BlockRef ref, uint8_t byte) const {
  if (kind_of(ref) == kDirect) {
    Slot* const slot = direct_slots(ref) + byte;
    return is_empty(*slot) ? nullptr : slot;
  }
  if (kind_of(ref) == kBitmapChildren) {
    const uint64_t* bits = bitmap(ref);
    if ((bits[byte / 64] >> byte % 64 & 1) == 0) return nullptr;
    return bitmap_slots(ref) + Isa::template rank<4>(bits, byte);
  }
  const ListBlock block = list(ref);
  const int index = Isa::find_key(block.keys(), block.count(), byte);
  return index < 0 ? nullptr : block.slots() + index;
}

template <class Isa>
BlockRef ChildTable<Isa>::make(uint8_t first_byte, const Slot& first, uint8_t second_byte,
                               const Slot& second) {
  const BlockRef table = arena_.allocate(kFewShape.bytes, kFew);
  const ListBlock block = list(table);
  const bool swapped = second_byte < first_byte;
  block.count() = 2;
  block.keys()[swapped] = first_byte;
  block.keys()[!swapped] = second_byte;
  block.slots()[swapped] = first;
  block.slots()[!swapped] = second;
  return table;
}

template <class Isa>
Slot* ChildTable<Isa>::add(BlockRef& table, uint8_t byte) {
  const BlockRef ref = table;
  if (kind_of(ref) == kDirect) return direct_slots(ref) + byte;
  if (kind_of(ref) == kBitmapChildren) return add_to_bitmap(table, byte);
  return add_to_list(table, byte);
}

template <class Isa>
Slot* ChildTable<Isa>::add_to_list(BlockRef& table, uint8_t byte) {
  ListBlock block = list(table);
  const unsigned count = block.count();
  if (count == block.shape.capacity) {
    if (kind_of(table) == kSome) {
      list_to_bitmap(table);
      return add_to_bitmap(table, byte);
    }
    const BlockRef ref = arena_.allocate(kSomeShape.bytes, kSome);
    std::memcpy(list(ref).keys(), block.keys(), count);
    std::memcpy(list(ref).slots(), block.slots(), count * sizeof(Slot));
    list(ref).count() = static_cast<uint8_t>(count);
    arena_.release(table);
    table = ref;
  }
  const ListBlock grown = list(table);
  unsigned index = 0;
  while (index < count && grown.keys()[index] < byte) ++index;
  std::memmove(grown.keys() + index + 1, grown.keys() + index, count - index);
  std::memmove(grown.slots() + index + 1, grown.slots() + index, (count - index) * sizeof(Slot));
  grown.keys()[index] = byte;
  grown.slots()[index] = {};
  ++grown.count();
  return grown.slots() + index;
}

template <class Isa>
Slot* ChildTable<Isa>::add_to_bitmap(BlockRef& table, uint8_t byte) {
  const BlockRef old_ref = table;
  const unsigned count = bitmap_count(bitmap(old_ref));
  if (count == kMaxBitmapChildren) {
    bitmap_to_direct(table);
    return direct_slots(table) + byte;
  }
  const unsigned rank = Isa::template rank<4>(bitmap(old_ref), byte);
  BlockRef ref = old_ref;
  if (fills_class(bitmap_children_bytes(count))) {
    ref = arena_.allocate(bitmap_children_bytes(count + 1), kBitmapChildren);
    std::memcpy(arena_.at(ref), arena_.at(old_ref), bitmap_children_bytes(rank));
  }
  std::memmove(bitmap_slots(ref) + rank + 1, bitmap_slots(old_ref) + rank, (count - rank) * sizeof(Slot));
  if (ref != old_ref) arena_.release(old_ref);
  bitmap(ref)[byte / 64] |= uint64_t{1} << byte % 64;
  bitmap_slots(ref)[rank] = {};
  table = ref;
  return bitmap_slots(ref) + rank;
}

template <class Isa>
void ChildTable<Isa>::list_to_bitmap(BlockRef& table) {
  const ListBlock block = list(table);
  const unsigned count = block.count();
  const BlockRef ref = arena_.allocate(bitmap_children_bytes(count), kBitmapChildren);
  std::memset(bitmap(ref), 0, 32);
  for (unsigned i = 0; i < count; ++i) {
    bitmap(ref)[block.keys()[i] / 64] |= uint64_t{1} << block.keys()[i] % 64;
  }
  std::memcpy(bitmap_slots(ref), block.slots(), count * sizeof(Slot));
  arena_.release(table);
  table = ref;
}

template <class Isa>
void ChildTable<Isa>::bitmap_to_direct(BlockRef& table) {
  const BlockRef old_ref = table;
  const BlockRef ref = arena_.allocate(kDirectBytes, kDirect);
  std::memset(arena_.at(ref), 0, kDirectBytes);
  const Slot* from = bitmap_slots(old_ref);
  for (unsigned word = 0; word < 4; ++word) {
    for (uint64_t rest = bitmap(old_ref)[word]; rest != 0; rest &= rest - 1) {
      direct_slots(ref)[word * 64 + static_cast<unsigned>(std::countr_zero(rest))] = *from++;
    }
  }
  arena_.release(old_ref);
  table = ref;
}

template <class Isa>
void ChildTable<Isa>::remove(BlockRef& table, uint8_t byte) {
  if (kind_of(table) == kDirect) return remove_from_direct(table, byte);
  if (kind_of(table) == kBitmapChildren) return remove_from_bitmap(table, byte);
  remove_from_list(table, byte);
}

template <class Isa>
void ChildTable<Isa>::remove_from_list(BlockRef& table, uint8_t byte) {
  const BlockRef old_ref = table;
  const ListBlock block = list(old_ref);
  const unsigned index = static_cast<unsigned>(Isa::find_key(block.keys(), block.count(), byte));
  const unsigned left = --block.count();
  std::memmove(block.keys() + index, block.keys() + index + 1, left - index);
  std::memmove(block.slots() + index, block.slots() + index + 1, (left - index) * sizeof(Slot));
  if (left == kShrinkSomeAt && kind_of(old_ref) == kSome) {
    const BlockRef ref = arena_.allocate(kFewShape.bytes, kFew);
    std::memcpy(list(ref).keys(), block.keys(), left);
    std::memcpy(list(ref).slots(), block.slots(), left * sizeof(Slot));
    list(ref).count() = static_cast<uint8_t>(left);
    arena_.release(old_ref);
    table = ref;
  }
}

template <class Isa>
void ChildTable<Isa>::remove_from_bitmap(BlockRef& table, uint8_t byte) {
  const BlockRef old_ref = table;
  uint64_t* bits = bitmap(old_ref);
  const unsigned rank = Isa::template rank<4>(bits, byte);
  const unsigned left = bitmap_count(bits) - 1;
  bits[byte / 64] &= ~(uint64_t{1} << byte % 64);
  BlockRef ref = old_ref;
  Slot* to = bitmap_slots(old_ref);
  if (left == kShrinkBitmapChildrenAt) {
    ref = arena_.allocate(kSomeShape.bytes, kSome);
    const ListBlock block = list(ref);
    block.count() = 0;
    for (unsigned key = 0; key < 256; ++key) {
      if ((bits[key / 64] >> key % 64 & 1) != 0) block.keys()[block.count()++] = static_cast<uint8_t>(key);
    }
    to = block.slots();
  } else if (fills_class(bitmap_children_bytes(left))) {
    ref = arena_.allocate(bitmap_children_bytes(left), kBitmapChildren);
    std::memcpy(bitmap(ref), bits, 32);
    to = bitmap_slots(ref);
  }
  const Slot* from = bitmap_slots(old_ref);
  if (ref != old_ref) std::memcpy(to, from, rank * sizeof(Slot));
  std::memmove(to + rank, from + rank + 1, (left - rank) * sizeof(Slot));
  if (ref != old_ref) arena_.release(old_ref);
  table = ref;
}

template <class Isa>
void ChildTable<Isa>::remove_from_direct(BlockRef& table, uint8_t byte) {
  const BlockRef old_ref = table;
  Slot* const slots = direct_slots(old_ref);
  slots[byte] = {};
  unsigned left = 0;
  for (unsigned key = 0; key < 256; ++key) left += !is_empty(slots[key]);
  if (left > kShrinkDirectAt) return;
  const BlockRef ref = arena_.allocate(bitmap_children_bytes(left), kBitmapChildren);
  std::memset(bitmap(ref), 0, 32);
  Slot* to = bitmap_slots(ref);
  for (unsigned key = 0; key < 256; ++key) {
    if (is_empty(slots[key])) continue;
    bitmap(ref)[key / 64] |= uint64_t{1} << key % 64;
    *to++ = slots[key];
  }
  arena_.release(old_ref);
  table = ref;
}

}  // namespace waypost::kernel_sync::trie
