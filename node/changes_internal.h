// Changes as they go out on the wire, with the nexthops that their routes need.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/change.h"
#include "rpc/waypost.pb.h"
#include "store/store.h"

namespace waypost::node {

void fill(rpc::Change& out, const Change& change);

// Where the rows of nexthops are found that are gone by now: canonical value, or none.
using FormerNexthop = std::function<const std::string*(NexthopId)>;

// Rows of the nexthops of both routes of a change, groups with their members; `all`: not only interned ones.
class ChangeNexthops {
 public:
  ChangeNexthops(const store::ReadView& view, bool all, FormerNexthop former)
      : view_(view), all_(all), former_(std::move(former)) {}
  void add(const Change& change);
  std::string rows() && { return std::move(rows_); }

 private:
  void add(NexthopId id);
  const store::ReadView& view_;
  const bool all_;
  const FormerNexthop former_;
  std::vector<NexthopId> added_;  // of one change or set: few
  std::string rows_;
};

std::optional<NexthopObject> find_nexthop(const store::ReadView& view, NexthopId id,
                                          const FormerNexthop& former);

}  // namespace waypost::node
