// The routes of one address family in memory: any number of tries (one per kernel table and side),
// all in one arena. The syncer keeps "desired" and "installed" in them; the trie knows nothing of
// nexthops or netlink. What a trie looks like inside: trie/node.h, which opens with the picture.
//
// Threads: a forest belongs to one thread. Callbacks must not change the forest they are called from.
//
// Keys.   A route is (trie, prefix, tos, metric); host bits of the prefix must be zero. Routes are ordered
//         by (address, length, tos, metric), the order of the store's keys.
// Values. Any u32 but kNoValue. Most cost four bytes and nothing else: a prefix with one route of tos 0 and
//         the family's usual metric whose value is below kFirstIndirectValue. Everything else (another
//         metric, several routes on one prefix, a scratch nexthop id) is four bytes plus a list of routes
//         that all prefixes with equal lists share, so that a whole table of metric 20 stays as small.
// Cost.   put, erase and find take the length of the prefix in bytes, never the number of neighbours: at
//         most 4 (IPv4) or 16 (IPv6) nodes, and in each at most one move of 2 KiB.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "kernel_sync/trie/function_ref.h"
#include "model/ip.h"
#include "model/named_type.h"
#include "model/result.h"
#include "model/route.h"

namespace waypost::kernel_sync {

using TrieValue = uint32_t;
constexpr TrieValue kNoValue = 0xffff'ffff;
// Values from here on are taken, but through a shared list. Clients' and interned nexthop ids are below
// (limits::kLastInternedId), scratch ids are not.
constexpr TrieValue kFirstIndirectValue = 0xc000'0000;

// One trie of a forest; made by make_trie, reused after drop_trie.
using TrieId = NamedType<struct TrieIdTag, uint32_t>;

struct TrieKey {
  Prefix prefix;
  uint8_t tos = 0;
  uint32_t metric = 0;

  auto operator<=>(const TrieKey&) const = default;
};

// One route of a prefix.
struct TrieRoute {
  uint8_t tos = 0;
  uint32_t metric = 0;
  TrieValue value = kNoValue;

  bool operator==(const TrieRoute&) const = default;
};

// The routes of one prefix, in the order of (tos, metric); empty when there are none. A small value to be
// looked at at once: it may point into the forest, so it is good until the forest is changed.
class TrieRoutes {
 public:
  TrieRoutes() = default;
  explicit TrieRoutes(const TrieRoute& route) : single_(route), count_(1) {}
  TrieRoutes(const TrieRoute* routes, uint32_t count) : many_(routes), count_(count) {}

  const TrieRoute* begin() const { return many_ != nullptr ? many_ : &single_; }
  const TrieRoute* end() const { return begin() + count_; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const TrieRoute& operator[](size_t index) const { return begin()[index]; }

 private:
  TrieRoute single_;
  const TrieRoute* many_ = nullptr;
  uint32_t count_ = 0;
};

struct TrieMatch {
  Prefix prefix;
  TrieRoutes routes;
};

// One prefix on which two tries differ: the routes of each, one of them empty when the prefix is only in
// the other. Routes that are equal in both are listed too: the caller merges the two short lists.
struct TrieDifference {
  Prefix prefix;
  TrieRoutes left;
  TrieRoutes right;
};

// Return false to stop: the walk is then resumed by passing the last prefix seen as `after`.
using TrieVisitor = FunctionRef<bool(const Prefix&, const TrieRoutes&)>;
using TrieDifferenceVisitor = FunctionRef<bool(const TrieDifference&)>;

struct TrieBytes {
  size_t live = 0;   // blocks in use, each at the size of its class
  size_t spans = 0;  // what the arena holds for them, holes and free blocks included
  size_t pool = 0;   // what it holds besides, ready for blocks of any size
  size_t lists = 0;  // the shared lists of routes, outside the arena (an estimate)
};

// Which code runs; both give the same results. kAuto asks the processor once per forest.
enum class TrieCode { kAuto, kPortable, kVector };

class TrieForest {
 public:
  explicit TrieForest(Family family, TrieCode code = TrieCode::kAuto);
  ~TrieForest();
  TrieForest(TrieForest&&) noexcept;
  TrieForest& operator=(TrieForest&&) noexcept;

  // True when this build and processor have the vector code; asking for it otherwise is a broken check.
  static bool has_vector_code();

  // An empty trie costs its 8-byte slot. Dropping one costs its blocks (about 1 ms per million routes).
  TrieId make_trie();
  void drop_trie(TrieId trie);

  // Inserts or replaces; returns the value that was there, or kNoValue when the key is new.
  // Precondition of all three: the prefix is of the forest's family, without host bits; value != kNoValue.
  TrieValue put(TrieId trie, const TrieKey& key, TrieValue value);
  // Returns the value that was there, or kNoValue when there was none (nothing changes then).
  TrieValue erase(TrieId trie, const TrieKey& key);
  // The exact key's value, or kNoValue.
  TrieValue find(TrieId trie, const TrieKey& key) const;
  // All routes of exactly this prefix.
  TrieRoutes find_prefix(TrieId trie, const Prefix& prefix) const;

  // The longest prefix that contains the address, whatever the tos and metric of its routes.
  std::optional<TrieMatch> longest_match(TrieId trie, const IpAddress& address) const;
  // The prefixes that contain `prefix`, itself included, shortest first (at most 33 or 129).
  void covering(TrieId trie, const Prefix& prefix, TrieVisitor visit) const;
  // All prefixes in order, from the one behind `after` (which need not be there), or from the first.
  void walk(TrieId trie, const Prefix* after, TrieVisitor visit) const;
  // The same within `prefix`: itself, when it is there, and all that it contains.
  void subtree(TrieId trie, const Prefix& prefix, const Prefix* after, TrieVisitor visit) const;
  // The prefixes on which two tries of this forest differ, in order, resumable as walk is. Equal stretches
  // cost a comparison of their blocks, about 1 ns a route.
  void diff(TrieId left, TrieId right, const Prefix* after, TrieDifferenceVisitor visit) const;

  size_t prefix_count(TrieId trie) const;
  size_t route_count(TrieId trie) const;
  TrieBytes bytes() const;
  Family family() const;

  // Reads everything and reports the first thing that is not as it must be, with the place. For tests.
  Status check() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace waypost::kernel_sync
