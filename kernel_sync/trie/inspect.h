// Reads a whole trie and tells the first thing that is not as node.h says it must be.
#pragma once

#include "kernel_sync/trie/cursors.h"
#include "kernel_sync/trie/lookup.h"

namespace waypost::kernel_sync::trie {

// What a trie was found to use; several tries can be counted into one.
struct Census {
  uint8_t* used_units;  // one byte for each unit of the arena, set for the first of a block seen
  size_t bytes = 0;
  size_t prefixes = 0;
};

// What is wrong and in which node; nullptr: nothing.
template <int kBits>
struct Fault {
  const char* what = nullptr;
  Address<kBits> base = 0;
  int level = 0;
};

template <int kBits, class Isa>
class Inspect {
 public:
  Inspect(BlockArena& arena, Census& census)
      : entries_(arena), children_(arena), arena_(arena), census_(census) {}

  Fault<kBits> trie(const Slot& root) { return node({&root, 0, 0}); }

 private:
  static constexpr unsigned kWholeHint = 3u << kKindBits;

  Fault<kBits> node(const Node<kBits>& node) {
    const char* what = entries(*node.slot, node.level);
    if (what == nullptr) what = children(*node.slot, node.level);
    if (what != nullptr) return {what, node.base, node.level};
    for (ChildCursor<kBits, Isa> child(children_, node); !child.done(); child.next()) {
      if (is_empty(*child.node().slot)) return {"an empty node below the root", node.base, node.level};
      const Fault<kBits> fault = this->node(child.node());
      if (fault.what != nullptr) return fault;
    }
    return {};
  }

  const char* entries(const Slot& slot, int level) {
    if (slot.entries == 0) return nullptr;
    if (is_inline(slot)) {
      if (slot.entries >> kKindBits >= kPositions) return "an inline entry without a position";
      if (slot.children == kNoCell) return "an inline entry without a cell";
    } else if (kind_of(slot.entries) == kBitmapEntries) {
      const char* what = bitmap_entries(slot);
      if (what != nullptr) return what;
    } else {
      const char* what = small_entries(slot);
      if (what != nullptr) return what;
    }
    unsigned count = 0;
    for (EntryCursor<Isa> entry(entries_, slot); !entry.done(); entry.next()) {
      if (entry.position() == 0 && level != 0) return "a default route below the root";
      if (entry.cell() == kNoCell) return "an entry without a cell";
      ++count;
    }
    if (count != entries_.count(slot)) return "a count that is not the number of entries";
    census_.prefixes += count;
    return nullptr;
  }

  const char* bitmap_entries(const Slot& slot) {
    const BlockRef ref = slot.entries & ~kWholeHint;
    const uint64_t* bits = entries_.bitmap(slot.entries);
    const unsigned count = Isa::template count<kBitmapWords>(bits);
    if (!mark(ref, bitmap_entries_bytes(count))) return "a bitmap block that is not one block of its size";
    if (bits[kBitmapWords - 1] >> 63 != 0) return "a set bit behind the last position";
    if (count <= kShrinkBitmapAt) return "a bitmap block that should be small";
    return nullptr;
  }

  const char* small_entries(const Slot& slot) {
    const unsigned kind = kind_of(slot.entries);
    if (!mark(slot.entries, kSmallShapes[kind].bytes))
      return "a small block that is not one block of its size";
    const SmallBlock block = entries_.small(slot.entries);
    const unsigned count = entries_.count(slot);
    if (count == 0) return "a small block without entries";
    if (count == 1 && slot.children == 0) return "a lone entry that is not inline";
    if (kind > 0 && count < kSmallShapes[kind - 1].lanes) return "a small block that should be smaller";
    int last = -1;
    for (unsigned lane = 0; lane < block.shape.lanes; ++lane) {
      const uint8_t start = block.starts()[lane];
      const uint8_t mask = block.masks()[lane];
      if (lane >= count) {
        if (start != 1 || mask != 0 || block.cells()[lane] != 0) return "an unused lane that is not clean";
        continue;
      }
      const unsigned length = static_cast<unsigned>(std::popcount(mask));
      if (mask != mask_of(length) || (start & mask) != start) return "a lane that is no prefix";
      const int position = static_cast<int>(position_of({start, static_cast<uint8_t>(length)}));
      if (position <= last) return "lanes out of order";
      last = position;
    }
    return nullptr;
  }

  const char* children(const Slot& slot, int level) {
    const BlockRef ref = children_of(slot);
    if (ref == 0) return nullptr;
    switch (kind_of(ref)) {
      case kPath:
        return path(ref, level);
      case kFew:
      case kSome:
        return list(ref);
      case kBitmapChildren: {
        const unsigned count = children_.tables().bitmap_count(children_.tables().bitmap(ref));
        if (!mark(ref, bitmap_children_bytes(count)))
          return "a child bitmap that is not one block of its size";
        const bool fits = count > kShrinkBitmapChildrenAt && count <= kMaxBitmapChildren;
        return fits ? nullptr : "a child bitmap of a wrong size";
      }
      case kDirect: {
        if (!mark(ref, kDirectBytes)) return "a direct table that is not one block";
        unsigned count = 0;
        for (unsigned byte = 0; byte < 256; ++byte)
          count += !is_empty(children_.tables().direct_slots(ref)[byte]);
        return count > kShrinkDirectAt ? nullptr : "a direct table that should be smaller";
      }
      default:
        return "children of no known kind";
    }
  }

  const char* path(BlockRef ref, int level) {
    const PathBlock block = children_.path(ref);
    const int end = block.level();
    if (end <= level || end > kBits - 8 || end % 8 != 0) return "a path that leads to no level below";
    if (!mark(ref, path_bytes(end - level))) return "a path that is not one block of its size";
    const Slot& below = block.slot();
    if (below.entries == 0 && kind_of(below.children) == kPath) return "two paths that should be one";
    return nullptr;
  }

  const char* list(BlockRef ref) {
    const ListBlock block = children_.tables().list(ref);
    if (!mark(ref, block.shape.bytes)) return "a child list that is not one block of its size";
    if (block.count() < 2 || block.count() > block.shape.capacity) return "a child list of a wrong size";
    if (kind_of(ref) == kSome && block.count() <= kShrinkSomeAt) return "a child list that should be smaller";
    for (unsigned i = 1; i < block.count(); ++i) {
      if (block.keys()[i - 1] >= block.keys()[i]) return "child keys out of order";
    }
    return nullptr;
  }

  // False when the block cannot be one in use of this size, or was seen before.
  bool mark(BlockRef ref, unsigned bytes) {
    if (!arena_.plausible(ref, bytes)) return false;
    uint8_t& seen = census_.used_units[BlockArena::unit_of(ref)];
    if (seen != 0) return false;
    seen = 1;
    census_.bytes += class_bytes(class_of(bytes));
    return true;
  }

  Entries<Isa> entries_;
  Children<kBits, Isa> children_;
  BlockArena& arena_;
  Census& census_;
};

}  // namespace waypost::kernel_sync::trie
