// What the cells of a trie mean: a value, or a list of routes that all prefixes with equal lists share.
//
//     cell = value                      value < kFirstIndirectValue, one route of tos 0 and the usual metric
//          | kFirstIndirectValue + i    list i
//          | kNoCell                    nothing
//
// Lists are interned: equal routes have equal cells, whatever the prefix or the trie. So tries of one forest
// can be compared cell by cell, and a table in which every route has metric 20 costs one list per value.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernel_sync/trie/node.h"
#include "kernel_sync/trie/prefix_trie.h"

namespace waypost::kernel_sync::trie {

constexpr Cell kFirstListCell = kFirstIndirectValue;

constexpr bool is_list(Cell cell) {
  return cell >= kFirstListCell && cell != kNoCell;
}

class RouteLists {
 public:
  explicit RouteLists(uint32_t usual_metric) : usual_metric_(usual_metric) {}

  // The routes behind a cell, or none.
  TrieRoutes routes(Cell cell) const {
    if (cell == kNoCell) return {};
    if (!is_list(cell)) return TrieRoutes(TrieRoute{0, usual_metric_, cell});
    const List& list = lists_[cell - kFirstListCell];
    return {list.routes.data(), static_cast<uint32_t>(list.routes.size())};
  }

  // The cell of these routes: not empty, ordered by (tos, metric), no key twice. A list has one more user
  // then.
  Cell acquire(std::span<const TrieRoute> routes);
  // One user less of the cell's list, if it is one; the last one takes it along.
  void release(Cell cell);

  size_t bytes() const;
  size_t list_count() const { return lists_.size() - free_.size(); }
  // Users of the cell's list. For check().
  size_t users(Cell cell) const { return lists_[cell - kFirstListCell].users; }
  bool exists(Cell cell) const { return cell - kFirstListCell < lists_.size() && users(cell) > 0; }

 private:
  struct List {
    std::vector<TrieRoute> routes;
    uint64_t hash = 0;
    size_t users = 0;
  };

  uint32_t usual_metric_;
  std::vector<List> lists_;
  std::vector<uint32_t> free_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
};

}  // namespace waypost::kernel_sync::trie
