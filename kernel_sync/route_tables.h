// The routes of every side in tries: one per (table, family, side), all of a family in one forest, so that
// two sides of a table can be compared block by block. Values are specs, and their users are counted on the
// way. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernel_sync/route_spec.h"
#include "kernel_sync/trie/prefix_trie.h"
#include "model/route.h"

namespace waypost::kernel_sync {

struct TableKey {
  TableId table = kMainTable;
  Family family = Family::kIpv4;

  auto operator<=>(const TableKey&) const = default;
};

inline TableKey table_of(const RouteKey& key) {
  return TableKey{key.table, key.prefix.family()};
}

class RouteTables {
 public:
  RouteTables();

  // Returns what was there, or kNoSpec.
  SpecId put(Side side, const RouteKey& key, SpecId spec);
  SpecId erase(Side side, const RouteKey& key);
  SpecId find(Side side, const RouteKey& key) const;
  // Empties a side, in all tables.
  void clear(Side side);

  uint64_t count(Side side) const { return counts_[static_cast<size_t>(side)]; }
  uint64_t count(Side side, const TableKey& table) const;
  std::vector<TableKey> tables() const;

  // Up to `limit` routes of a side in order, behind `after`; *after is moved on. False when none was left.
  struct Row {
    RouteKey key;
    SpecId spec = kNoSpec;
  };
  bool walk(Side side, const TableKey& table, std::optional<Prefix>* after, size_t limit,
            std::vector<Row>* rows) const;
  // The keys on which two sides differ, in order, up to about `limit`. *after is moved on. False when none
  // was left.
  struct Difference {
    RouteKey key;
    SpecId left = kNoSpec;
    SpecId right = kNoSpec;
  };
  bool diff(Side left, Side right, const TableKey& table, std::optional<Prefix>* after, size_t limit,
            std::vector<Difference>* differences) const;
  // The longest prefix over `address` whose routes satisfy `accept`.
  std::optional<Row> longest(Side side, TableId table, const IpAddress& address,
                             const std::function<bool(SpecId)>& accept) const;

  // Sweeping of a route that the store lacks is held (SEMANTICS.md B4).
  void hold(const RouteKey& key);
  bool release(const RouteKey& key);
  bool held(const RouteKey& key) const;
  void release_all();
  uint64_t held_count() const { return held_; }

  SpecTable& specs() { return specs_; }
  const SpecTable& specs() const { return specs_; }
  TrieBytes trie_bytes() const;

 private:
  // The last trie holds the held keys.
  using Tries = std::array<TrieId, kSides + 1>;
  const Tries* tries(const TableKey& table) const;
  Tries& make_tries(const TableKey& table);
  TrieForest& forest(Family family) { return family == Family::kIpv4 ? v4_ : v6_; }
  const TrieForest& forest(Family family) const { return family == Family::kIpv4 ? v4_ : v6_; }

  TrieForest v4_{Family::kIpv4};
  TrieForest v6_{Family::kIpv6};
  std::map<TableKey, Tries> tables_;
  mutable TableKey last_;  // routes come sorted: the table of one is mostly that of the one before
  mutable const Tries* last_tries_ = nullptr;
  SpecTable specs_;
  std::array<uint64_t, kSides> counts_ = {};
  uint64_t held_ = 0;
};

}  // namespace waypost::kernel_sync
