// The stupid trie that the real one is compared with: an ordered map and a probe for every length.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kernel_sync/trie/prefix_trie.h"

namespace waypost::kernel_sync {

inline IpAddress first_bits_of(IpAddress address, int length) {
  for (int bit = length; bit < address_bits(address.family); ++bit) {
    address.bytes[static_cast<size_t>(bit) / 8] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
  }
  return address;
}

inline bool holds(const Prefix& outer, const Prefix& inner) {
  return outer.length <= inner.length && first_bits_of(inner.address, outer.length) == outer.address;
}

// The code paths that this processor can run.
inline std::vector<TrieCode> all_codes() {
  if (!TrieForest::has_vector_code()) return {TrieCode::kPortable};
  return {TrieCode::kPortable, TrieCode::kVector};
}

// One prefix with its routes, copied out of a trie or of the oracle.
struct Row {
  Prefix prefix;
  std::vector<TrieRoute> routes;

  bool operator==(const Row&) const = default;
};

struct DifferenceRow {
  Prefix prefix;
  std::vector<TrieRoute> left;
  std::vector<TrieRoute> right;

  bool operator==(const DifferenceRow&) const = default;
};

inline std::vector<TrieRoute> copy(const TrieRoutes& routes) {
  return {routes.begin(), routes.end()};
}

class TrieOracle {
 public:
  TrieValue put(const TrieKey& key, TrieValue value) {
    const auto [place, is_new] = routes_.try_emplace(key, value);
    const TrieValue old = is_new ? kNoValue : place->second;
    place->second = value;
    return old;
  }
  TrieValue erase(const TrieKey& key) {
    const auto place = routes_.find(key);
    if (place == routes_.end()) return kNoValue;
    const TrieValue old = place->second;
    routes_.erase(place);
    return old;
  }
  TrieValue find(const TrieKey& key) const {
    const auto place = routes_.find(key);
    return place == routes_.end() ? kNoValue : place->second;
  }
  std::vector<TrieRoute> find_prefix(const Prefix& prefix) const {
    std::vector<TrieRoute> routes;
    for (auto it = routes_.lower_bound({prefix, 0, 0}); it != routes_.end() && it->first.prefix == prefix;
         ++it) {
      routes.push_back({it->first.tos, it->first.metric, it->second});
    }
    return routes;
  }
  std::vector<Row> covering(const Prefix& prefix) const {
    std::vector<Row> rows;
    for (int length = 0; length <= prefix.length; ++length) {
      const Prefix probe{first_bits_of(prefix.address, length), static_cast<uint8_t>(length)};
      const std::vector<TrieRoute> routes = find_prefix(probe);
      if (!routes.empty()) rows.push_back({probe, routes});
    }
    return rows;
  }
  std::optional<Row> longest_match(const IpAddress& address) const {
    const std::vector<Row> rows = covering({address, static_cast<uint8_t>(address_bits(address.family))});
    if (rows.empty()) return std::nullopt;
    return rows.back();
  }
  // All prefixes behind `after`, or all.
  std::vector<Row> walk(const Prefix* after) const {
    std::vector<Row> rows;
    for (const auto& [key, value] : routes_) {
      if (after != nullptr && key.prefix <= *after) continue;
      if (rows.empty() || rows.back().prefix != key.prefix) rows.push_back({key.prefix, {}});
      rows.back().routes.push_back({key.tos, key.metric, value});
    }
    return rows;
  }
  std::vector<Row> subtree(const Prefix& prefix, const Prefix* after) const {
    std::vector<Row> rows = walk(after);
    std::erase_if(rows, [&](const Row& row) { return !holds(prefix, row.prefix); });
    return rows;
  }
  std::vector<DifferenceRow> diff(const TrieOracle& right, const Prefix* after) const {
    std::map<Prefix, DifferenceRow> rows;
    for (const Row& row : walk(after)) rows[row.prefix].left = row.routes;
    for (const Row& row : right.walk(after)) rows[row.prefix].right = row.routes;
    std::vector<DifferenceRow> different;
    for (auto& [prefix, row] : rows) {
      if (row.left != row.right) different.push_back({prefix, row.left, row.right});
    }
    return different;
  }
  size_t size() const { return routes_.size(); }
  const std::map<TrieKey, TrieValue>& routes() const { return routes_; }

 private:
  std::map<TrieKey, TrieValue> routes_;
};

// The same questions asked of a forest, answers copied out. At most `limit` rows.
inline std::vector<Row> walk_rows(const TrieForest& forest, TrieId trie, const Prefix* after,
                                  size_t limit = SIZE_MAX) {
  std::vector<Row> rows;
  forest.walk(trie, after, [&](const Prefix& prefix, const TrieRoutes& routes) {
    rows.push_back({prefix, copy(routes)});
    return rows.size() < limit;
  });
  return rows;
}
inline std::vector<Row> subtree_rows(const TrieForest& forest, TrieId trie, const Prefix& within,
                                     const Prefix* after, size_t limit = SIZE_MAX) {
  std::vector<Row> rows;
  forest.subtree(trie, within, after, [&](const Prefix& prefix, const TrieRoutes& routes) {
    rows.push_back({prefix, copy(routes)});
    return rows.size() < limit;
  });
  return rows;
}
inline std::vector<Row> covering_rows(const TrieForest& forest, TrieId trie, const Prefix& of) {
  std::vector<Row> rows;
  forest.covering(trie, of, [&](const Prefix& prefix, const TrieRoutes& routes) {
    rows.push_back({prefix, copy(routes)});
    return true;
  });
  return rows;
}
inline std::vector<DifferenceRow> diff_rows(const TrieForest& forest, TrieId left, TrieId right,
                                            const Prefix* after, size_t limit = SIZE_MAX) {
  std::vector<DifferenceRow> rows;
  forest.diff(left, right, after, [&](const TrieDifference& difference) {
    rows.push_back({difference.prefix, copy(difference.left), copy(difference.right)});
    return rows.size() < limit;
  });
  return rows;
}

// GoogleTest prints a mismatch with these; prefixes as bytes, so that nothing but the trie is needed.
inline void print_prefix(const Prefix& prefix, std::ostream* out) {
  for (const uint8_t byte : prefix.address.used()) *out << int{byte} << '.';
  *out << '/' << int{prefix.length};
}
inline void PrintTo(const Row& row, std::ostream* out) {
  print_prefix(row.prefix, out);
  for (const TrieRoute& route : row.routes) {
    *out << " tos " << int{route.tos} << " metric " << route.metric << " value " << route.value;
  }
}
inline void PrintTo(const DifferenceRow& row, std::ostream* out) {
  PrintTo(Row{row.prefix, row.left}, out);
  *out << " |";
  PrintTo(Row{row.prefix, row.right}, out);
}

}  // namespace waypost::kernel_sync
