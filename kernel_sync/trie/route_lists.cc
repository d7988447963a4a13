#include "kernel_sync/trie/route_lists.h"

#include <algorithm>

#include "model/check.h"

namespace waypost::kernel_sync::trie {

namespace {

// The largest number of lists that cells can name.
constexpr size_t kMaxLists = kNoCell - kFirstListCell;

uint64_t hash_of(std::span<const TrieRoute> routes) {
  uint64_t hash = 0;
  for (const TrieRoute& route : routes) {
    for (const uint64_t part : {uint64_t{route.metric} << 8 | route.tos, uint64_t{route.value}}) {
      hash = (hash ^ part) * 0x9e37'79b9'7f4a'7c15;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

}  // namespace

Cell RouteLists::acquire(std::span<const TrieRoute> routes) {
  const TrieRoute& first = routes.front();
  if (routes.size() == 1 && first.tos == 0 && first.metric == usual_metric_ && first.value < kFirstListCell) {
    return first.value;
  }
  const uint64_t hash = hash_of(routes);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    List& list = lists_[it->second];
    if (!std::equal(routes.begin(), routes.end(), list.routes.begin(), list.routes.end())) continue;
    ++list.users;
    return kFirstListCell + it->second;
  }
  uint32_t index = static_cast<uint32_t>(lists_.size());
  if (free_.empty()) {
    WAYPOST_CHECK(lists_.size() < kMaxLists, "a billion different lists of routes");
    lists_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  lists_[index] = {{routes.begin(), routes.end()}, hash, 1};
  by_hash_.emplace(hash, index);
  return kFirstListCell + index;
}

void RouteLists::release(Cell cell) {
  if (!is_list(cell)) return;
  const uint32_t index = cell - kFirstListCell;
  List& list = lists_[index];
  WAYPOST_CHECK(list.users > 0, "a list of routes was released once too often");
  if (--list.users > 0) return;
  const auto [begin, end] = by_hash_.equal_range(list.hash);
  by_hash_.erase(std::find_if(begin, end, [index](const auto& entry) { return entry.second == index; }));
  list = {};
  free_.push_back(index);
}

size_t RouteLists::bytes() const {
  // A node of the map holds its link, the hash, and the pair.
  constexpr size_t kNodeBytes = 4 * sizeof(void*);
  size_t bytes = lists_.capacity() * sizeof(List) + free_.capacity() * sizeof(uint32_t);
  bytes += by_hash_.size() * kNodeBytes + by_hash_.bucket_count() * sizeof(void*);
  for (const List& list : lists_) bytes += list.routes.capacity() * sizeof(TrieRoute);
  return bytes;
}

}  // namespace waypost::kernel_sync::trie
