// The children of a node (node.h has the picture): how to go one node down, and how the ways there grow,
// split, shrink and join.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernel_sync/trie/arena.h"
#include "kernel_sync/trie/bits.h"
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
// A path block: slot at 0, level at 8, the bytes of the way from 9 on, at most 7 or at most 23 of them.
constexpr unsigned path_bytes(int way_bits) {
  return way_bits <= 7 * 8 ? 16 : 32;
}

// A view of a list block.
struct ListBlock {
  uint8_t* bytes;
  const ListShape& shape;

  uint8_t* keys() const { return bytes; }
  uint8_t& count() const { return bytes[shape.count_at]; }
  Slot* slots() const { return reinterpret_cast<Slot*>(bytes + shape.slots_at); }
};

// A view of a path block.
struct PathBlock {
  uint8_t* bytes;

  Slot& slot() const { return *reinterpret_cast<Slot*>(bytes); }
  int level() const { return bytes[8]; }
  uint8_t* way() const { return bytes + 9; }
};

template <int kBits, class Isa>
class Children {
 public:
  using Key = Address<kBits>;

  explicit Children(BlockArena& arena) : arena_(arena) {}

  // The node below `slot`, which is at `level`, on the way to the key and not deeper than `limit`; nullptr
  // when there is none. Moves `level` to that node's.
  [[gnu::always_inline]] Slot* down(const Slot& slot, Key key, int& level, int limit) const;
  // The same, but makes the node when it is missing. The new node is empty: it must be filled.
  // Precondition: the slot's entry is not inline, level < limit.
  Slot* down_or_make(Slot& slot, Key key, int& level, int limit);
  // Takes the empty node that `down` reached from `slot` by this byte out of its children.
  void remove(Slot& slot, uint8_t byte, int level);
  // When the only child of `slot` has no entries and itself only one way on, makes the two ways one.
  void join_paths(Slot& slot, int level);

  PathBlock path(BlockRef ref) const { return {arena_.at(ref)}; }
  ListBlock list(BlockRef ref) const { return {arena_.at(ref), list_shape(kind_of(ref))}; }
  uint64_t* bitmap(BlockRef ref) const { return reinterpret_cast<uint64_t*>(arena_.at(ref)); }
  Slot* bitmap_slots(BlockRef ref) const { return reinterpret_cast<Slot*>(arena_.at(ref) + 32); }
  Slot* direct_slots(BlockRef ref) const { return reinterpret_cast<Slot*>(arena_.at(ref)); }
  static unsigned bitmap_count(const uint64_t* bits) { return Isa::template count<4>(bits); }

  // How the way of a path at `level` and the key differ, the first bit on top; what is behind the way's end
  // means nothing.
  static Key path_difference(const PathBlock& block, Key key, int level) {
    return static_cast<Key>(key << level) ^ load_way(block.way());
  }
  // The way's bytes from the top; what is behind its end means nothing.
  static Key load_way(const uint8_t* bytes) {
    Key value;
    std::memcpy(&value, bytes, sizeof value);
    if constexpr (std::endian::native == std::endian::big) return value;
    if constexpr (kBits == 32) {
      return __builtin_bswap32(value);
    } else {
      return Key{__builtin_bswap64(static_cast<uint64_t>(value))} << 64 |
             __builtin_bswap64(static_cast<uint64_t>(value >> 64));
    }
  }

 private:
  static int leading_zeros(Key value) {
    if constexpr (kBits == 32) {
      return std::countl_zero(value);
    } else {
      const uint64_t high = static_cast<uint64_t>(value >> 64);
      return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(value));
    }
  }

  [[gnu::always_inline]] Slot* find(BlockRef ref, uint8_t byte) const;
  BlockRef make_path(const Slot& slot, Key key, int from, int to);
  void split_path(Slot& slot, Key key, int level, int at);
  Slot* branch_path(Slot& slot, Key key, int level, int at);
  Slot* add(Slot& slot, uint8_t byte);
  Slot* add_to_list(Slot& slot, uint8_t byte);
  Slot* add_to_bitmap(Slot& slot, uint8_t byte);
  void list_to_bitmap(Slot& slot);
  void bitmap_to_direct(Slot& slot);
  void remove_from_list(Slot& slot, uint8_t byte, int level);
  void remove_from_bitmap(Slot& slot, uint8_t byte);
  void remove_from_direct(Slot& slot, uint8_t byte);

  BlockArena& arena_;
};

