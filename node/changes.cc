#include <algorithm>

#include "model/row_codec.h"
#include "node/carried_internal.h"
#include "node/changes_internal.h"

namespace waypost::node {

void fill(rpc::Change& out, const Change& change) {
  out.set_table(static_cast<uint32_t>(change.table));
  out.set_key(change.key);
  out.set_old_value(change.old_value);
  out.set_new_value(change.new_value);
}

std::optional<NexthopObject> find_nexthop(const store::ReadView& view, NexthopId id,
                                          const FormerNexthop& former) {
  if (std::optional<NexthopObject> object = view.nexthop(id)) return object;
  const std::string* value = former ? former(id) : nullptr;
  if (value == nullptr) return std::nullopt;
  Result<NexthopObject> object = decode_nexthop_value(id, *value);
  return object.ok() ? std::optional(std::move(*object)) : std::nullopt;
}

void ChangeNexthops::add(NexthopId id) {
  if (std::find(added_.begin(), added_.end(), id) != added_.end()) return;
  const std::optional<NexthopObject> object = find_nexthop(view_, id, former_);
  if (!object) return;
  append_nexthop_row(rows_, *object);
  added_.push_back(id);
  if (!object->is_group()) return;
  for (const GroupMember& member : object->group().members) add(member.id);
}

void ChangeNexthops::add(const Change& change) {
  if (change.table != DataTable::kRoute) return;
  for (const std::string* value : {&change.old_value, &change.new_value}) {
    const NexthopId id = nexthop_of_route(change.key, *value);
    if (id.value() != 0 && (all_ || is_interned(id))) add(id);
  }
}

}  // namespace waypost::node
