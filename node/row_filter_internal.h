// Which rows a listing or a flush is about, and where in the key order they can be. Pure; one stream's reader
// uses it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/nexthop.h"
#include "model/result.h"
#include "model/route.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

class NexthopMatcher {
 public:
  NexthopMatcher(const rpc::NexthopFilter& filter, bool with_interned);

  bool with_interned() const { return with_interned_; }
  // Nothing is asked: a row need not be decoded.
  bool takes_all() const { return takes_all_; }
  bool matches(const NexthopObject& object) const;
  bool matches(std::string_view key, std::string_view value) const;

 private:
  const rpc::NexthopFilter filter_;
  const bool with_interned_;
  bool takes_all_;
};

// [first, last): keys of routes. An empty `last` has no end.
struct KeyRange {
  std::string first;
  std::string last;
};

class RouteMatcher {
 public:
  using NexthopLookup = std::function<std::optional<NexthopObject>(NexthopId)>;

  // kInvalidArgument where the filter's bytes are no prefix, address or selector.
  static Result<RouteMatcher> make(const rpc::RouteFilter& filter);

  // The keys in this table that can match, ascending.
  std::vector<KeyRange> ranges(TableId table) const;
  std::optional<TableId> table() const;
  std::optional<NexthopId> nexthop() const;
  // Within ranges(), everything matches: rows need not be decoded.
  bool takes_all() const { return takes_all_; }
  bool matches(std::string_view key, std::string_view value, const NexthopLookup& lookup);

 private:
  explicit RouteMatcher(const rpc::RouteFilter& filter) : filter_(filter) {}
  bool path_matches(const Nexthop& nexthop) const;
  bool uses_path(NexthopId id, const NexthopLookup& lookup);

  rpc::RouteFilter filter_;
  std::optional<Prefix> prefix_;
  std::optional<IpAddress> via_;
  std::optional<IpAddress> prefsrc_;
  bool takes_all_ = false;
  std::unordered_map<uint32_t, bool> uses_path_;  // by nexthop id; bounded by kMaxCarriedNexthops
};

// The first key behind every key that starts with `prefix`; empty where there is none.
std::string end_of_prefix(std::string prefix);
std::optional<IpAddress> address_from_bytes(std::string_view bytes);

}  // namespace waypost::node
