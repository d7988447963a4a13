// What can be done with one trie in an arena, as a table of functions: filled once from the portable code and
// once from the vector code, and chosen when a forest is made.
#pragma once

#include "kernel_sync/trie/arena.h"
#include "kernel_sync/trie/difference.h"
#include "kernel_sync/trie/inspect.h"
#include "kernel_sync/trie/lookup.h"
#include "kernel_sync/trie/update.h"
#include "kernel_sync/trie/walk.h"

namespace waypost::kernel_sync::trie {

// Keys are integers without host bits, length <= kBits, cells are not kNoCell. The classes that each function
// names say the rest.
template <int kBits>
struct Engine {
  using Key = Address<kBits>;
  using After = const Bound<kBits>*;

  Cell (*put)(BlockArena&, Slot& root, Key, int length, Cell);                                 // Update
  Cell (*take)(BlockArena&, Slot& root, Key, int length, Cell bound);                          // Update
  void (*clear)(BlockArena&, Slot& root);                                                      // Update
  Cell (*find)(BlockArena&, const Slot& root, Key, int length);                                // Lookup
  Found<kBits> (*longest)(BlockArena&, const Slot& root, Key);                                 // Lookup
  void (*covering)(BlockArena&, const Slot& root, Key, int length, FoundVisitor<kBits>);       // Lookup
  bool (*walk)(BlockArena&, const Slot& root, After, FoundVisitor<kBits>);                     // Walk
  bool (*within)(BlockArena&, const Slot& root, Key, int length, After, FoundVisitor<kBits>);  // Walk
  bool (*diff)(BlockArena&, const Slot&, const Slot&, After, FoundDifferenceVisitor<kBits>);   // Difference
  Fault<kBits> (*inspect)(BlockArena&, const Slot& root, Census&);                             // Inspect
};

// nullptr from vector_engine: this build or this processor has none.
template <int kBits>
const Engine<kBits>* portable_engine();
template <int kBits>
const Engine<kBits>* vector_engine();

template <int kBits, class Isa>
constexpr Engine<kBits> make_engine() {
  using Key = Address<kBits>;
  using After = const Bound<kBits>*;
  using Visit = FoundVisitor<kBits>;
  using DiffVisit = FoundDifferenceVisitor<kBits>;
  return {
      .put = [](BlockArena& arena, Slot& root, Key key, int length,
                Cell cell) { return Update<kBits, Isa>(arena).put(root, key, length, cell); },
      .take = [](BlockArena& arena, Slot& root, Key key, int length,
                 Cell bound) { return Update<kBits, Isa>(arena).take(root, key, length, bound); },
      .clear = [](BlockArena& arena, Slot& root) { Update<kBits, Isa>(arena).clear(root); },
      .find = [](BlockArena& arena, const Slot& root, Key key,
                 int length) { return Lookup<kBits, Isa>(arena).find(root, key, length); },
      .longest = [](BlockArena& arena, const Slot& root,
                    Key address) { return Lookup<kBits, Isa>(arena).longest(root, address); },
      .covering = [](BlockArena& arena, const Slot& root, Key key, int length,
                     Visit visit) { Lookup<kBits, Isa>(arena).covering(root, key, length, visit); },
      .walk = [](BlockArena& arena, const Slot& root, After after,
                 Visit visit) { return Walk<kBits, Isa>(arena).all(root, after, visit); },
      .within = [](BlockArena& arena, const Slot& root, Key key, int length, After after,
                   Visit visit) { return Walk<kBits, Isa>(arena).within(root, key, length, after, visit); },
      .diff = [](BlockArena& arena, const Slot& left, const Slot& right, After after,
                 DiffVisit visit) { return Difference<kBits, Isa>(arena).all(left, right, after, visit); },
      .inspect = [](BlockArena& arena, const Slot& root,
                    Census& census) { return Inspect<kBits, Isa>(arena, census).trie(root); },
  };
}

}  // namespace waypost::kernel_sync::trie
