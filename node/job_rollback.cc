// The plan that restores what a revision held.
#include "model/row_codec.h"
#include "node/changes_internal.h"
#include "node/job_plan_internal.h"

namespace waypost::node {

namespace {

constexpr size_t kCommandBytes = 32;

class Rollback {
 public:
  Rollback(std::shared_ptr<const store::ReadView> view, NetChanges net)
      : view_(std::move(view)), net_(std::move(net)) {}

  Result<bool> next(const CommandSink& sink, JobPlan& plan) {
    plan.phase = phase_ == Phase::kRoutes ? "routes" : "nexthops and groups";
    plan.total = 0;
    if (at_ == changes_.size()) {
      if (part_ == net_.parts()) {
        if (phase_ == Phase::kDeleteSingles) return true;
        phase_ = static_cast<Phase>(static_cast<int>(phase_) + 1);
        part_ = 0;
      }
      // One part is kept through all the phases; several are worked out again for each.
      if (net_.parts() > 1 || !loaded_) {
        Result<std::vector<Change>> changes = net_.part(part_);
        if (!changes.ok()) return changes.error();
        changes_ = std::move(*changes);
        loaded_ = true;
      }
      ++part_;
      at_ = 0;
    }
    while (at_ < changes_.size()) {
      const Change& change = changes_[at_++];
      if (phase_of(change) != phase_) continue;
      Result<Command> command = command_for(change);
      if (!command.ok()) return command.error();
      if (!sink(std::move(*command), kCommandBytes + change.key.size() + 2 * change.new_value.size()))
        return false;
    }
    return false;
  }

  rpc::Difference show(const Command& command) {
    Change change;
    if (const auto* nexthop = std::get_if<GuardedNexthop>(&command)) {
      change.table = DataTable::kNexthop;
      append_nexthop_key(change.key, nexthop->id);
      if (nexthop->value) change.new_value = encode_nexthop_value(*nexthop->value);
      if (const auto now = view_->nexthop(nexthop->id)) change.old_value = encode_nexthop_value(*now);
    } else if (const auto* route = std::get_if<GuardedRoute>(&command)) {
      append_route_key(change.key, route->key);
      if (route->value) change.new_value = shown_route(*route);
      if (const auto now = view_->route(route->key)) change.old_value = encode_route_value(*now);
    }
    rpc::Difference difference;
    fill(*difference.mutable_change(), change);
    ChangeNexthops nexthops(*view_, false, [this](NexthopId id) { return net_.interned(id); });
    nexthops.add(change);
    difference.set_nexthops(std::move(nexthops).rows());
    return difference;
  }

 private:
  enum class Phase { kPutSingles, kPutGroups, kRoutes, kDeleteGroups, kDeleteSingles };

  // old_value is what is there now, new_value what shall be.
  static Phase phase_of(const Change& change) {
    if (change.table == DataTable::kRoute) return Phase::kRoutes;
    const bool puts = !change.new_value.empty();
    const NexthopId id = *decode_nexthop_key(change.key);
    const Result<NexthopObject> object = decode_nexthop_value(id, puts ? change.new_value : change.old_value);
    const bool group = object.ok() && object->is_group();
    if (puts) return group ? Phase::kPutGroups : Phase::kPutSingles;
    return group ? Phase::kDeleteGroups : Phase::kDeleteSingles;
  }

  Result<Command> command_for(const Change& change) {
    const uint64_t expected = change.old_value.empty() ? 0 : row_guard(change.old_value);
    if (change.table == DataTable::kNexthop) {
      const NexthopId id = *decode_nexthop_key(change.key);
      if (change.new_value.empty()) return Command(GuardedNexthop{id, expected, std::nullopt});
      Result<NexthopObject> object = decode_nexthop_value(id, change.new_value);
      if (!object.ok()) return object.error();
      return Command(GuardedNexthop{id, expected, std::move(*object)});
    }
    const std::optional<RouteKey> key = decode_route_key(change.key);
    if (!key)
      return Error{ErrorCode::kCorruption, "a route key in the history is malformed",
                   "`waypost cluster check`"};
    GuardedRoute guarded{*key, expected, std::nullopt, {}};
    if (!change.new_value.empty()) {
      Result<Route> route = decode_route_value(*key, change.new_value);
      if (!route.ok()) return route.error();
      if (is_interned(route->nexthop)) {
        Result<std::vector<InlinePath>> paths = paths_of(route->nexthop);
        if (!paths.ok()) return paths.error();
        guarded.paths = std::move(*paths);
        former_id_ = route->nexthop;
        route->nexthop = NexthopId();
      }
      guarded.value = std::move(*route);
    }
    return Command(std::move(guarded));
  }

  std::optional<NexthopObject> find(NexthopId id) {
    return find_nexthop(*view_, id, [this](NexthopId former) { return net_.interned(former); });
  }

  // A route over interned nexthops is written with its paths, and apply interns them again.
  Result<std::vector<InlinePath>> paths_of(NexthopId id) {
    const Error lost{
        ErrorCode::kCorruption,
        "inline paths " + std::to_string(id.value()) + " are neither in the store nor in its history",
        "`waypost cluster check`"};
    const std::optional<NexthopObject> object = find(id);
    if (!object) return lost;
    if (!object->is_group()) return std::vector<InlinePath>{{object->nexthop(), 1}};
    std::vector<InlinePath> paths;
    for (const GroupMember& member : object->group().members) {
      const std::optional<NexthopObject> single = find(member.id);
      if (!single || single->is_group()) return lost;
      paths.push_back({single->nexthop(), member.weight});
    }
    return paths;
  }

  // For a dry run the route names the interned id that it had.
  std::string shown_route(const GuardedRoute& guarded) const {
    Route route = *guarded.value;
    if (!guarded.paths.empty()) route.nexthop = former_id_;
    return encode_route_value(route);
  }

  const std::shared_ptr<const store::ReadView> view_;
  const NetChanges net_;
  Phase phase_ = Phase::kPutSingles;
  size_t part_ = 0;
  bool loaded_ = false;
  std::vector<Change> changes_;
  size_t at_ = 0;
  NexthopId former_id_;  // of the command given last
};

}  // namespace

Result<SharedPlan> plan_rollback(const store::Store& store, std::shared_ptr<const store::ReadView> view,
                                 Revision to) {
  Result<NetChanges> net = NetChanges::between(store, view->stamp().revision, to);
  if (!net.ok()) return net.error();
  auto plan = std::make_shared<JobPlan>();
  auto state = std::make_shared<Rollback>(std::move(view), std::move(*net));
  plan->next = [state, raw = plan.get()](const CommandSink& sink) { return state->next(sink, *raw); };
  plan->show = [state](const Command& command) { return state->show(command); };
  return plan;
}

}  // namespace waypost::node
