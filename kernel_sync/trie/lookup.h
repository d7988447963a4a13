// The three ways to read one spot of a trie: exact, longest match, and everything that covers a prefix.
#pragma once

#include "kernel_sync/trie/children.h"
#include "kernel_sync/trie/entries.h"
#include "kernel_sync/trie/function_ref.h"

namespace waypost::kernel_sync::trie {

// The place of a prefix inside its node, which is at level_of(length).
template <int kBits>
constexpr Place place_of(Address<kBits> key, int length) {
  const int level = level_of(length);
  return {byte_at<kBits>(key, level), static_cast<uint8_t>(length - level)};
}

// One prefix of a trie. Bits of key behind length are zero.
template <int kBits>
struct Found {
  Address<kBits> key = 0;
  int length = 0;
  Cell cell = kNoCell;
};

template <int kBits>
constexpr Found<kBits> found_at(Address<kBits> base, int level, Place place, Cell cell) {
  return {base | byte_at_level<kBits>(place.start, level), level + place.length, cell};
}

// Return false to stop.
template <int kBits>
using FoundVisitor = FunctionRef<bool(const Found<kBits>&)>;

template <int kBits, class Isa>
class Lookup {
 public:
  using Key = Address<kBits>;

  explicit Lookup(BlockArena& arena) : entries_(arena), children_(arena) {}

  Cell find(const Slot& root, Key key, int length) const {
    const int target = level_of(length);
    const Slot* slot = &root;
    for (int level = 0; level < target;) {
      slot = children_.down(*slot, key, level, target);
      if (slot == nullptr) return kNoCell;
    }
    return entries_.find(*slot, place_of<kBits>(key, length));
  }

  // The longest prefix that contains the address; its cell is kNoCell when there is none.
  Found<kBits> longest(const Slot& root, Key address) const {
    // On the way down only the nodes are noted and their blocks asked for: the last one usually matches.
    const Slot* nodes[kBits / 8];
    uint8_t levels[kBits / 8];
    unsigned depth = 0;
    const Slot* slot = &root;
    for (int level = 0; slot != nullptr;) {
      if (slot->entries != 0) {
        entries_.prefetch(*slot, byte_at<kBits>(address, level));
        nodes[depth] = slot;
        levels[depth++] = static_cast<uint8_t>(level);
      }
      if (children_of(*slot) == 0) break;
      slot = children_.down(*slot, address, level, kBits - 8);
    }
    while (depth-- > 0) {
      const int level = levels[depth];
      const EntryMatch match = entries_.longest(*nodes[depth], byte_at<kBits>(address, level));
      if (match.cell == kNoCell) continue;
      return found_at<kBits>(first_bits<kBits>(address, level), level, kPlaces[match.position], match.cell);
    }
    return {};
  }

  // The prefixes that contain key/length, itself included, shortest first.
  void covering(const Slot& root, Key key, int length, FoundVisitor<kBits> visit) const {
    const int target = level_of(length);
    const Slot* slot = &root;
    int level = 0;
    while (slot != nullptr) {
      // At most nine places of a node cover a byte: probing them costs less than telling the kinds apart.
      const int last = length - level < 8 ? length - level : 8;
      for (int bits = level == 0 ? 0 : 1; bits <= last && slot->entries != 0; ++bits) {
        const uint8_t start =
            static_cast<uint8_t>(byte_at<kBits>(key, level) & mask_of(static_cast<unsigned>(bits)));
        const Place place{start, static_cast<uint8_t>(bits)};
        const Cell cell = entries_.find(*slot, place);
        if (cell == kNoCell) continue;
        if (!visit(found_at<kBits>(first_bits<kBits>(key, level), level, place, cell))) return;
      }
      if (level >= target) return;
      slot = children_.down(*slot, key, level, target);
    }
  }

 private:
  Entries<Isa> entries_;
  Children<kBits, Isa> children_;
};

}  // namespace waypost::kernel_sync::trie
