// A forest of one address width: the tries, their arena, their lists, and what turns a prefix into an
// integer. Only prefix_trie.cc, which chooses between the two widths, includes it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "kernel_sync/trie/engine.h"
#include "kernel_sync/trie/prefix_trie.h"
#include "kernel_sync/trie/route_lists.h"
#include "model/check.h"

namespace waypost::kernel_sync::trie {

constexpr uint64_t swap_to_host(uint64_t big) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(big) : big;
}
constexpr uint32_t swap_to_host(uint32_t big) {
  return std::endian::native == std::endian::little ? __builtin_bswap32(big) : big;
}

template <int kBits>
Address<kBits> to_integer(const IpAddress& address) {
  if constexpr (kBits == 32) {
    uint32_t word;
    std::memcpy(&word, address.bytes.data(), sizeof word);
    return swap_to_host(word);
  } else {
    uint64_t words[2];
    std::memcpy(words, address.bytes.data(), sizeof words);
    return Uint128{swap_to_host(words[0])} << 64 | swap_to_host(words[1]);
  }
}

template <int kBits>
Prefix to_prefix(Address<kBits> key, int length) {
  Prefix prefix;
  if constexpr (kBits == 32) {
    prefix.address.family = Family::kIpv4;
    const uint32_t word = swap_to_host(key);
    std::memcpy(prefix.address.bytes.data(), &word, sizeof word);
  } else {
    prefix.address.family = Family::kIpv6;
    const uint64_t words[2] = {swap_to_host(static_cast<uint64_t>(key >> 64)),
                               swap_to_host(static_cast<uint64_t>(key))};
    std::memcpy(prefix.address.bytes.data(), words, sizeof words);
  }
  prefix.length = static_cast<uint8_t>(length);
  return prefix;
}

template <int kBits>
class TypedForest {
 public:
  static constexpr Family kFamily = kBits == 32 ? Family::kIpv4 : Family::kIpv6;

  explicit TypedForest(TrieCode code) : engine_(choose(code)), lists_(usual_metric(kFamily)) {}

  TrieId make_trie();
  void drop_trie(TrieId id);
  TrieValue put(TrieId id, const TrieKey& key, TrieValue value);
  TrieValue erase(TrieId id, const TrieKey& key);
  TrieValue find(TrieId id, const TrieKey& key) const;

  TrieRoutes find_prefix(TrieId id, const Prefix& prefix) const {
    return lists_.routes(engine_->find(arena_, trie(id).root, integer(prefix), prefix.length));
  }
  std::optional<TrieMatch> longest_match(TrieId id, const IpAddress& address) const {
    WAYPOST_CHECK(address.family == kFamily, "an address of the other family");
    const Found<kBits> found = engine_->longest(arena_, trie(id).root, to_integer<kBits>(address));
    if (found.cell == kNoCell) return std::nullopt;
    return TrieMatch{to_prefix<kBits>(found.key, found.length), lists_.routes(found.cell)};
  }
  void covering(TrieId id, const Prefix& prefix, TrieVisitor visit) const {
    engine_->covering(arena_, trie(id).root, integer(prefix), prefix.length, translate(visit));
  }
  void walk(TrieId id, const Prefix* after, TrieVisitor visit) const {
    const Bound<kBits> bound = bound_of(after);
    engine_->walk(arena_, trie(id).root, after == nullptr ? nullptr : &bound, translate(visit));
  }
  void subtree(TrieId id, const Prefix& prefix, const Prefix* after, TrieVisitor visit) const {
    const Bound<kBits> bound = bound_of(after);
    engine_->within(arena_, trie(id).root, integer(prefix), prefix.length,
                    after == nullptr ? nullptr : &bound, translate(visit));
  }
  void diff(TrieId left, TrieId right, const Prefix* after, TrieDifferenceVisitor visit) const {
    const Bound<kBits> bound = bound_of(after);
    engine_->diff(arena_, trie(left).root, trie(right).root, after == nullptr ? nullptr : &bound,
                  [&](const FoundDifference<kBits>& found) {
                    return visit({to_prefix<kBits>(found.key, found.length), lists_.routes(found.left),
                                  lists_.routes(found.right)});
                  });
  }

  size_t prefix_count(TrieId id) const { return trie(id).prefixes; }
  size_t route_count(TrieId id) const { return trie(id).routes; }
  TrieBytes bytes() const {
    return {arena_.live_bytes(), arena_.span_bytes(), arena_.pool_bytes(), lists_.bytes()};
  }
  Status check() const;

 private:
  using Key = Address<kBits>;

