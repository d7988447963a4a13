// Rows by nexthop id, ordered and compact: ids are mostly dense, so 256 neighbours share a page of a bitmap
// and a packed array. A row costs its own size and about a byte; an id on its own costs a page (80 bytes).
// A reference to a row is good until the next put or erase. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/named_type.h"

namespace waypost::kernel_sync {

template <typename Row>
class IdTable {
 public:
  const Row* find(NexthopId id) const {
    auto page = pages_.find(id.value() >> 8);
    if (page == pages_.end() || !page->second.has(id.value() & 255)) return nullptr;
    return &page->second.rows[page->second.rank(id.value() & 255)];
  }
  Row* find(NexthopId id) { return const_cast<Row*>(std::as_const(*this).find(id)); }

  // The row of this id; a new one is Row().
  Row& put(NexthopId id) {
    Page& page = pages_[id.value() >> 8];
    const uint32_t slot = id.value() & 255;
    const size_t rank = page.rank(slot);
    if (!page.has(slot)) {
      page.bits[slot >> 6] |= uint64_t{1} << (slot & 63);
      page.rows.insert(page.rows.begin() + static_cast<std::ptrdiff_t>(rank), Row());
      ++size_;
    }
    return page.rows[rank];
  }

  bool erase(NexthopId id) {
    auto page = pages_.find(id.value() >> 8);
    const uint32_t slot = id.value() & 255;
    if (page == pages_.end() || !page->second.has(slot)) return false;
    page->second.rows.erase(page->second.rows.begin() + static_cast<std::ptrdiff_t>(page->second.rank(slot)));
    page->second.bits[slot >> 6] &= ~(uint64_t{1} << (slot & 63));
    if (page->second.rows.empty()) pages_.erase(page);
    --size_;
    return true;
  }

  // In order of ids, from the first that is at least `from`. visit(NexthopId, Row&) returns false to stop; it
  // may change the row, but not put or erase.
  template <typename Visit>
  void walk(NexthopId from, Visit&& visit) const {
    for (auto page = pages_.lower_bound(from.value() >> 8); page != pages_.end(); ++page) {
      size_t rank = 0;
      for (uint32_t word = 0; word < 4; ++word) {
        for (uint64_t bits = page->second.bits[word]; bits != 0; bits &= bits - 1, ++rank) {
          const NexthopId id(page->first << 8 | word << 6 | static_cast<uint32_t>(std::countr_zero(bits)));
          if (id >= from && !visit(id, page->second.rows[rank])) return;
        }
      }
    }
  }
  template <typename Visit>
  void walk(NexthopId from, Visit&& visit) {
    std::as_const(*this).walk(from,
                              [&](NexthopId id, const Row& row) { return visit(id, const_cast<Row&>(row)); });
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    pages_.clear();
    size_ = 0;
  }
  // An estimate.
  size_t bytes() const { return pages_.size() * 112 + size_ * sizeof(Row); }

 private:
  struct Page {
    std::array<uint64_t, 4> bits = {};
    std::vector<Row> rows;

    bool has(uint32_t slot) const { return (bits[slot >> 6] >> (slot & 63) & 1) != 0; }
    size_t rank(uint32_t slot) const {
      size_t below = 0;
      for (uint32_t word = 0; word < slot >> 6; ++word)
        below += static_cast<size_t>(std::popcount(bits[word]));
      const uint64_t mask = (uint64_t{1} << (slot & 63)) - 1;
      return below + static_cast<size_t>(std::popcount(bits[slot >> 6] & mask));
    }
  };
  std::map<uint32_t, Page> pages_;
  size_t size_ = 0;
};

// A set of ids, ordered; a dense stretch costs a bit an id.
class IdSet {
 public:
  bool insert(NexthopId id) {
    uint64_t& word = pages_[id.value() >> 10][id.value() >> 6 & 15];
    const uint64_t bit = uint64_t{1} << (id.value() & 63);
    if ((word & bit) != 0) return false;
    word |= bit;
    ++size_;
    return true;
  }
  bool erase(NexthopId id) {
    auto page = pages_.find(id.value() >> 10);
    if (page == pages_.end()) return false;
    uint64_t& word = page->second[id.value() >> 6 & 15];
    const uint64_t bit = uint64_t{1} << (id.value() & 63);
    if ((word & bit) == 0) return false;
    word &= ~bit;
    if (std::all_of(page->second.begin(), page->second.end(), [](uint64_t rest) { return rest == 0; }))
      pages_.erase(page);
    --size_;
    return true;
  }
  bool contains(NexthopId id) const {
    auto page = pages_.find(id.value() >> 10);
    return page != pages_.end() && (page->second[id.value() >> 6 & 15] >> (id.value() & 63) & 1) != 0;
  }
  // The smallest id that is at least `from`.
  std::optional<NexthopId> first(NexthopId from = NexthopId(0)) const {
    for (auto page = pages_.lower_bound(from.value() >> 10); page != pages_.end(); ++page) {
      const bool cut = page->first == from.value() >> 10;
      for (uint32_t word = cut ? from.value() >> 6 & 15 : 0; word < 16; ++word) {
        uint64_t bits = page->second[word];
        if (cut && word == (from.value() >> 6 & 15)) bits &= ~uint64_t{0} << (from.value() & 63);
        if (bits != 0)
          return NexthopId(page->first << 10 | word << 6 | static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
    return std::nullopt;
  }
  std::optional<NexthopId> after(NexthopId id) const {
    return id.value() == UINT32_MAX ? std::nullopt : first(id.next());
  }
  std::optional<NexthopId> pop() {
    std::optional<NexthopId> id = first();
    if (id) erase(*id);
    return id;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    pages_.clear();
    size_ = 0;
  }

 private:
  std::map<uint32_t, std::array<uint64_t, 16>> pages_;
  size_t size_ = 0;
};

}  // namespace waypost::kernel_sync
