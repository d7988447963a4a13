#include "cli/nexthop_cache.h"

#include "model/limits.h"
#include "model/row_codec.h"

namespace waypost::cli {

Status NexthopCache::absorb(std::string_view nexthops, bool forget) {
  if (forget) objects_.clear();
  RowBlockReader reader(nexthops);
  std::string_view key, value;
  while (reader.next(&key, &value)) {
    const auto id = decode_nexthop_key(key);
    if (!id) return Error{ErrorCode::kCorruption, "the answer carries a nexthop with a damaged key"};
    Result<NexthopObject> object = decode_nexthop_value(*id, value);
    if (!object.ok()) return object.error();
    put(std::move(*object));
  }
  if (reader.damaged())
    return Error{ErrorCode::kCorruption, "the answer carries a damaged block of nexthops"};
  // One block may go over the bound by the members of its last group, no more.
  if (objects_.size() > 2 * limits::kMaxCarriedNexthops)
    return Error{ErrorCode::kResourceExhausted, "the server carries more nexthops than a listing may"};
  return {};
}

const NexthopObject* NexthopCache::find(NexthopId id) const {
  const auto found = objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second;
}

void NexthopCache::put(NexthopObject object) {
  const NexthopId id = object.id;
  objects_.insert_or_assign(id, std::move(object));
}

}  // namespace waypost::cli