  struct Trie {
    Slot root;
    size_t prefixes = 0;
    size_t routes = 0;
    bool in_use = false;
  };

  static const Engine<kBits>* choose(TrieCode code) {
    const Engine<kBits>* const vector = vector_engine<kBits>();
    WAYPOST_CHECK(code != TrieCode::kVector || vector != nullptr, "this processor has no vector code");
    return code == TrieCode::kPortable || vector == nullptr ? portable_engine<kBits>() : vector;
  }

  Trie& trie(TrieId id) {
    WAYPOST_CHECK(id.value() < tries_.size() && tries_[id.value()].in_use, "no such trie");
    return tries_[id.value()];
  }
  const Trie& trie(TrieId id) const { return const_cast<TypedForest*>(this)->trie(id); }

  static Key integer(const Prefix& prefix) {
    const Key key = to_integer<kBits>(prefix.address);
    WAYPOST_CHECK(prefix.address.family == kFamily && prefix.length <= kBits, "a prefix of the other family");
    WAYPOST_CHECK(first_bits<kBits>(key, prefix.length) == key, "a prefix with host bits");
    return key;
  }
  static Bound<kBits> bound_of(const Prefix* after) {
    return after == nullptr ? Bound<kBits>{} : Bound<kBits>{integer(*after), after->length};
  }
  bool is_usual(const TrieKey& key) const { return key.tos == 0 && key.metric == usual_metric(kFamily); }
  auto translate(const TrieVisitor& visit) const {
    return [this, &visit](const Found<kBits>& found) {
      return visit(to_prefix<kBits>(found.key, found.length), lists_.routes(found.cell));
    };
  }
  // The place of (tos, metric) among the prefix's routes, which are copied to scratch_.
  std::vector<TrieRoute>::iterator unpack(Cell cell, const TrieKey& key);
  TrieValue put_into_list(Trie& trie, const TrieKey& key, TrieValue value, Cell old_cell);

  const Engine<kBits>* engine_;
  // The engine's readers change nothing in it.
  mutable BlockArena arena_;
  RouteLists lists_;
  std::vector<Trie> tries_;
  std::vector<uint32_t> free_tries_;
  std::vector<TrieRoute> scratch_;
};

template <int kBits>
TrieId TypedForest<kBits>::make_trie() {
  uint32_t index = static_cast<uint32_t>(tries_.size());
  if (free_tries_.empty()) {
    tries_.emplace_back();
  } else {
    index = free_tries_.back();
    free_tries_.pop_back();
  }
  tries_[index].in_use = true;
  return TrieId(index);
}

template <int kBits>
void TypedForest<kBits>::drop_trie(TrieId id) {
  Trie& dropped = trie(id);
  if (lists_.list_count() > 0) {
    engine_->walk(arena_, dropped.root, nullptr, [this](const Found<kBits>& found) {
      lists_.release(found.cell);
      return true;
    });
  }
  engine_->clear(arena_, dropped.root);
  dropped = {};
  free_tries_.push_back(id.value());
}

template <int kBits>
TrieValue TypedForest<kBits>::put(TrieId id, const TrieKey& key, TrieValue value) {
  WAYPOST_CHECK(value != kNoValue, "the value that means none cannot be stored");
  Trie& changed = trie(id);
  const Key address = integer(key.prefix);
  if (!is_usual(key) || value >= kFirstIndirectValue) {
    return put_into_list(changed, key, value,
                         engine_->find(arena_, changed.root, address, key.prefix.length));
  }
  // Nearly every route: one way down, and the cell is the value.
  const Cell old_cell = engine_->put(arena_, changed.root, address, key.prefix.length, value);
  if (is_list(old_cell)) return put_into_list(changed, key, value, old_cell);
  if (old_cell == kNoCell) {
    ++changed.prefixes;
    ++changed.routes;
  }
  return old_cell;
}

template <int kBits>
TrieValue TypedForest<kBits>::put_into_list(Trie& changed, const TrieKey& key, TrieValue value,
                                            Cell old_cell) {
  const auto place = unpack(old_cell, key);
  TrieValue old_value = kNoValue;
  if (place != scratch_.end() && place->tos == key.tos && place->metric == key.metric) {
    old_value = place->value;
    place->value = value;
  } else {
    scratch_.insert(place, {key.tos, key.metric, value});
    ++changed.routes;
  }
  if (old_cell == kNoCell) ++changed.prefixes;
  const Cell cell = lists_.acquire(scratch_);
  engine_->put(arena_, changed.root, integer(key.prefix), key.prefix.length, cell);
  lists_.release(old_cell);
  return old_value;
}

