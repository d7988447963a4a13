// The numbering of the 511 prefixes inside a node (node.h has the formulas and an example), and its tables.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace waypost::kernel_sync::trie {

constexpr unsigned kPositions = 511;
constexpr unsigned kBitmapWords = 8;  // 512 bits, the last one never set

// A prefix inside its node. Bits of start behind length are zero.
struct Place {
  uint8_t start = 0;
  uint8_t length = 0;
};

// `length` ones from the top.
constexpr uint8_t mask_of(unsigned length) {
  return static_cast<uint8_t>(0xff00u >> length);
}

// Formula 1.
constexpr unsigned position_of(Place place) {
  return 2u * place.start + place.length - static_cast<unsigned>(std::popcount(place.start));
}

// Formula 2: the first position behind the prefix and all it contains.
constexpr unsigned subtree_end(Place place) {
  return position_of(place) + (1u << (9 - place.length)) - 1;
}

// The first position whose start is above this byte: byte/8 is the last one that starts with it.
constexpr unsigned position_behind(uint8_t byte) {
  return position_of({byte, 8}) + 1;
}

// Formula 1 backwards.
constexpr std::array<Place, kPositions> make_places() {
  std::array<Place, kPositions> places = {};
  for (unsigned length = 0; length <= 8; ++length) {
    for (unsigned count = 0; count < (1u << length); ++count) {
      const Place place{static_cast<uint8_t>(count << (8 - length)), static_cast<uint8_t>(length)};
      places[position_of(place)] = place;
    }
  }
  return places;
}
inline constexpr std::array<Place, kPositions> kPlaces = make_places();

// For each byte the nine positions that cover it, as a bitmap like a node's.
struct alignas(64) PositionBitmap {
  uint64_t words[kBitmapWords] = {};
};
constexpr std::array<PositionBitmap, 256> make_covering() {
  std::array<PositionBitmap, 256> covering = {};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned length = 0; length <= 8; ++length) {
      const uint8_t start = static_cast<uint8_t>(byte & mask_of(length));
      const unsigned position = position_of({start, static_cast<uint8_t>(length)});
      covering[byte].words[position / 64] |= uint64_t{1} << (position % 64);
    }
  }
  return covering;
}
inline constexpr std::array<PositionBitmap, 256> kCovering = make_covering();

static_assert(position_of({0b0010'0000, 5}) == 68 && subtree_end({0b0010'0000, 5}) == 83,
              "the example of node.h");
static_assert(position_of({0b0010'0101, 8}) == 79 && position_of({255, 8}) == kPositions - 1);

}  // namespace waypost::kernel_sync::trie
