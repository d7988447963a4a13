// The ways from a node to its children (node.h has the picture): how to go one node down, and how the ways
// grow, split, fork and join.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernel_sync/trie/arena.h"
#include "kernel_sync/trie/bits.h"
#include "kernel_sync/trie/child_table.h"
#include "kernel_sync/trie/isa.h"
#include "kernel_sync/trie/node.h"

namespace waypost::kernel_sync::trie {

// A path block: slot at 0, level at 8, the bytes of the way from 9 on, at most 7 or at most 23 of them.
constexpr unsigned path_bytes(int way_bits) {
  return way_bits <= 7 * 8 ? 16 : 32;
}

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

  explicit Children(BlockArena& arena) : tables_(arena), arena_(arena) {}

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
  const ChildTable<Isa>& tables() const { return tables_; }

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

  // A path to `slot` from level `from` to `to`; `way` are the bytes between them.
  BlockRef make_path(const Slot& slot, const uint8_t* way, int from, int to);
  BlockRef make_path_by(const Slot& slot, Key key, int from, int to);
  void split_path(Slot& slot, int level, int at);
  Slot* branch_path(Slot& slot, Key key, int level, int at);

  ChildTable<Isa> tables_;
  BlockArena& arena_;
};

template <int kBits, class Isa>
inline Slot* Children<kBits, Isa>::down(const Slot& slot, Key key, int& level, int limit) const {
  const BlockRef ref = children_of(slot);
  if (kind_of(ref) != kPath) {
    Slot* const found = tables_.find(ref, byte_at<kBits>(key, level));
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
    Slot* found = tables_.find(slot.children, byte);
    if (found == nullptr) found = tables_.add(slot.children, byte);
    level += 8;
    return found;
  }
  if (slot.children == 0) {
    slot.children = make_path_by({}, key, level, limit);
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
  if (end > limit) split_path(slot, level, limit);
  level = reach;
  return &path(slot.children).slot();
}

template <int kBits, class Isa>
BlockRef Children<kBits, Isa>::make_path(const Slot& slot, const uint8_t* way, int from, int to) {
  const BlockRef ref = arena_.allocate(path_bytes(to - from), kPath);
  const PathBlock block = path(ref);
  block.slot() = slot;
  block.bytes[8] = static_cast<uint8_t>(to);
  std::memcpy(block.way(), way, static_cast<size_t>(to - from) / 8);
  return ref;
}

template <int kBits, class Isa>
BlockRef Children<kBits, Isa>::make_path_by(const Slot& slot, Key key, int from, int to) {
  uint8_t way[kBits / 8];
  for (int level = from; level < to; level += 8) way[(level - from) / 8] = byte_at<kBits>(key, level);
  return make_path(slot, way, from, to);
}

// A node without entries comes into the path of `slot`, at level `at`; its only child is the path's rest.
template <int kBits, class Isa>
void Children<kBits, Isa>::split_path(Slot& slot, int level, int at) {
  const BlockRef old_ref = slot.children;
  const PathBlock old = path(old_ref);
  const int skipped = (at - level) / 8;
  const BlockRef rest = make_path(old.slot(), old.way() + skipped, at, old.level());
  slot.children = make_path({0, rest}, old.way(), level, at);
  arena_.release(old_ref);
}

// The key leaves the path of `slot` at level `at`: a table of two stands there. Returns the key's new node,
// at level at + 8.
template <int kBits, class Isa>
Slot* Children<kBits, Isa>::branch_path(Slot& slot, Key key, int level, int at) {
  if (at > level) split_path(slot, level, at);
  Slot& fork = at > level ? path(slot.children).slot() : slot;
  const BlockRef old_ref = fork.children;
  const PathBlock old = path(old_ref);
  const uint8_t old_byte = old.way()[0];
  Slot onward = old.slot();
  if (old.level() > at + 8) onward = {0, make_path(onward, old.way() + 1, at + 8, old.level())};
  arena_.release(old_ref);
  const uint8_t new_byte = byte_at<kBits>(key, at);
  fork.children = tables_.make(old_byte, onward, new_byte, {});
  return tables_.list(fork.children).slots() + (new_byte > old_byte);
}

template <int kBits, class Isa>
void Children<kBits, Isa>::remove(Slot& slot, uint8_t byte, int level) {
  if (kind_of(slot.children) == kPath) {
    arena_.release(slot.children);
    slot.children = 0;
    return;
  }
  tables_.remove(slot.children, byte);
  if (!tables_.is_single(slot.children)) return;
  const BlockRef table = slot.children;
  const ListBlock block = tables_.list(table);
  slot.children = make_path(block.slots()[0], block.keys(), level, level + 8);
  arena_.release(table);
  join_paths(slot, level);
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
  uint8_t way[kBits / 8];
  const size_t upper_bytes = static_cast<size_t>(middle - level) / 8;
  std::memcpy(way, upper.way(), upper_bytes);
  std::memcpy(way + upper_bytes, lower.way(), static_cast<size_t>(end - middle) / 8);
  slot.children = make_path(lower.slot(), way, level, end);
  arena_.release(lower_ref);
  arena_.release(upper_ref);
}

}  // namespace waypost::kernel_sync::trie
