// The state in the middle of an entry: typed rows over the overlay. Every write here keeps indexes, user
// counts and row counts in step, so that the rules above only decide. Nothing here refuses. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/nexthop.h"
#include "model/route.h"
#include "store/facts.h"
#include "store/free_ids.h"
#include "store/overlay.h"

namespace waypost::store {

class WorkingState {
 public:
  // `base` must not change between begin_entry() and the commit of what the overlay holds.
  explicit WorkingState(const TableReader& base);

  void begin_entry(const Counts& counts);
  void begin_transaction();

  // Interned objects that lost their last user in this transaction go, members behind their groups.
  void remove_unused();

  struct Mark {
    size_t undo = 0;
    size_t released = 0;
    size_t reserved = 0;
    uint32_t free_from = 1;
    Counts counts;
  };
  Mark mark() const;
  void rollback(const Mark& mark);

  // Rows this transaction changes at most if it ends now: those written, and those remove_unused() may take.
  size_t rows_changed() const { return overlay_.data_rows_touched() + reserved_; }

  // After the overlay's rows are in the base.
  void committed();

  // --- nexthops
  bool exists(NexthopId id);
  std::optional<NexthopObject> nexthop(NexthopId id);
  std::optional<NexthopFacts> facts(NexthopId id);
  NexthopFacts facts_of_group(const NexthopGroup& group);  // the members exist
  Users users(NexthopId id);
  // Groups with this member, at most `limit`, in ascending order.
  std::vector<NexthopId> groups_of(NexthopId member, size_t limit) const;
  void put_nexthop(const NexthopObject& object);
  // Precondition: no users. Its memberships as a group go with it.
  void erase_nexthop(NexthopId id);
  std::optional<NexthopId> lowest_free_id();
  std::optional<NexthopId> next_interned_id();

  // --- interned content: the id whose row has exactly this value
  std::optional<NexthopId> find_content(std::string_view value);

  // --- routes
  std::optional<Route> route(const RouteKey& key, std::string_view key_bytes);
  // `old` is what is stored now.
  void put_route(std::string_view key_bytes, const Route& route, const std::optional<Route>& old);
  void erase_route(std::string_view key_bytes, const Route& old);
  // The first `limit` keys of routes over this id that `wanted` takes; at most kMaxChangesPerTransaction are
  // looked at.
  std::vector<RouteKey> routes_of(NexthopId id, size_t limit,
                                  const std::function<bool(const RouteKey&)>& wanted = nullptr) const;
  std::optional<RouteKey> first_ipv6_route_of(NexthopId id) const;

  // Paths written inline, by their bytes, to the id they were last interned as: valid within an entry.
  std::unordered_map<std::string, NexthopId>& intern_cache() { return intern_cache_; }

  Overlay& overlay() { return overlay_; }
  const Overlay& overlay() const { return overlay_; }
  const Counts& counts() const { return counts_; }

 private:
  void set_users(NexthopId id, const Users& users);
  void count_route(const Route& route, int64_t difference);
  void count_object(const NexthopObject& object, int64_t difference);
  void link_members(const NexthopObject& object, const NexthopObject* old);
  void forget_cached();

  Overlay overlay_;
  FreeIds free_ids_;
  uint32_t free_from_ = 1;  // every id below has a row or is reserved
  Counts counts_;
  std::vector<NexthopId> released_;  // interned, and at some time in this transaction without a user
  size_t reserved_ = 0;
  std::unordered_map<NexthopId, std::optional<NexthopFacts>> facts_;  // of this entry
  std::unordered_map<std::string, NexthopId> intern_cache_;
  std::string key_;    // reused
  std::string index_;  // reused
};

}  // namespace waypost::store
