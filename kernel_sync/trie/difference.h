// Reading two tries of one arena side by side and reporting the prefixes on which they differ. Where both
// have equal blocks a comparison of bytes settles it; equal content in blocks of different kinds (which
// depend on what was there before) is merged like any other.
#pragma once

#include <algorithm>

#include "kernel_sync/trie/walk.h"

namespace waypost::kernel_sync::trie {

// One prefix on which two tries differ: kNoCell where it is absent.
template <int kBits>
struct FoundDifference {
  Address<kBits> key = 0;
  int length = 0;
  Cell left = kNoCell;
  Cell right = kNoCell;
};

// Return false to stop.
template <int kBits>
using FoundDifferenceVisitor = FunctionRef<bool(const FoundDifference<kBits>&)>;

template <int kBits, class Isa>
class Difference {
 public:
  using Visit = FoundDifferenceVisitor<kBits>;

  explicit Difference(BlockArena& arena) : entries_(arena), children_(arena), walk_(arena), arena_(arena) {}

  // In order, from behind `after` on, or all. False when the visitor stopped it.
  bool all(const Slot& left, const Slot& right, const Bound<kBits>* after, Visit visit) const {
    return pair({&left, 0, 0}, {&right, 0, 0}, after, visit);
  }

 private:
  static constexpr Slot kNoEntries = {};

  // What is below two nodes that start with the same byte behind their common parent's level.
  bool pair(const Node<kBits>& left, const Node<kBits>& right, const Bound<kBits>* after, Visit visit) const {
    const int level = std::min(left.level, right.level);
    const Address<kBits> base = first_bits<kBits>(left.base, level);
    if (base != first_bits<kBits>(right.base, level)) {
      if (left.base < right.base) return one(left, true, after, visit) && one(right, false, after, visit);
      return one(right, false, after, visit) && one(left, true, after, visit);
    }
    // The shallower of the two holds the other, which from its level looks like one child.
    const Node<kBits> shallow = left.level <= right.level ? left : right;
    NodeRange range;
    if (after != nullptr) {
      const Reach reach = walk_.reach_of(shallow, *after);
      if (reach == Reach::kBefore) return true;
      if (reach == Reach::kBehind) after = nullptr;
      if (reach == Reach::kAround) range = walk_.range_behind(level, *after);
    }
    return merge(left, right, shallow, range, after, visit);
  }

  bool merge(const Node<kBits>& left, const Node<kBits>& right, const Node<kBits>& place,
             const NodeRange& range, const Bound<kBits>* after, Visit visit) const {
    const bool left_here = left.level == place.level;
    const bool right_here = right.level == place.level;
    const Slot& left_slot = left_here ? *left.slot : kNoEntries;
    const Slot& right_slot = right_here ? *right.slot : kNoEntries;
    const bool same = same_entries(left_slot, right_slot);
    if (same && left_here && right_here && children_of(left_slot) == 0 && children_of(right_slot) == 0)
      return true;
    EntryCursor<Isa> left_entry(entries_, left_slot, range);
    EntryCursor<Isa> right_entry(entries_, right_slot, range);
    if (same) {
      left_entry.finish();
      right_entry.finish();
    }
    using Cursor = ChildCursor<kBits, Isa>;
    Cursor left_child = left_here ? Cursor(children_, left, range) : Cursor(left, place.level);
    Cursor right_child = right_here ? Cursor(children_, right, range) : Cursor(right, place.level);
    left_child.skip_to(range.first_byte);
    right_child.skip_to(range.first_byte);
    while (!left_child.done() || !right_child.done()) {
      const unsigned byte = std::min(left_child.byte(), right_child.byte());
      const unsigned end = position_behind(static_cast<uint8_t>(byte));
      if (!entries_before(place, end, left_entry, right_entry, visit)) return false;
      const bool in_left = left_child.byte() == byte;
      const bool in_right = right_child.byte() == byte;
      if (in_left && in_right) {
        if (!pair(left_child.node(), right_child.node(), after, visit)) return false;
      } else if (!one(in_left ? left_child.node() : right_child.node(), in_left, after, visit)) {
        return false;
      }
      if (in_left) left_child.next();
      if (in_right) right_child.next();
    }
    return entries_before(place, kPositions, left_entry, right_entry, visit);
  }

  bool entries_before(const Node<kBits>& place, unsigned end, EntryCursor<Isa>& left, EntryCursor<Isa>& right,
                      Visit visit) const {
    for (;;) {
      const unsigned position = std::min(left.position(), right.position());
      if (position >= end) return true;
      Cell left_cell = kNoCell;
      Cell right_cell = kNoCell;
      if (left.position() == position) {
        left_cell = left.cell();
        left.next();
      }
      if (right.position() == position) {
        right_cell = right.cell();
        right.next();
      }
      if (left_cell == right_cell) continue;
      const Found<kBits> found = found_at<kBits>(place.base, place.level, kPlaces[position], left_cell);
      if (!visit({found.key, found.length, left_cell, right_cell})) return false;
    }
  }

  // What only one of the two has.
  bool one(const Node<kBits>& node, bool is_left, const Bound<kBits>* after, Visit visit) const {
    return walk_.below(node, after, [&](const Found<kBits>& found) {
      return visit({found.key, found.length, is_left ? found.cell : kNoCell, is_left ? kNoCell : found.cell});
    });
  }

  // True only when they are; false also where telling takes a merge.
  bool same_entries(const Slot& left, const Slot& right) const {
    const unsigned kind = kind_of(left.entries);
    if (kind == kInlineEntry || left.entries == 0) return left.entries == right.entries && left == right;
    if (kind != kind_of(right.entries) || right.entries == 0) return false;
    if (kind < kSmallKinds) {
      return std::memcmp(arena_.at(left.entries), arena_.at(right.entries), kSmallShapes[kind].bytes) == 0;
    }
    const uint64_t* left_bits = entries_.bitmap(left.entries);
    const uint64_t* right_bits = entries_.bitmap(right.entries);
    if (std::memcmp(left_bits, right_bits, 64) != 0) return false;
    const unsigned count = Isa::template count<kBitmapWords>(left_bits);
    return std::memcmp(left_bits, right_bits, bitmap_entries_bytes(count)) == 0;
  }

  Entries<Isa> entries_;
  Children<kBits, Isa> children_;
  Walk<kBits, Isa> walk_;
  BlockArena& arena_;
};

}  // namespace waypost::kernel_sync::trie
