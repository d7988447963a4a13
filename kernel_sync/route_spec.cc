#include "kernel_sync/route_spec.h"

#include <algorithm>

#include "model/check.h"
#include "model/row_codec.h"

namespace waypost::kernel_sync {
namespace {

uint64_t mix(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9e37'79b9'7f4a'7c15ull;
  return value ^ value >> 29;
}

}  // namespace

size_t SpecTable::SpecHash::operator()(const RouteSpec& spec) const {
  const uint64_t ids = uint64_t{spec.nexthop.value()} << 32 | spec.ifindex;
  const uint64_t rest = uint64_t{spec.extras} << 32 | uint64_t{static_cast<uint8_t>(spec.type)} << 24 |
                        uint64_t{spec.protocol} << 16 | uint64_t{spec.scope} << 8 |
                        uint64_t{spec.preference} << 1 | spec.gateway;
  return mix(ids + mix(rest));
}

SpecId SpecTable::intern(const RouteSpec& spec) {
  auto [slot, is_new] = index_.try_emplace(spec, kNoSpec);
  if (!is_new) return slot->second;
  SpecId id = static_cast<SpecId>(entries_.size());
  if (free_.empty()) {
    WAYPOST_CHECK(id < kFirstIndirectValue, "more route specs than the tries can name");
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
    entries_[id] = Entry();
  }
  slot->second = id;
  Entry& entry = entries_[id];
  entry.spec = spec;
  entry.live = true;
  auto [first, alone] = first_of_.try_emplace(spec.nexthop, id);
  if (!alone) {
    entry.next = first->second;
    first->second = id;
  }
  unused_.push_back(id);
  return id;
}

uint32_t SpecTable::intern_extras(const RouteExtras& extras) {
  if (!extras.prefsrc && extras.metrics.empty()) return 0;
  // The canonical bytes of a route that has nothing else.
  Route bare;
  bare.prefsrc = extras.prefsrc;
  bare.metrics = extras.metrics;
  const std::string bytes = encode_route_value(bare);
  auto [slot, is_new] = extras_index_.try_emplace(bytes, static_cast<uint32_t>(extras_.size()));
  if (is_new) extras_.push_back(extras);
  return slot->second;
}

void SpecTable::count(SpecId id, Side side, Family family, int difference) {
  SpecUsers& users = entries_[id].users[static_cast<size_t>(side)];
  uint32_t& count = family == Family::kIpv4 ? users.v4 : users.v6;
  count += static_cast<uint32_t>(difference);
  if (users.total() == 0) unused_.push_back(id);
}

SpecUsers SpecTable::users(NexthopId nexthop, Side side) const {
  SpecUsers sum;
  for_each_spec(nexthop, side, [&](SpecId, const SpecUsers& users) {
    sum.v4 += users.v4;
    sum.v6 += users.v6;
  });
  return sum;
}

void SpecTable::collect() {
  for (SpecId id : unused_) {
    Entry& entry = entries_[id];
    const bool used = std::any_of(entry.users.begin(), entry.users.end(),
                                  [](const SpecUsers& users) { return users.total() != 0; });
    if (entry.live && !used) forget(id);
  }
  unused_.clear();
}

void SpecTable::forget(SpecId id) {
  Entry& entry = entries_[id];
  auto first = first_of_.find(entry.spec.nexthop);
  if (first->second == id && entry.next == kNoSpec) {
    first_of_.erase(first);
  } else {
    SpecId* link = &first->second;
    while (*link != id) link = &entries_[*link].next;
    *link = entry.next;
  }
  index_.erase(entry.spec);
  entry.live = false;
  free_.push_back(id);
}

size_t SpecTable::bytes() const {
  return entries_.capacity() * sizeof(Entry) + index_.size() * 48 + first_of_.size() * 24 +
         extras_.size() * sizeof(RouteExtras);
}

}  // namespace waypost::kernel_sync