template <int kBits>
TrieValue TypedForest<kBits>::erase(TrieId id, const TrieKey& key) {
  Trie& changed = trie(id);
  const Key address = integer(key.prefix);
  const int length = key.prefix.length;
  const Cell old_cell = is_usual(key) ? engine_->take(arena_, changed.root, address, length, kFirstListCell)
                                      : engine_->find(arena_, changed.root, address, length);
  if (!is_list(old_cell)) {
    // A plain cell is the route of the usual metric and no other.
    if (old_cell == kNoCell || !is_usual(key)) return kNoValue;
    --changed.prefixes;
    --changed.routes;
    return old_cell;
  }
  const auto place = unpack(old_cell, key);
  if (place == scratch_.end() || place->tos != key.tos || place->metric != key.metric) return kNoValue;
  const TrieValue old_value = place->value;
  scratch_.erase(place);
  --changed.routes;
  if (scratch_.empty()) {
    engine_->take(arena_, changed.root, address, length, kNoCell);
    --changed.prefixes;
  } else {
    engine_->put(arena_, changed.root, address, length, lists_.acquire(scratch_));
  }
  lists_.release(old_cell);
  return old_value;
}

template <int kBits>
TrieValue TypedForest<kBits>::find(TrieId id, const TrieKey& key) const {
  const Cell cell = engine_->find(arena_, trie(id).root, integer(key.prefix), key.prefix.length);
  if (!is_list(cell)) return is_usual(key) ? cell : kNoValue;
  for (const TrieRoute& route : lists_.routes(cell)) {
    if (route.tos == key.tos && route.metric == key.metric) return route.value;
  }
  return kNoValue;
}

template <int kBits>
std::vector<TrieRoute>::iterator TypedForest<kBits>::unpack(Cell cell, const TrieKey& key) {
  const TrieRoutes routes = lists_.routes(cell);
  scratch_.assign(routes.begin(), routes.end());
  return std::find_if(scratch_.begin(), scratch_.end(), [&key](const TrieRoute& route) {
    return route.tos > key.tos || (route.tos == key.tos && route.metric >= key.metric);
  });
}

template <int kBits>
Status TypedForest<kBits>::check() const {
  std::vector<uint8_t> used_units(arena_.unit_count());
  Census census{used_units.data()};
  std::vector<size_t> users;
  for (size_t index = 0; index < tries_.size(); ++index) {
    const Trie& checked = tries_[index];
    const std::string name = "trie " + std::to_string(index);
    const size_t prefixes_before = census.prefixes;
    const Fault<kBits> fault = engine_->inspect(arena_, checked.root, census);
    if (fault.what != nullptr) {
      return Error{
          ErrorCode::kCorruption,
          name + ", node " + to_string(to_prefix<kBits>(fault.base, fault.level)) + ": " + fault.what};
    }
    size_t routes = 0;
    const char* what = nullptr;
    engine_->walk(arena_, checked.root, nullptr, [&](const Found<kBits>& found) {
      if (is_list(found.cell) && !lists_.exists(found.cell)) {
        what = "a cell that names no list";
        return false;
      }
      if (is_list(found.cell)) {
        const size_t list = found.cell - kFirstListCell;
        if (users.size() <= list) users.resize(list + 1);
        ++users[list];
      }
      routes += lists_.routes(found.cell).size();
      return true;
    });
    if (what == nullptr && census.prefixes - prefixes_before != checked.prefixes)
      what = "prefixes miscounted";
    if (what == nullptr && routes != checked.routes) what = "routes miscounted";
    if (what != nullptr) return Error{ErrorCode::kCorruption, name + ": " + what};
  }
  size_t lists_seen = 0;
  for (size_t list = 0; list < users.size(); ++list) {
    if (users[list] == 0) continue;
    ++lists_seen;
    if (users[list] != lists_.users(static_cast<Cell>(kFirstListCell + list))) {
      return Error{ErrorCode::kCorruption, "list " + std::to_string(list) + " of routes: users miscounted"};
    }
  }
  if (lists_seen != lists_.list_count())
    return Error{ErrorCode::kCorruption, "a list of routes without users"};
  if (census.bytes != arena_.live_bytes()) {
    return Error{ErrorCode::kCorruption, "blocks lost: " + std::to_string(arena_.live_bytes()) +
                                             " bytes are taken, " + std::to_string(census.bytes) + " found"};
  }
  return {};
}

}  // namespace waypost::kernel_sync::trie
