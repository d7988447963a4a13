// What a trie is made of. Start here: the picture, the two formulas, an example; then the names of the parts.
//
// THE PICTURE. A node decides one byte of the address. It is a slot and the two blocks that the slot points
// to:
//
//                          +---------+----------+
//                 a slot   | entries | children |   8 bytes
//                          +----|----+----|-----+
//                    .----------'         '-----------.
//                    v                                v
//     +-----------------------------+  +-----------------------------+
//     | which of 511 prefixes of    |  | which of 256 bytes go on,   |
//     | this byte are routes, and   |  | and for each of them a slot |---> the nodes below
//     | for each of them a cell     |  |                             |
//     +-----------------------------+  +-----------------------------+
//
// A node of level T (0, 8, 16, ...: the bits above it) holds every prefix of lengths T+1 .. T+8 that begins
// with its T bits. Prefix k/L is in the node of level ((L-1)/8)*8, so 10.32.0.0/13 is in the level 8 node
// "10" and 10.1.2.0/24 in the level 16 node "10.1", beside its /17 .. /23: a /24 needs no node of its own.
// Only the default route has length 0, in the root. What is stored for a prefix is a cell of 32 bits.
//
// Inside a node a prefix is (start, length): its byte with the bits behind `length` zero, and 0 <= length
// <= 8. There are 1 + 2 + 4 + ... + 256 = 511 of them, numbered as a reader meets them going down the binary
// tree, left before right, a prefix before what it contains:
//
//     FORMULA 1        position = 2 * start + length - ones(start)
//     FORMULA 2        the prefix and all it contains = [position, position + 2^(9 - length) - 1)
//
// (Going down, a step to the left adds 1. A step to the right, by a bit of weight w, jumps over the 2w - 1
// prefixes of the left half and so adds 2w. There are ones(start) steps to the right; their weights sum to
// start.) Ascending positions are ascending (address, length): the order of the store. So cells kept by
// position are in iteration order, a subtree is one stretch, and the longest match is the highest bit that is
// set both in the node's bitmap and in the nine positions that cover the byte.
//
// THE EXAMPLE. Looking up byte 37 in the node that holds 0-/1, 00100-/5 and 001001-/6:
//
//     byte 37 = 00100101      length   start           ones   position     set here
//               ........           0       0              0          0
//               0.......           1       0              0          1      yes
//               00......           2       0              0          2
//               001.....           3      32              1         66
//               0010....           4      32              1         67
//               00100...           5      32              1         68      yes    its subtree: [68, 83)
//               001001..           6      36              2         76      yes <- the longest match
//               0010010.           7      36              2         77
//               00100101           8      37              3         79
//
//     The bitmap's bits 1, 68 and 76 are set. 76 is the highest that covers 37, and two set bits are below
//     it, so the answer is cells[2].
//
// ENTRIES come in three kinds, chosen by how many there are:
//   inline  exactly one, and no children: its position is in the slot's `entries`, its cell in `children`.
//   small   2, 5, 8, 10, 13 or 16 lanes, ordered by position:     start[n]  mask[n]  cell[n]
//           mask has `length` ones; a lane covers byte b when (b & mask) == start. An unused lane is start 1,
//           mask 0, cell 0: it covers nothing, is equal to nothing, and needs no count to be told apart.
//   bitmap  64 bytes with one bit a position, then the cells of the set bits.
// CHILDREN come in five kinds:
//   path    one child at any deeper level: its slot, its level, and the bytes on the way there.
//   few     up to 5 and some: up to 14: sorted bytes, their number, and the slots in the same order.
//   bitmap  up to 96: 32 bytes with one bit a byte, then the slots of the set bits.
//   direct  256 slots; an empty slot is no child.
//
// INVARIANTS (check() reads them all): an empty trie is one empty slot. Below the root no slot is empty, and
// one without entries has at least two children or stands in a table of children. A table has at least two.
// One entry without children is inline, and nothing else is. Unused bytes of a small block are as above.
#pragma once

#include <cstdint>

namespace waypost::kernel_sync::trie {

// Where a block is and of which kind: (offset in the arena / 16) << 3 | kind. Zero is no block.
using BlockRef = uint32_t;
constexpr unsigned kKindBits = 3;

// A node. When `entries` is inline, `children` is the cell: read children only through children_of.
struct Slot {
  BlockRef entries = 0;
  BlockRef children = 0;

  bool operator==(const Slot&) const = default;
};
static_assert(sizeof(Slot) == 8);

// What is stored for one prefix, and "nothing is".
using Cell = uint32_t;
constexpr Cell kNoCell = 0xffff'ffff;

// Kinds 0..5 are the small shapes of entries.h.
constexpr unsigned kSmallKinds = 6;
constexpr unsigned kBitmapEntries = 6;
constexpr unsigned kInlineEntry = 7;

enum ChildKind : unsigned { kPath = 0, kFew = 1, kSome = 2, kBitmapChildren = 3, kDirect = 4 };

constexpr unsigned kind_of(BlockRef ref) {
  return ref & ((1u << kKindBits) - 1);
}
constexpr bool is_inline(const Slot& slot) {
  return kind_of(slot.entries) == kInlineEntry;
}
constexpr BlockRef children_of(const Slot& slot) {
  return is_inline(slot) ? 0 : slot.children;
}
constexpr bool is_empty(const Slot& slot) {
  return slot.entries == 0 && slot.children == 0;
}

}  // namespace waypost::kernel_sync::trie
