// The two ways to change a trie. Both go down once and touch only the nodes on the way of the key.
#pragma once

#include "kernel_sync/trie/children.h"
#include "kernel_sync/trie/cursors.h"
#include "kernel_sync/trie/entries.h"
#include "kernel_sync/trie/lookup.h"

namespace waypost::kernel_sync::trie {

template <int kBits, class Isa>
class Update {
 public:
  using Key = Address<kBits>;

  explicit Update(BlockArena& arena) : entries_(arena), children_(arena), arena_(arena) {}

  // Inserts or replaces; returns the cell that was there or kNoCell.
  Cell put(Slot& root, Key key, int length, Cell cell) {
    const int target = level_of(length);
    Slot* slot = &root;
    for (int level = 0; level < target;) {
      if (is_inline(*slot)) entries_.make_outline(*slot);
      slot = children_.down_or_make(*slot, key, level, target);
    }
    return entries_.put(*slot, place_of<kBits>(key, length), cell);
  }

  // Removes the prefix when its cell is below `bound`. Returns the cell that was (or, not below it, still is)
  // there, or kNoCell.
  Cell take(Slot& root, Key key, int length, Cell bound) {
    const int target = level_of(length);
    const Place place = place_of<kBits>(key, length);
    Slot* nodes[kBits / 8];
    uint8_t levels[kBits / 8];
    unsigned depth = 0;
    nodes[0] = &root;
    levels[0] = 0;
    for (int level = 0; level < target;) {
      Slot* const slot = children_.down(*nodes[depth], key, level, target);
      if (slot == nullptr) return kNoCell;
      nodes[++depth] = slot;
      levels[depth] = static_cast<uint8_t>(level);
    }
    const Cell cell = entries_.remove(*nodes[depth], place, bound);
    if (cell >= bound) return cell;
    // A node left without a purpose goes, which may leave its parent without one.
    for (; depth > 0 && nodes[depth]->entries == 0; --depth) {
      Slot& parent = *nodes[depth - 1];
      if (nodes[depth]->children != 0) {
        children_.join_paths(parent, levels[depth - 1]);
        break;
      }
      children_.remove(parent, byte_at<kBits>(key, levels[depth - 1]), levels[depth - 1]);
      entries_.make_inline_if_alone(parent);
    }
    return cell;
  }

  // Frees all blocks of the trie and empties its slot.
  void clear(Slot& slot) {
    const BlockRef ref = children_of(slot);
    const Node<kBits> node{&slot, 0, 0};
    for (ChildCursor<kBits, Isa> child(children_, node); !child.done(); child.next()) {
      clear(const_cast<Slot&>(*child.node().slot));
    }
    if (ref != 0) arena_.release(ref);
    if (!is_inline(slot)) slot.children = 0;
    entries_.clear(slot);
  }

 private:
  Entries<Isa> entries_;
  Children<kBits, Isa> children_;
  BlockArena& arena_;
};

}  // namespace waypost::kernel_sync::trie
