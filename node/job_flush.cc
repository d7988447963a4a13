// Plans that take rows away.
#include <deque>

#include "model/row_codec.h"
#include "node/job_plan_internal.h"
#include "node/walk_internal.h"

namespace waypost::node {

namespace {

// Bytes of an encoded guarded delete, a little more than less.
constexpr size_t kDeleteBytes = 26;

Command delete_nexthop(NexthopId id, std::string_view value) {
  return GuardedNexthop{id, row_guard(value), std::nullopt};
}

Command delete_route(const RouteKey& key, std::string_view value) {
  return GuardedRoute{key, row_guard(value), std::nullopt, {}};
}

// The routes of one id after the other, resumable: what has to go before nexthops can.
class RoutesOf {
 public:
  explicit RoutesOf(const store::ReadView& view) : view_(view) {}

  void queue(NexthopId id) { ids_.push_back(id); }
  // False: the sink has enough.
  bool drain(const CommandSink& sink) {
    while (!ids_.empty()) {
      bool enough = false;
      view_.scan_routes_of(
          ids_.front(), std::string(cursor_), [&](std::string_view key, std::string_view value) {
            cursor_ = key;
            const std::optional<RouteKey> decoded = decode_route_key(key);
            enough = decoded && !sink(delete_route(*decoded, value), kDeleteBytes + key.size());
            return !enough;
          });
      if (enough) return false;
      ids_.pop_front();
      cursor_.clear();
    }
    return true;
  }

 private:
  const store::ReadView& view_;
  std::deque<NexthopId> ids_;
  std::string cursor_;
};

class FlushNexthops {
 public:
  FlushNexthops(std::shared_ptr<const store::ReadView> view, const rpc::FlushNexthops& flush)
      : view_(std::move(view)), matcher_(flush.filter(), false), routes_(*view_) {
    if (flush.cascade() && view_->counts().routes > 0) {
      phase_ = Phase::kRoutes;
    } else {
      phase_ = view_->counts().groups > 0 ? Phase::kGroups : Phase::kSingles;
    }
    begin();
  }

  Result<bool> next(const CommandSink& sink, JobPlan& plan) {
    describe(plan);
    if (phase_ == Phase::kRoutes && !routes_.drain(sink)) return false;
    bool enough = false;
    const bool finished = walk_->step([&](std::string_view key, std::string_view value) {
      enough = !visit(key, value, sink);
      return enough ? Visit::kTakeAndStop : Visit::kTake;
    });
    if (!finished || enough) return false;
    if (phase_ == Phase::kSingles) return true;
    phase_ = phase_ == Phase::kRoutes && view_->counts().groups > 0 ? Phase::kGroups : Phase::kSingles;
    begin();
    return false;
  }

 private:
  enum class Phase { kRoutes, kGroups, kSingles };

  void begin() { walk_.emplace(*view_, matcher_, std::string()); }

  void describe(JobPlan& plan) const {
    const store::Counts& counts = view_->counts();
    plan.phase = phase_ == Phase::kRoutes ? "routes" : phase_ == Phase::kGroups ? "groups" : "nexthops";
    plan.total = !matcher_.takes_all()      ? 0
                 : phase_ == Phase::kRoutes ? counts.routes
                 : phase_ == Phase::kGroups ? counts.groups
                                            : counts.nexthops - counts.groups;
  }

  bool visit(std::string_view key, std::string_view value, const CommandSink& sink) {
    const std::optional<NexthopId> id = decode_nexthop_key(key);
    const Result<NexthopObject> object = decode_nexthop_value(*id, value);
    if (!object.ok()) return true;
    if (phase_ != Phase::kRoutes) {
      const bool now = object->is_group() == (phase_ == Phase::kGroups);
      return !now || sink(delete_nexthop(*id, value), kDeleteBytes);
    }
    routes_.queue(*id);
    if (!object->is_group()) queue_emptied_groups(*id);
    return routes_.drain(sink);
  }

  // Groups that lose their last member go, and their routes with them; each is looked at by its first member
  // alone.
  void queue_emptied_groups(NexthopId member) {
    view_->scan_groups_of(member, [&](NexthopId group_id) {
      const std::optional<NexthopObject> group = view_->nexthop(group_id);
      if (!group || !group->is_group() || group->group().members.front().id != member) return true;
      for (const GroupMember& other : group->group().members) {
        const std::optional<NexthopObject> single = view_->nexthop(other.id);
        if (!single || !matcher_.matches(*single)) return true;
      }
      routes_.queue(group_id);
      return true;
    });
  }

  const std::shared_ptr<const store::ReadView> view_;
  const NexthopMatcher matcher_;
  RoutesOf routes_;
  Phase phase_;
  std::optional<NexthopWalk> walk_;
};

}  // namespace

SharedPlan plan_flush_nexthops(std::shared_ptr<const store::ReadView> view, const rpc::FlushNexthops& flush) {
  auto plan = std::make_shared<JobPlan>();
  auto state = std::make_shared<FlushNexthops>(std::move(view), flush);
  plan->next = [state, raw = plan.get()](const CommandSink& sink) { return state->next(sink, *raw); };
  return plan;
}

Result<SharedPlan> plan_flush_routes(std::shared_ptr<const store::ReadView> view,
                                     const rpc::FlushRoutes& flush) {
  Result<RouteMatcher> matcher = RouteMatcher::make(flush.filter());
  if (!matcher.ok()) return matcher.error();
  auto plan = std::make_shared<JobPlan>();
  plan->phase = "routes";
  if (matcher->takes_all() && !matcher->table()) plan->total = view->counts().routes;
  auto walk = std::make_shared<RouteWalk>(*view, std::move(*matcher), std::string());
  plan->next = [view, walk](const CommandSink& sink) -> Result<bool> {
    return walk->step([&sink](std::string_view key, std::string_view value) {
      const std::optional<RouteKey> decoded = decode_route_key(key);
      const bool more = !decoded || sink(delete_route(*decoded, value), kDeleteBytes + key.size());
      return more ? Visit::kTake : Visit::kTakeAndStop;
    });
  };
  return plan;
}

Result<SharedPlan> plan_cascade_delete(std::shared_ptr<const store::ReadView> view, NexthopId id) {
  const std::optional<NexthopObject> object = view->nexthop(id);
  if (!object || is_interned(id)) {
    return Error{ErrorCode::kNotFound, "nexthop " + std::to_string(id.value()) + " does not exist", ""};
  }
  auto routes = std::make_shared<RoutesOf>(*view);
  auto last = std::make_shared<std::deque<NexthopId>>();  // groups that this empties, then the nexthop itself
  routes->queue(id);
  view->scan_groups_of(id, [&](NexthopId group_id) {
    const std::optional<NexthopObject> group = view->nexthop(group_id);
    if (!group || !group->is_group() || group->group().members.size() > 1) return true;
    routes->queue(group_id);
    last->push_back(group_id);
    return true;
  });
  last->push_back(id);
  auto plan = std::make_shared<JobPlan>();
  plan->phase = "routes";
  plan->total = view->routes_over(id);
  plan->next = [view, routes, last, raw = plan.get()](const CommandSink& sink) -> Result<bool> {
    if (!routes->drain(sink)) return false;
    raw->phase = "nexthops";
    raw->total = last->size();
    while (!last->empty()) {
      const NexthopId now = last->front();
      last->pop_front();
      if (!sink(delete_nexthop(now, encode_nexthop_value(*view->nexthop(now))), kDeleteBytes)) break;
    }
    return last->empty();
  };
  return plan;
}

}  // namespace waypost::node
