// The few inner loops that a processor's vector instructions speed up, twice: PortableIsa for any machine
// and VectorIsa for AVX2 and BMI. Both give the same answers. Everything that uses them is a template on
// the class, instantiated once in engine_portable.cc and once in engine_vector.cc; only the latter is
// compiled for the newer instructions. So nothing here or in the engine may be an ordinary inline function
// that is not forced inline: the linker would keep one copy, perhaps the one an older processor cannot run.
//
// Lanes (entries.h): the answer of a *_lanes function has bit i for lane i < count.
#pragma once

#include <bit>
#include <cstdint>

#include "kernel_sync/trie/preorder.h"
#if defined(__AVX2__) && defined(__BMI2__)
#include <immintrin.h>
#endif

namespace waypost::kernel_sync::trie {

struct PortableIsa {
  // Lanes whose prefix covers the byte.
  static uint32_t covering_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count, uint8_t byte) {
    uint32_t lanes = 0;
    for (unsigned i = 0; i < count; ++i) lanes |= uint32_t{(byte & masks[i]) == starts[i]} << i;
    return lanes;
  }
  // The lane that is exactly this prefix.
  static uint32_t equal_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count, uint8_t start,
                              uint8_t mask) {
    uint32_t lanes = 0;
    for (unsigned i = 0; i < count; ++i) lanes |= uint32_t{starts[i] == start && masks[i] == mask} << i;
    return lanes;
  }
  // Lanes in use: the others are start 1, mask 0.
  static uint32_t used_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count) {
    uint32_t lanes = 0;
    for (unsigned i = 0; i < count; ++i) lanes |= uint32_t{(starts[i] & masks[i]) == starts[i]} << i;
    return lanes;
  }
  // Used lanes before this prefix in the order of positions.
  static uint32_t below_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count, uint8_t start,
                              uint8_t mask) {
    uint32_t lanes = 0;
    for (unsigned i = 0; i < count; ++i) {
      const bool below = starts[i] < start || (starts[i] == start && masks[i] < mask);
      lanes |= uint32_t{below} << i;
    }
    return lanes & used_lanes(starts, masks, count);
  }
  // The highest set position of the bitmap that covers the byte, or -1.
  static int highest_covering(const uint64_t* bitmap, uint8_t byte) {
    const uint64_t* covering = kCovering[byte].words;
    for (int word = kBitmapWords - 1; word >= 0; --word) {
      const uint64_t bits = bitmap[word] & covering[word];
      if (bits != 0) return word * 64 + 63 - std::countl_zero(bits);
    }
    return -1;
  }
  // Set bits below this one, of a bitmap of kWords words.
  template <unsigned kWords>
  static unsigned rank(const uint64_t* bitmap, unsigned bit) {
    unsigned below = static_cast<unsigned>(std::popcount(bitmap[bit / 64] & ((uint64_t{1} << bit % 64) - 1)));
    for (unsigned word = 0; word < bit / 64; ++word) {
      below += static_cast<unsigned>(std::popcount(bitmap[word]));
    }
    return below;
  }
  template <unsigned kWords>
  static unsigned count(const uint64_t* bitmap) {
    unsigned ones = 0;
    for (unsigned word = 0; word < kWords; ++word) ones += static_cast<unsigned>(std::popcount(bitmap[word]));
    return ones;
  }
  // The index of the byte among the first `count` (at most 15) keys, or -1.
  static int find_key(const uint8_t* keys, unsigned count, uint8_t byte) {
    for (unsigned i = 0; i < count; ++i) {
      if (keys[i] == byte) return static_cast<int>(i);
    }
    return -1;
  }
};

#if defined(__AVX2__) && defined(__BMI2__)

// Reads 16 bytes from each pointer whatever the count: the arena has slack for it, and lanes at or
// behind count are masked off.
struct VectorIsa {
  static __m128i load(const uint8_t* bytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  }
  static __m128i all(uint8_t byte) { return _mm_set1_epi8(static_cast<char>(byte)); }
  static uint32_t lanes_of(__m128i hits, unsigned count) {
    return _bzhi_u32(static_cast<uint32_t>(_mm_movemask_epi8(hits)), count);
  }

