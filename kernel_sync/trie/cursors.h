// Reading the entries and the children of a node in order, whatever their kind.
#pragma once

#include "kernel_sync/trie/children.h"
#include "kernel_sync/trie/entries.h"

namespace waypost::kernel_sync::trie {

// A node with what the way to it says: its level and the address bits above it.
template <int kBits>
struct Node {
  const Slot* slot = nullptr;
  Address<kBits> base = 0;
  int level = 0;
};

// What of a node is read: entries by position, children by byte; the ends are not included.
struct NodeRange {
  unsigned first_position = 0;
  unsigned end_position = kPositions;
  unsigned first_byte = 0;
  unsigned end_byte = 256;
};

template <class Isa>
class EntryCursor {
 public:
  EntryCursor(const Entries<Isa>& entries, const Slot& slot, const NodeRange& range = {})
      : end_(range.end_position) {
    const BlockRef ref = slot.entries;
    if (ref == 0) return;
    if (kind_of(ref) == kBitmapEntries) {
      open_bitmap(entries, ref, range.first_position);
    } else if (kind_of(ref) == kInlineEntry) {
      inline_cell_ = slot.children;
      cell_ = &inline_cell_;
      set(ref >> kKindBits);
      if (position_ < range.first_position) position_ = kPositions;
    } else {
      const SmallBlock block = entries.small(ref);
      lanes_ = Isa::used_lanes(block.starts(), block.masks(), block.shape.lanes);
      small_ = block;
      cell_ = block.cells();
      set(small_position());
      while (!done() && position_ < range.first_position) next();
    }
  }

  // An inline cell is pointed at inside.
  EntryCursor(const EntryCursor&) = delete;
  EntryCursor& operator=(const EntryCursor&) = delete;

  bool done() const { return position_ == kPositions; }
  // kPositions when done: behind every entry, so that two cursors can be merged without asking.
  unsigned position() const { return position_; }
  Cell cell() const { return *cell_; }
  void finish() { position_ = kPositions; }

  // Calls act(position, cell) for the entries before `end`. False when it returned false, and the cursor
  // is of no more use then. In a bitmap, where nearly all entries are, the state stays in registers.
  template <typename Do>
  bool drain(unsigned end, Do&& act) {
    if (bitmap_ == nullptr) {
      for (; position_ < end; next()) {
        if (!act(position_, *cell_)) return false;
      }
      return true;
    }
    if (end > end_) end = end_;
    const Cell* cell = cell_;
    uint64_t rest = rest_;
    unsigned word = word_;
    unsigned position = position_;
    while (position < end) {
      if (!act(position, *cell++)) return false;
      rest &= rest - 1;
      while (rest == 0 && ++word < kBitmapWords) rest = bitmap_[word];
      position = rest == 0 ? kPositions : word * 64 + static_cast<unsigned>(std::countr_zero(rest));
    }
    cell_ = cell;
    rest_ = rest;
    word_ = word;
    set(position);
    return true;
  }

  void next() {
    ++cell_;
    if (bitmap_ != nullptr) {
      rest_ &= rest_ - 1;
      set(bitmap_position());
    } else {
      lanes_ >>= 1;
      ++lane_;
      set(small_position());
    }
  }

 private:
  void set(unsigned position) { position_ = position < end_ ? position : kPositions; }

  void open_bitmap(const Entries<Isa>& entries, BlockRef ref, unsigned first) {
    bitmap_ = entries.bitmap(ref);
    cell_ = entries.bitmap_cells(ref);
    if (first != 0) cell_ += Isa::template rank<kBitmapWords>(bitmap_, first);
    word_ = first / 64;
    rest_ = bitmap_[word_] & (~uint64_t{0} << first % 64);
    set(bitmap_position());
  }
  unsigned bitmap_position() {
    while (rest_ == 0) {
      if (++word_ == kBitmapWords) return kPositions;
      rest_ = bitmap_[word_];
    }
    return word_ * 64 + static_cast<unsigned>(std::countr_zero(rest_));
  }
  // An inline entry has no lanes, so it is the last of its node.
  unsigned small_position() const {
    if ((lanes_ & 1) == 0) return kPositions;
    const uint8_t length = static_cast<uint8_t>(std::popcount(small_.masks()[lane_]));
    return position_of({small_.starts()[lane_], length});
  }

