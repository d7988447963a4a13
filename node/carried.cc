#include "model/row_codec.h"
#include "node/carried_internal.h"

namespace waypost::node {

NexthopId nexthop_of_route(std::string_view key, std::string_view value) {
  const std::optional<RouteKey> decoded = decode_route_key(key);
  if (!decoded || value.empty()) return {};
  const Result<Route> route = decode_route_value(*decoded, value);
  return route.ok() ? route->nexthop : NexthopId{};
}

void append_nexthop_row(std::string& block, const NexthopObject& object) {
  std::string key;
  append_nexthop_key(key, object.id);
  append_row(block, key, encode_nexthop_value(object));
}

bool CarriedNexthops::carry(const store::ReadView& view, std::string_view route_key,
                            std::string_view route_value, std::string& rows) {
  const NexthopId id = nexthop_of_route(route_key, route_value);
  if (id.value() == 0 || (!all_ && !is_interned(id))) return true;
  return carry(view, id, rows);
}

bool CarriedNexthops::carry(const store::ReadView& view, NexthopId id, std::string& rows) {
  if (carried_.contains(id.value())) return true;
  const std::optional<NexthopObject> object = view.nexthop(id);
  if (!object) return true;
  std::vector<NexthopObject> needed{*object};
  if (object->is_group()) {
    for (const GroupMember& member : object->group().members) {
      if (carried_.contains(member.id.value())) continue;
      if (std::optional<NexthopObject> single = view.nexthop(member.id)) needed.push_back(std::move(*single));
    }
  }
  if (carried_.size() + needed.size() > limits::kMaxCarriedNexthops) return false;
  for (const NexthopObject& row : needed) {
    append_nexthop_row(rows, row);
    carried_.insert(row.id.value());
  }
  return true;
}

}  // namespace waypost::node