  static uint32_t covering_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count, uint8_t byte) {
    return lanes_of(_mm_cmpeq_epi8(_mm_and_si128(all(byte), load(masks)), load(starts)), count);
  }
  static uint32_t equal_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count, uint8_t start,
                              uint8_t mask) {
    const __m128i same_start = _mm_cmpeq_epi8(load(starts), all(start));
    return lanes_of(_mm_and_si128(same_start, _mm_cmpeq_epi8(load(masks), all(mask))), count);
  }
  static uint32_t used_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count) {
    const __m128i start = load(starts);
    return lanes_of(_mm_cmpeq_epi8(_mm_and_si128(start, load(masks)), start), count);
  }
  static uint32_t below_lanes(const uint8_t* starts, const uint8_t* masks, unsigned count, uint8_t start,
                              uint8_t mask) {
    const __m128i lane_start = load(starts);
    const __m128i lane_mask = load(masks);
    const __m128i same_start = _mm_cmpeq_epi8(lane_start, all(start));
    const __m128i not_above = _mm_cmpeq_epi8(_mm_min_epu8(lane_start, all(start)), lane_start);
    const __m128i same_mask = _mm_cmpeq_epi8(lane_mask, all(mask));
    const __m128i mask_not_above = _mm_cmpeq_epi8(_mm_min_epu8(lane_mask, all(mask)), lane_mask);
    const __m128i shorter = _mm_andnot_si128(same_mask, mask_not_above);
    const __m128i below = _mm_blendv_epi8(not_above, shorter, same_start);
    const __m128i used = _mm_cmpeq_epi8(_mm_and_si128(lane_start, lane_mask), lane_start);
    return lanes_of(_mm_and_si128(below, used), count);
  }
  static int highest_covering(const uint64_t* bitmap, uint8_t byte) {
    const uint64_t* covering = kCovering[byte].words;
    const unsigned low = empty_words(bitmap, covering);
    const unsigned high = empty_words(bitmap + 4, covering + 4);
    const unsigned filled = (high << 4 | low) ^ 0xff;
    if (filled == 0) return -1;
    const unsigned word = 31 - _lzcnt_u32(filled);
    return static_cast<int>(word * 64 + 63 - _lzcnt_u64(bitmap[word] & covering[word]));
  }
  template <unsigned kWords>
  static unsigned rank(const uint64_t* bitmap, unsigned bit) {
    // All words are counted, those behind the bit's masked to nothing: cheaper than a loop whose end the
    // processor cannot foresee.
    static constexpr uint64_t kWholeWords[16] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};
    const unsigned word = bit / 64;
    const uint64_t* whole = kWholeWords + 8 - word;
    unsigned below = count_word(_bzhi_u64(bitmap[word], bit % 64));
    for (unsigned i = 0; i < kWords; ++i) below += count_word(bitmap[i] & whole[i]);
    return below;
  }
  template <unsigned kWords>
  static unsigned count(const uint64_t* bitmap) {
    unsigned ones = 0;
    for (unsigned word = 0; word < kWords; ++word) ones += count_word(bitmap[word]);
    return ones;
  }
  static int find_key(const uint8_t* keys, unsigned count, uint8_t byte) {
    const uint32_t lanes = lanes_of(_mm_cmpeq_epi8(load(keys), all(byte)), count);
    return lanes == 0 ? -1 : static_cast<int>(_tzcnt_u32(lanes));
  }

 private:
  static unsigned count_word(uint64_t word) { return static_cast<unsigned>(_mm_popcnt_u64(word)); }
  // Bit i: the two have nothing in common in word i of four.
  static unsigned empty_words(const uint64_t* left, const uint64_t* right) {
    const __m256i common = _mm256_and_si256(_mm256_load_si256(reinterpret_cast<const __m256i*>(left)),
                                            _mm256_load_si256(reinterpret_cast<const __m256i*>(right)));
    const __m256i empty = _mm256_cmpeq_epi64(common, _mm256_setzero_si256());
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(empty)));
  }
};

#endif

}  // namespace waypost::kernel_sync::trie
