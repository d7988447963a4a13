// What a route says beside its key, interned: the tries hold a small number, this table what it stands for. A
// million routes over a few hundred nexthops need a few hundred specs, and the users of a nexthop are counted
// here without a look at a route. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel_sync/trie/prefix_trie.h"
#include "model/route.h"

namespace waypost::kernel_sync {

using SpecId = TrieValue;
constexpr SpecId kNoSpec = kNoValue;

// Who holds a route. Every one has a trie per (table, family).
enum class Side : uint8_t {
  kDesired = 0,  // as the store says
  kOurs = 1,     // in the kernel, with an owner number of ours
  kForeign = 2,  // in the kernel, another owner's
  // What a dump has just shown of ours and of others; empty between dumps.
  kObserved = 3,
  kObservedForeign = 4,
};
constexpr size_t kSides = 5;

// The attributes that most routes lack.
struct RouteExtras {
  std::optional<IpAddress> prefsrc;
  RouteMetrics metrics;

  bool operator==(const RouteExtras&) const = default;
};

struct RouteSpec {
  NexthopId nexthop;     // 0: none
  uint32_t ifindex = 0;  // routes without nexthop id, where there is one path: its device
  uint32_t extras = 0;   // 0: none; else into SpecTable's extras
  RouteType type = RouteType::kUnicast;
  uint8_t protocol = 0;
  uint8_t scope = kScopeGlobal;
  uint8_t preference : 2 = 0;
  uint8_t gateway : 1 = 0;  // of the inline paths at least one has a gateway

  bool operator==(const RouteSpec&) const = default;
};

struct SpecUsers {
  uint32_t v4 = 0;
  uint32_t v6 = 0;

  uint32_t total() const { return v4 + v6; }
};

class SpecTable {
 public:
  SpecId intern(const RouteSpec& spec);
  // 0 for empty extras. Extras are few and stay.
  uint32_t intern_extras(const RouteExtras& extras);
  const RouteSpec& operator[](SpecId id) const { return entries_[id].spec; }
  const RouteExtras& extras(uint32_t index) const { return extras_[index]; }

  // A route of this spec came to or went from a side's trie.
  void count(SpecId id, Side side, Family family, int difference);
  // The routes of a side over this nexthop.
  SpecUsers users(NexthopId nexthop, Side side) const;
  // Every spec of this nexthop that has routes on `side`: visit(SpecId, const SpecUsers&).
  template <typename Visit>
  void for_each_spec(NexthopId nexthop, Side side, Visit&& visit) const {
    auto first = first_of_.find(nexthop);
    for (SpecId id = first == first_of_.end() ? kNoSpec : first->second; id != kNoSpec;
         id = entries_[id].next)
      if (entries_[id].users[static_cast<size_t>(side)].total() != 0)
        visit(id, entries_[id].users[static_cast<size_t>(side)]);
  }
  // Every spec with routes on `side`.
  template <typename Visit>
  void for_each_spec(Side side, Visit&& visit) const {
    for (SpecId id = 0; id < entries_.size(); ++id)
      if (entries_[id].users[static_cast<size_t>(side)].total() != 0)
        visit(id, entries_[id].users[static_cast<size_t>(side)]);
  }

  // What a route of this spec comes down to on this host, remembered by the planner until `epoch` moves on.
  struct Target {
    uint64_t epoch = 0;
    SpecId spec = kNoSpec;
    uint8_t kind = 0;
  };
  Target& target(SpecId id) { return entries_[id].target; }

  // Forgets specs that no trie holds. Between plans only: a plan remembers specs it may have to bring back.
  void collect();
  size_t size() const { return entries_.size() - free_.size(); }
  size_t bytes() const;

 private:
  struct Entry {
    RouteSpec spec;
    std::array<SpecUsers, kSides> users;
    Target target;
    SpecId next = kNoSpec;  // of the same nexthop
    bool live = false;
  };
  struct SpecHash {
    size_t operator()(const RouteSpec& spec) const;
  };
  void forget(SpecId id);

  std::vector<Entry> entries_;
  std::vector<SpecId> free_;
  std::vector<SpecId> unused_;  // candidates of collect()
  std::unordered_map<RouteSpec, SpecId, SpecHash> index_;
  std::unordered_map<NexthopId, SpecId> first_of_;
  std::vector<RouteExtras> extras_ = {RouteExtras()};
  std::unordered_map<std::string, uint32_t> extras_index_;
};

}  // namespace waypost::kernel_sync