template <int kBits, class Isa>
inline Slot* Children<kBits, Isa>::find(BlockRef ref, uint8_t byte) const {
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

template <int kBits, class Isa>
inline Slot* Children<kBits, Isa>::down(const Slot& slot, Key key, int& level, int limit) const {
  const BlockRef ref = children_of(slot);
  if (kind_of(ref) != kPath) {
    Slot* const found = find(ref, byte_at<kBits>(key, level));
    level += 8;
    return found;
  }
  if (ref == 0) return nullptr;
  const PathBlock block = path(ref);
  const int end = block.level();
  if (end > limit || path_difference(block, key, level) >> (kBits - (end - level)) != 0) return nullptr;
  level = end;
  return &block.slot();
}

template <int kBits, class Isa>
Slot* Children<kBits, Isa>::down_or_make(Slot& slot, Key key, int& level, int limit) {
  const uint8_t byte = byte_at<kBits>(key, level);
  if (kind_of(slot.children) != kPath) {
    Slot* found = find(slot.children, byte);
    if (found == nullptr) found = add(slot, byte);
    level += 8;
    return found;
  }
  if (slot.children == 0) {
    slot.children = make_path({}, key, level, limit);
    level = limit;
    return &path(slot.children).slot();
  }
  const int end = path(slot.children).level();
  const int reach = end < limit ? end : limit;
  const int common = level + (leading_zeros(path_difference(path(slot.children), key, level)) & ~7);
  if (common < reach) {
    Slot* const made = branch_path(slot, key, level, common);
    level = common + 8;
    return made;
  }
  if (end > limit) split_path(slot, key, level, limit);
  level = reach;
  return &path(slot.children).slot();
}

template <int kBits, class Isa>
BlockRef Children<kBits, Isa>::make_path(const Slot& slot, Key key, int from, int to) {
  const BlockRef ref = arena_.allocate(path_bytes(to - from), kPath);
  const PathBlock block = path(ref);
  block.slot() = slot;
  block.bytes[8] = static_cast<uint8_t>(to);
  for (int level = from; level < to; level += 8) block.way()[(level - from) / 8] = byte_at<kBits>(key, level);
  return ref;
}

// A node without entries comes into the path of `slot`, at level `at`; its only child is the path's rest.
// The key agrees with the path up to there.
template <int kBits, class Isa>
void Children<kBits, Isa>::split_path(Slot& slot, Key key, int level, int at) {
  const BlockRef old_ref = slot.children;
  const PathBlock old = path(old_ref);
  const int end = old.level();
  const BlockRef rest = arena_.allocate(path_bytes(end - at), kPath);
  const PathBlock below = path(rest);
  below.slot() = old.slot();
  below.bytes[8] = static_cast<uint8_t>(end);
  const size_t skipped = static_cast<size_t>(at - level) / 8;
  std::memcpy(below.way(), old.way() + skipped, static_cast<size_t>(end - at) / 8);
  slot.children = make_path({0, rest}, key, level, at);
  arena_.release(old_ref);
}

// The key leaves the path of `slot` at level `at`: a table of two stands there. Returns the key's new node,
// at level at + 8.
template <int kBits, class Isa>
Slot* Children<kBits, Isa>::branch_path(Slot& slot, Key key, int level, int at) {
  if (at > level) split_path(slot, key, level, at);
  Slot& fork = at > level ? path(slot.children).slot() : slot;
  const BlockRef old_ref = fork.children;
  const PathBlock old = path(old_ref);
  const uint8_t old_byte = old.way()[0];
  Slot onward = old.slot();
  if (old.level() > at + 8) {
    const BlockRef rest = arena_.allocate(path_bytes(old.level() - at - 8), kPath);
    const PathBlock below = path(rest);
    below.slot() = onward;
    below.bytes[8] = static_cast<uint8_t>(old.level());
    std::memcpy(below.way(), old.way() + 1, static_cast<size_t>(old.level() - at - 8) / 8);
    onward = {0, rest};
  }
  arena_.release(old_ref);
  fork.children = arena_.allocate(kFewShape.bytes, kFew);
  const ListBlock block = list(fork.children);
  const uint8_t new_byte = byte_at<kBits>(key, at);
  const unsigned new_index = new_byte > old_byte;
  block.count() = 2;
  block.keys()[new_index] = new_byte;
  block.keys()[1 - new_index] = old_byte;
  block.slots()[new_index] = {};
  block.slots()[1 - new_index] = onward;
  return block.slots() + new_index;
}

template <int kBits, class Isa>
Slot* Children<kBits, Isa>::add(Slot& slot, uint8_t byte) {
  const BlockRef ref = slot.children;
  if (kind_of(ref) == kDirect) return direct_slots(ref) + byte;
  if (kind_of(ref) == kBitmapChildren) return add_to_bitmap(slot, byte);
  return add_to_list(slot, byte);
}

template <int kBits, class Isa>
Slot* Children<kBits, Isa>::add_to_list(Slot& slot, uint8_t byte) {
  ListBlock block = list(slot.children);
  const unsigned count = block.count();
  if (count == block.shape.capacity) {
    if (kind_of(slot.children) == kSome) {
      list_to_bitmap(slot);
      return add_to_bitmap(slot, byte);
    }
    const BlockRef ref = arena_.allocate(kSomeShape.bytes, kSome);
    std::memcpy(list(ref).keys(), block.keys(), count);
    std::memcpy(list(ref).slots(), block.slots(), count * sizeof(Slot));
    list(ref).count() = static_cast<uint8_t>(count);
    arena_.release(slot.children);
    slot.children = ref;
  }
  const ListBlock grown = list(slot.children);
  unsigned index = 0;
  while (index < count && grown.keys()[index] < byte) ++index;
  std::memmove(grown.keys() + index + 1, grown.keys() + index, count - index);
  std::memmove(grown.slots() + index + 1, grown.slots() + index, (count - index) * sizeof(Slot));
  grown.keys()[index] = byte;
  grown.slots()[index] = {};
  ++grown.count();
  return grown.slots() + index;
}

template <int kBits, class Isa>
Slot* Children<kBits, Isa>::add_to_bitmap(Slot& slot, uint8_t byte) {
  const BlockRef old_ref = slot.children;
  const unsigned count = bitmap_count(bitmap(old_ref));
  if (count == kMaxBitmapChildren) {
    bitmap_to_direct(slot);
    return direct_slots(slot.children) + byte;
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
  slot.children = ref;
  return bitmap_slots(ref) + rank;
}

template <int kBits, class Isa>
void Children<kBits, Isa>::list_to_bitmap(Slot& slot) {
  const ListBlock block = list(slot.children);
  const unsigned count = block.count();
  const BlockRef ref = arena_.allocate(bitmap_children_bytes(count), kBitmapChildren);
  std::memset(bitmap(ref), 0, 32);
  for (unsigned i = 0; i < count; ++i) {
    bitmap(ref)[block.keys()[i] / 64] |= uint64_t{1} << block.keys()[i] % 64;
  }
  std::memcpy(bitmap_slots(ref), block.slots(), count * sizeof(Slot));
  arena_.release(slot.children);
  slot.children = ref;
}

template <int kBits, class Isa>
void Children<kBits, Isa>::bitmap_to_direct(Slot& slot) {
  const BlockRef old_ref = slot.children;
  const BlockRef ref = arena_.allocate(kDirectBytes, kDirect);
  std::memset(arena_.at(ref), 0, kDirectBytes);
  const Slot* from = bitmap_slots(old_ref);
  for (unsigned word = 0; word < 4; ++word) {
    for (uint64_t rest = bitmap(old_ref)[word]; rest != 0; rest &= rest - 1) {
      direct_slots(ref)[word * 64 + static_cast<unsigned>(std::countr_zero(rest))] = *from++;
    }
  }
  arena_.release(old_ref);
  slot.children = ref;
}

template <int kBits, class Isa>
void Children<kBits, Isa>::remove(Slot& slot, uint8_t byte, int level) {
  switch (kind_of(slot.children)) {
    case kPath:
      arena_.release(slot.children);
      slot.children = 0;
      return;
    case kDirect:
      return remove_from_direct(slot, byte);
    case kBitmapChildren:
      return remove_from_bitmap(slot, byte);
    default:
      return remove_from_list(slot, byte, level);
  }
}

template <int kBits, class Isa>
void Children<kBits, Isa>::remove_from_list(Slot& slot, uint8_t byte, int level) {
  const BlockRef old_ref = slot.children;
  const ListBlock block = list(old_ref);
  const unsigned index = static_cast<unsigned>(Isa::find_key(block.keys(), block.count(), byte));
  const unsigned left = --block.count();
  std::memmove(block.keys() + index, block.keys() + index + 1, left - index);
  std::memmove(block.slots() + index, block.slots() + index + 1, (left - index) * sizeof(Slot));
  if (left == 1) {
    const Key key = byte_at_level<kBits>(block.keys()[0], level);
    slot.children = make_path(block.slots()[0], key, level, level + 8);
    arena_.release(old_ref);
    join_paths(slot, level);
  } else if (left == kShrinkSomeAt && kind_of(old_ref) == kSome) {
    const BlockRef ref = arena_.allocate(kFewShape.bytes, kFew);
    std::memcpy(list(ref).keys(), block.keys(), left);
    std::memcpy(list(ref).slots(), block.slots(), left * sizeof(Slot));
    list(ref).count() = static_cast<uint8_t>(left);
    arena_.release(old_ref);
    slot.children = ref;
  }
}

template <int kBits, class Isa>
void Children<kBits, Isa>::remove_from_bitmap(Slot& slot, uint8_t byte) {
  const BlockRef old_ref = slot.children;
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
  slot.children = ref;
}

template <int kBits, class Isa>
void Children<kBits, Isa>::remove_from_direct(Slot& slot, uint8_t byte) {
  const BlockRef old_ref = slot.children;
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
  slot.children = ref;
}

template <int kBits, class Isa>
void Children<kBits, Isa>::join_paths(Slot& slot, int level) {
  const BlockRef upper_ref = children_of(slot);
  if (upper_ref == 0 || kind_of(upper_ref) != kPath) return;
  const PathBlock upper = path(upper_ref);
  const BlockRef lower_ref = upper.slot().children;
  if (upper.slot().entries != 0 || lower_ref == 0 || kind_of(lower_ref) != kPath) return;
  const PathBlock lower = path(lower_ref);
  const int middle = upper.level();
  const int end = lower.level();
  const BlockRef joined_ref = arena_.allocate(path_bytes(end - level), kPath);
  const PathBlock joined = path(joined_ref);
  joined.slot() = lower.slot();
  joined.bytes[8] = static_cast<uint8_t>(end);
  const size_t upper_way = static_cast<size_t>(middle - level) / 8;
  std::memcpy(joined.way(), upper.way(), upper_way);
  std::memcpy(joined.way() + upper_way, lower.way(), static_cast<size_t>(end - middle) / 8);
  arena_.release(lower_ref);
  arena_.release(upper_ref);
  slot.children = joined_ref;
}

}  // namespace waypost::kernel_sync::trie