  unsigned position_ = kPositions;
  unsigned end_;
  const Cell* cell_ = nullptr;
  const uint64_t* bitmap_ = nullptr;
  uint64_t rest_ = 0;  // the bits of the current word from the position on
  unsigned word_ = 0;
  unsigned lane_ = 0;
  uint32_t lanes_ = 0;
  SmallBlock small_ = {};
  Cell inline_cell_ = kNoCell;
};

template <int kBits, class Isa>
class ChildCursor {
 public:
  using Key = Address<kBits>;

  ChildCursor(const Children<kBits, Isa>& children, const Node<kBits>& node, const NodeRange& range = {})
      : ref_(children_of(*node.slot)), end_(range.end_byte), node_(node) {
    if (ref_ == 0) return;
    switch (kind_of(ref_)) {
      case kPath: {
        const PathBlock path = children.path(ref_);
        const int way_bits = path.level() - node.level;
        const Key way = first_bits<kBits>(children.load_way(path.way()), way_bits) >> node.level;
        node_ = {&path.slot(), node.base | way, path.level()};
        set(path.way()[0]);
        if (byte_ < range.first_byte) byte_ = kNone;
        return;
      }
      case kDirect:
        slots_ = children.tables().direct_slots(ref_);
        index_ = range.first_byte;
        set(direct_byte());
        return;
      case kBitmapChildren:
        bitmap_ = children.tables().bitmap(ref_);
        slots_ = children.tables().bitmap_slots(ref_);
        rest_ = bitmap_[0];
        set(bitmap_byte());
        break;
      default: {
        const ListBlock list = children.tables().list(ref_);
        keys_ = list.keys();
        slots_ = list.slots();
        count_ = list.count();
        set(keys_[0]);
      }
    }
    while (!done() && byte_ < range.first_byte) next();
  }
  // Of a place on the way to a deeper node: that node is its only child.
  ChildCursor(const Node<kBits>& onward, int level)
      : byte_(byte_at<kBits>(onward.base, level)), end_(kNone), node_(onward) {}

  bool done() const { return byte_ == kNone; }
  // kNone when done: behind every byte.
  unsigned byte() const { return byte_; }
  Node<kBits> node() const {
    if (slots_ == nullptr) return node_;
    const uint8_t byte = static_cast<uint8_t>(byte_);
    return {slots_ + index_, node_.base | byte_at_level<kBits>(byte, node_.level), node_.level + 8};
  }
  void next() {
    ++index_;
    if (slots_ == nullptr) {
      byte_ = kNone;
    } else if (keys_ != nullptr) {
      set(index_ < count_ ? keys_[index_] : kNone);
    } else if (bitmap_ != nullptr) {
      rest_ &= rest_ - 1;
      set(bitmap_byte());
    } else {
      set(direct_byte());
    }
  }
  // Skips children below this byte.
  void skip_to(unsigned byte) {
    while (!done() && byte_ < byte) next();
  }

 private:
  static constexpr unsigned kNone = 256;

  void set(unsigned byte) { byte_ = byte < end_ ? byte : kNone; }
  unsigned bitmap_byte() {
    while (rest_ == 0) {
      if (++word_ == 4) return kNone;
      rest_ = bitmap_[word_];
    }
    return word_ * 64 + static_cast<unsigned>(std::countr_zero(rest_));
  }
  unsigned direct_byte() {
    while (index_ < 256 && is_empty(slots_[index_])) ++index_;
    return index_;
  }

  unsigned byte_ = kNone;
  BlockRef ref_ = 0;
  unsigned end_;
  unsigned index_ = 0;
  unsigned count_ = 0;
  unsigned word_ = 0;
  uint64_t rest_ = 0;
  const uint64_t* bitmap_ = nullptr;
  const uint8_t* keys_ = nullptr;
  const Slot* slots_ = nullptr;
  Node<kBits> node_;  // the parent, or the child itself when there is a path
};

}  // namespace waypost::kernel_sync::trie
