// Two integers that must not be swapped get two types: apply(Position, ...) cannot take a Revision.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace waypost {

template <typename Tag, typename Integer>
class NamedType {
 public:
  using integer_type = Integer;

  constexpr NamedType() = default;
  constexpr explicit NamedType(Integer value) : value_(value) {}
  constexpr Integer value() const { return value_; }
  constexpr NamedType next() const { return NamedType(static_cast<Integer>(value_ + 1)); }
  constexpr auto operator<=>(const NamedType&) const = default;

 private:
  Integer value_ = 0;
};

// A place in the log, dense from 1; 0 means "before the first".
using Position = NamedType<struct PositionTag, uint64_t>;
// +1 per applied transaction that changed data; 0 means "the empty store".
using Revision = NamedType<struct RevisionTag, uint64_t>;
// The id of a nexthop or group: one id space (KERNEL.md K1). 0 means "none" and is never stored.
using NexthopId = NamedType<struct NexthopIdTag, uint32_t>;
// A kernel routing table, 1..4294967295; 254 is main, 255 (local) is refused.
using TableId = NamedType<struct TableIdTag, uint32_t>;

constexpr TableId kMainTable{254};
constexpr TableId kLocalTable{255};

}  // namespace waypost

template <typename Tag, typename Integer>
struct std::hash<waypost::NamedType<Tag, Integer>> {
  size_t operator()(waypost::NamedType<Tag, Integer> named) const noexcept {
    return std::hash<Integer>{}(named.value());
  }
};
