// Walks over the rows of one view that match a filter: resumable, a bounded number of rows at a time, so that
// thousands of them share the readers. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/row_filter_internal.h"
#include "store/store.h"

namespace waypost::node {

enum class Visit {
  kTake,  // and go on
  kTakeAndStop,
  kLeaveAndStop  // the row comes again at the next step
};
using WalkVisitor = std::function<Visit(std::string_view key, std::string_view value)>;

class NexthopWalk {
 public:
  NexthopWalk(const store::ReadView& view, NexthopMatcher matcher, std::string after)
      : view_(view), matcher_(std::move(matcher)), cursor_(std::move(after)) {}
  // True behind the last row.
  bool step(const WalkVisitor& visit);

 private:
  const store::ReadView& view_;
  NexthopMatcher matcher_;
  std::string cursor_;
};

class RouteWalk {
 public:
  RouteWalk(const store::ReadView& view, RouteMatcher matcher, std::string after);
  bool step(const WalkVisitor& visit);

 private:
  bool step_of_nexthop(const WalkVisitor& visit);
  bool next_table();
  bool in_ranges(std::string_view key);
  std::optional<NexthopObject> lookup(NexthopId id) const { return view_.nexthop(id); }

  const store::ReadView& view_;
  RouteMatcher matcher_;
  std::string cursor_;
  std::optional<TableId> table_;
  bool first_table_ = true;
  std::vector<KeyRange> ranges_;  // of table_, those before range_ are done
  size_t range_ = 0;
};

}  // namespace waypost::node
