// Reading a trie in order, from a bound on and within a prefix. A node's entries come before its children of
// the same byte: they are shorter, and where they begin at the same address the shorter comes first.
#pragma once

#include "kernel_sync/trie/cursors.h"
#include "kernel_sync/trie/lookup.h"

namespace waypost::kernel_sync::trie {

// A walk goes on behind this prefix; it need not be in the trie.
template <int kBits>
struct Bound {
  Address<kBits> key = 0;
  int length = 0;
};

enum class Reach { kBefore, kAround, kBehind };

template <int kBits, class Isa>
class Walk {
 public:
  using Key = Address<kBits>;
  using Visit = FoundVisitor<kBits>;

  explicit Walk(BlockArena& arena) : entries_(arena), children_(arena) {}

  // All prefixes behind `after`, or all. False when the visitor stopped it.
  bool all(const Slot& root, const Bound<kBits>* after, Visit visit) const {
    return below({&root, 0, 0}, after, visit);
  }

  // The same of what key/length contains, itself included.
  bool within(const Slot& root, Key key, int length, const Bound<kBits>* after, Visit visit) const {
    if (after != nullptr) {
      const bool before = after->key < key || (after->key == key && after->length < length);
      if (before) {
        after = nullptr;
      } else if (first_bits<kBits>(after->key, length) != key) {
        return true;
      }
    }
    const int target = level_of(length);
    Node<kBits> node{&root, 0, 0};
    while (node.level < target) {
      const ChildCursor<kBits, Isa> child = child_at(node, byte_at<kBits>(key, node.level));
      if (child.done()) return true;
      node = child.node();
      // A way that goes past the target lies wholly inside or wholly outside.
      if (node.level > target)
        return first_bits<kBits>(node.base, length) != key || below(node, after, visit);
      if (node.base != first_bits<kBits>(key, node.level)) return true;
    }
    const Place place = place_of<kBits>(key, length);
    NodeRange range{position_of(place), subtree_end(place), place.start,
                    place.start + (1u << (8 - place.length))};
    if (after != nullptr) {
      const NodeRange behind = range_behind(node.level, *after);
      range.first_position = std::max(range.first_position, behind.first_position);
      range.first_byte = std::max(range.first_byte, behind.first_byte);
    }
    return range_of(node, range, after, visit);
  }

  // The node and all below it.
  bool below(const Node<kBits>& node, const Bound<kBits>* after, Visit visit) const {
    if (after == nullptr) return range_of(node, {}, nullptr, visit);
    switch (reach_of(node, *after)) {
      case Reach::kBefore:
        return true;
      case Reach::kBehind:
        return range_of(node, {}, nullptr, visit);
      case Reach::kAround:
        break;
    }
    return range_of(node, range_behind(node.level, *after), after, visit);
  }

  // Where what is below a node lies: all of it at or before the bound, all behind it, or the bound among it.
  static Reach reach_of(const Node<kBits>& node, const Bound<kBits>& bound) {
    const Key bound_base = first_bits<kBits>(bound.key, node.level);
    if (node.base < bound_base) return Reach::kBefore;
    if (node.base > bound_base || node.level > level_of(bound.length)) return Reach::kBehind;
    return Reach::kAround;
  }

  // What of a node that is kAround the bound is behind it; a child of the first byte may still be around it.
  static NodeRange range_behind(int level, const Bound<kBits>& bound) {
    NodeRange range;
    if (level < level_of(bound.length)) {
      range.first_byte = byte_at<kBits>(bound.key, level);
      range.first_position = position_behind(static_cast<uint8_t>(range.first_byte));
    } else {
      const Place place = place_of<kBits>(bound.key, bound.length);
      range.first_byte = place.start;
      range.first_position = position_of(place) + 1;
    }
    return range;
  }

 private:
  ChildCursor<kBits, Isa> child_at(const Node<kBits>& node, unsigned byte) const {
    NodeRange range;
    range.first_byte = byte;
    range.end_byte = byte + 1;
    return ChildCursor<kBits, Isa>(children_, node, range);
  }

  // The bound, if any, is among what is below the node.
  bool range_of(const Node<kBits>& node, const NodeRange& range, const Bound<kBits>* after,
                Visit visit) const {
    if (is_inline(*node.slot)) {
      // One entry and no children, which most IPv6 nodes are.
      const unsigned position = node.slot->entries >> kKindBits;
      if (position < range.first_position || position >= range.end_position) return true;
      return visit(found_at<kBits>(node.base, node.level, kPlaces[position], node.slot->children));
    }
    EntryCursor<Isa> entry(entries_, *node.slot, range);
    if (node.slot->children == 0) return entries_before(node, kPositions, entry, visit);
    for (ChildCursor<kBits, Isa> child(children_, node, range); !child.done(); child.next()) {
      const uint8_t byte = static_cast<uint8_t>(child.byte());
      if (!entries_before(node, position_behind(byte), entry, visit)) return false;
      if (!below(child.node(), after, visit)) return false;
    }
    return entries_before(node, kPositions, entry, visit);
  }

  bool entries_before(const Node<kBits>& node, unsigned end, EntryCursor<Isa>& entry, Visit visit) const {
    return entry.drain(end, [&](unsigned position, Cell cell) {
      return visit(found_at<kBits>(node.base, node.level, kPlaces[position], cell));
    });
  }

  Entries<Isa> entries_;
  Children<kBits, Isa> children_;
};

}  // namespace waypost::kernel_sync::trie
