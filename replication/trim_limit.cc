#include "replication/trim_limit.h"

#include <algorithm>
#include <functional>

namespace waypost::replication {

Position trim_limit(const std::vector<TrimMember>& members, bool over_cap) {
  if (members.empty()) return Position(1);
  std::vector<Position> durable;
  for (const TrimMember& member : members) durable.push_back(member.durable);
  std::sort(durable.begin(), durable.end(), std::greater<>());
  Position held = durable[durable.size() == 1 ? 0 : 1];
  if (!over_cap) {
    for (const TrimMember& member : members) {
      if (member.live) held = std::min(held, member.durable);
    }
  }
  // Everything up to `held` may go.
  return held.next();
}

}  // namespace waypost::replication
