#include "kernel_sync/route_tables.h"

#include <algorithm>

namespace waypost::kernel_sync {
namespace {

constexpr size_t kHeld = kSides;

TrieKey trie_key(const RouteKey& key) {
  return TrieKey{key.prefix, key.tos, key.metric};
}

}  // namespace

RouteTables::RouteTables() = default;

const RouteTables::Tries* RouteTables::tries(const TableKey& table) const {
  if (last_tries_ != nullptr && last_ == table) return last_tries_;
  auto found = tables_.find(table);
  if (found == tables_.end()) return nullptr;
  last_ = table;
  last_tries_ = &found->second;
  return last_tries_;
}

RouteTables::Tries& RouteTables::make_tries(const TableKey& table) {
  if (const Tries* found = tries(table)) return const_cast<Tries&>(*found);
  Tries& made = tables_[table];
  for (TrieId& trie : made) trie = forest(table.family).make_trie();
  return made;
}

SpecId RouteTables::put(Side side, const RouteKey& key, SpecId spec) {
  const TableKey table = table_of(key);
  const TrieId trie = make_tries(table)[static_cast<size_t>(side)];
  const SpecId before = forest(table.family).put(trie, trie_key(key), spec);
  if (before == spec) return before;
  specs_.count(spec, side, table.family, 1);
  if (before != kNoSpec) {
    specs_.count(before, side, table.family, -1);
  } else {
    ++counts_[static_cast<size_t>(side)];
  }
  return before;
}

SpecId RouteTables::erase(Side side, const RouteKey& key) {
  const TableKey table = table_of(key);
  const Tries* found = tries(table);
  if (found == nullptr) return kNoSpec;
  const SpecId before = forest(table.family).erase((*found)[static_cast<size_t>(side)], trie_key(key));
  if (before == kNoSpec) return before;
  specs_.count(before, side, table.family, -1);
  --counts_[static_cast<size_t>(side)];
  return before;
}

SpecId RouteTables::find(Side side, const RouteKey& key) const {
  const TableKey table = table_of(key);
  const Tries* found = tries(table);
  if (found == nullptr) return kNoSpec;
  return forest(table.family).find((*found)[static_cast<size_t>(side)], trie_key(key));
}

void RouteTables::clear(Side side) {
  for (auto& [table, tries] : tables_) {
    TrieForest& all = forest(table.family);
    TrieId& trie = tries[static_cast<size_t>(side)];
    all.walk(trie, nullptr, [&, family = table.family](const Prefix&, const TrieRoutes& routes) {
      for (const TrieRoute& route : routes) specs_.count(route.value, side, family, -1);
      return true;
    });
    all.drop_trie(trie);
    trie = all.make_trie();
  }
  counts_[static_cast<size_t>(side)] = 0;
}

uint64_t RouteTables::count(Side side, const TableKey& table) const {
  const Tries* found = tries(table);
  return found == nullptr ? 0 : forest(table.family).route_count((*found)[static_cast<size_t>(side)]);
}

std::vector<TableKey> RouteTables::tables() const {
  std::vector<TableKey> keys;
  for (const auto& [table, tries] : tables_) keys.push_back(table);
  return keys;
}

bool RouteTables::walk(Side side, const TableKey& table, std::optional<Prefix>* after, size_t limit,
                       std::vector<Row>* rows) const {
  const Tries* found = tries(table);
  if (found == nullptr) return false;
  bool more = false;
  std::optional<Prefix> last;
  forest(table.family)
      .walk((*found)[static_cast<size_t>(side)], *after ? &**after : nullptr,
            [&](const Prefix& prefix, const TrieRoutes& routes) {
              if (rows->size() >= limit) {
                more = true;
                return false;
              }
              for (const TrieRoute& route : routes)
                rows->push_back({RouteKey{table.table, prefix, route.tos, route.metric}, route.value});
              last = prefix;
              return true;
            });
  if (last) *after = last;
  return more;
}

bool RouteTables::diff(Side left, Side right, const TableKey& table, std::optional<Prefix>* after,
                       size_t limit, std::vector<Difference>* differences) const {
  const Tries* found = tries(table);
  if (found == nullptr) return false;
  bool more = false;
  std::optional<Prefix> last;
  auto visit = [&](const TrieDifference& difference) {
    if (differences->size() >= limit) {
      more = true;
      return false;
    }
    // Two short lists in one order: merge them.
    const TrieRoute* a = difference.left.begin();
    const TrieRoute* b = difference.right.begin();
    while (a != difference.left.end() || b != difference.right.end()) {
      Difference row{RouteKey{table.table, difference.prefix, 0, 0}, kNoSpec, kNoSpec};
      const bool take_a =
          a != difference.left.end() &&
          (b == difference.right.end() || std::pair(a->tos, a->metric) <= std::pair(b->tos, b->metric));
      const bool take_b =
          b != difference.right.end() &&
          (a == difference.left.end() || std::pair(b->tos, b->metric) <= std::pair(a->tos, a->metric));
      row.key.tos = take_a ? a->tos : b->tos;
      row.key.metric = take_a ? a->metric : b->metric;
      if (take_a) row.left = (a++)->value;
      if (take_b) row.right = (b++)->value;
      if (row.left != row.right) differences->push_back(row);
    }
    last = difference.prefix;
    return true;
  };
  forest(table.family)
      .diff((*found)[static_cast<size_t>(left)], (*found)[static_cast<size_t>(right)],
            *after ? &**after : nullptr, visit);
  if (last) *after = last;
  return more;
}

std::optional<RouteTables::Row> RouteTables::longest(Side side, TableId table, const IpAddress& address,
                                                     const std::function<bool(SpecId)>& accept) const {
  const Tries* found = tries(TableKey{table, address.family});
  if (found == nullptr) return std::nullopt;
  std::optional<Row> best;
  const Prefix host{address, static_cast<uint8_t>(address_bits(address.family))};
  forest(address.family)
      .covering((*found)[static_cast<size_t>(side)], host,
                [&](const Prefix& prefix, const TrieRoutes& routes) {
                  for (const TrieRoute& route : routes) {
                    if (!accept(route.value)) continue;
                    best = Row{RouteKey{table, prefix, route.tos, route.metric}, route.value};
                    break;
                  }
                  return true;
                });
  return best;
}

void RouteTables::hold(const RouteKey& key) {
  const TableKey table = table_of(key);
  if (forest(table.family).put(make_tries(table)[kHeld], trie_key(key), 0) == kNoValue) ++held_;
}

bool RouteTables::release(const RouteKey& key) {
  if (held_ == 0) return false;
  const TableKey table = table_of(key);
  const Tries* found = tries(table);
  if (found == nullptr || forest(table.family).erase((*found)[kHeld], trie_key(key)) == kNoValue)
    return false;
  --held_;
  return true;
}

bool RouteTables::held(const RouteKey& key) const {
  if (held_ == 0) return false;
  const TableKey table = table_of(key);
  const Tries* found = tries(table);
  return found != nullptr && forest(table.family).find((*found)[kHeld], trie_key(key)) != kNoValue;
}

void RouteTables::release_all() {
  for (auto& [table, tries] : tables_) {
    forest(table.family).drop_trie(tries[kHeld]);
    tries[kHeld] = forest(table.family).make_trie();
  }
  held_ = 0;
}

TrieBytes RouteTables::trie_bytes() const {
  TrieBytes sum;
  for (const TrieBytes& bytes : {v4_.bytes(), v6_.bytes()}) {
    sum.live += bytes.live;
    sum.spans += bytes.spans;
    sum.lists += bytes.lists;
  }
  return sum;
}

}  // namespace waypost::kernel_sync
