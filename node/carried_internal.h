// The nexthop rows that travel beside routes: each once per stream, within a bounded memory on both sides
// (RowBlock in rpc/waypost.proto). One stream's reader uses it, on one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/limits.h"
#include "store/store.h"

namespace waypost::node {

class CarriedNexthops {
 public:
  // all: the nexthops of every route, not only interned ones.
  explicit CarriedNexthops(bool all) : all_(all) {}

  // Appends to `rows` what the route of this value needs and was not carried yet. False where the bound is
  // reached: the caller ends its block, calls forget(), says so in the next one, and asks again.
  bool carry(const store::ReadView& view, std::string_view route_key, std::string_view route_value,
             std::string& rows);
  bool carry(const store::ReadView& view, NexthopId id, std::string& rows);
  void forget() { carried_.clear(); }

 private:
  const bool all_;
  std::unordered_set<uint32_t> carried_;
};

// The nexthop of a route row, 0 where it has none or the bytes are no route.
NexthopId nexthop_of_route(std::string_view key, std::string_view value);
void append_nexthop_row(std::string& block, const NexthopObject& object);

}  // namespace waypost::node
