// The nexthops that a listing of routes carries beside them (rpc/waypost.proto, RowBlock), by id. Bounded by
// the protocol: the server says when both sides forget.
#pragma once

#include <string_view>
#include <unordered_map>

#include "model/nexthop.h"

namespace waypost::cli {

class NexthopCache {
 public:
  // Takes in the rows of one block; kCorruption where they are damaged.
  Status absorb(std::string_view nexthops, bool forget);
  const NexthopObject* find(NexthopId id) const;
  void put(NexthopObject object);
  size_t size() const { return objects_.size(); }

 private:
  std::unordered_map<NexthopId, NexthopObject> objects_;
};

}  // namespace waypost::cli
