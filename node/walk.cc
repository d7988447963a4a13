#include <algorithm>

#include "model/bytes.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "node/walk_internal.h"

namespace waypost::node {

namespace {

std::string nexthop_key(uint32_t id) {
  std::string key;
  append_nexthop_key(key, NexthopId(id));
  return key;
}

// What a visitor said, applied to a walk's cursor: true to go on.
class Turn {
 public:
  Turn(std::string& cursor, const WalkVisitor& visit) : cursor_(cursor), visit_(visit) {}

  bool pass_over(std::string_view key) {
    cursor_ = key;
    return within_turn();
  }
  bool show(std::string_view key, std::string_view value) {
    const Visit said = visit_(key, value);
    if (said != Visit::kLeaveAndStop) cursor_ = key;
    if (said != Visit::kTake) stopped_ = true;
    return !stopped_ && within_turn();
  }
  bool stopped() const { return stopped_; }

 private:
  bool within_turn() {
    if (++rows_ >= limits::kRowsPerTurn) stopped_ = true;
    return !stopped_;
  }

  std::string& cursor_;
  const WalkVisitor& visit_;
  size_t rows_ = 0;
  bool stopped_ = false;
};

}  // namespace

bool NexthopWalk::step(const WalkVisitor& visit) {
  static const std::string first_interned = nexthop_key(limits::kFirstInternedId);
  static const std::string last_interned = nexthop_key(limits::kLastInternedId);
  Turn turn(cursor_, visit);
  bool again = true;
  while (again) {
    again = false;
    view_.scan_nexthops(cursor_, [&](std::string_view key, std::string_view value) {
      if (!matcher_.with_interned() && key >= first_interned && key <= last_interned) {
        cursor_ = last_interned;  // one seek over all of them
        again = true;
        return false;
      }
      if (!matcher_.matches(key, value)) return turn.pass_over(key);
      return turn.show(key, value);
    });
  }
  return !turn.stopped();
}

RouteWalk::RouteWalk(const store::ReadView& view, RouteMatcher matcher, std::string after)
    : view_(view), matcher_(std::move(matcher)), cursor_(std::move(after)) {}

// The next table that has routes, from the cursor on, and its ranges.
bool RouteWalk::next_table() {
  range_ = 0;
  if (const std::optional<TableId> only = matcher_.table()) {
    if (!std::exchange(first_table_, false)) return false;
    table_ = only;
  } else {
    std::string behind = cursor_;
    if (table_) {
      std::string end;
      append_u32(end, table_->value());
      end += '\xff';
      behind = std::max(behind, end);
    }
    std::optional<TableId> found;
    view_.scan_routes(behind, [&found](std::string_view key, std::string_view) {
      if (const std::optional<RouteKey> decoded = decode_route_key(key)) found = decoded->table;
      return false;
    });
    if (!found) return false;
    table_ = found;
  }
  ranges_ = matcher_.ranges(*table_);
  return true;
}

bool RouteWalk::step(const WalkVisitor& visit) {
  if (matcher_.nexthop()) return step_of_nexthop(visit);
  Turn turn(cursor_, visit);
  while (true) {
    if (range_ >= ranges_.size() && !next_table()) return true;
    for (; range_ < ranges_.size(); ++range_) {
      const KeyRange& range = ranges_[range_];
      const std::string after = std::max(cursor_, range.first);
      view_.scan_routes(after, [&](std::string_view key, std::string_view value) {
        if (!range.last.empty() && key >= range.last) return false;
        const bool match = matcher_.matches(key, value, [this](NexthopId id) { return lookup(id); });
        return match ? turn.show(key, value) : turn.pass_over(key);
      });
      if (turn.stopped()) return false;
    }
  }
}

bool RouteWalk::in_ranges(std::string_view key) {
  const std::optional<RouteKey> decoded = decode_route_key(key);
  if (!decoded || (matcher_.table() && decoded->table != *matcher_.table())) return false;
  if (table_ != decoded->table) {
    table_ = decoded->table;
    ranges_ = matcher_.ranges(*table_);
  }
  return std::any_of(ranges_.begin(), ranges_.end(), [key](const KeyRange& range) {
    return key >= range.first && (range.last.empty() || key < range.last);
  });
}

// By the index: the routes of one nexthop are found without looking at the others.
bool RouteWalk::step_of_nexthop(const WalkVisitor& visit) {
  Turn turn(cursor_, visit);
  const auto show = [&](std::string_view key, std::string_view value) {
    const bool match =
        in_ranges(key) && matcher_.matches(key, value, [this](NexthopId id) { return lookup(id); });
    return match ? turn.show(key, value) : turn.pass_over(key);
  };
  view_.scan_routes_of(*matcher_.nexthop(), std::string(cursor_), show);
  return !turn.stopped();
}

}  // namespace waypost::node
