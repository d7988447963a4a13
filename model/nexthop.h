// Nexthops and nexthop groups, as in `ip nexthop`: one id space, two kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/ip.h"
#include "model/named_type.h"

namespace waypost {

// `encap ip` and `encap ip6`: a light-weight tunnel header, carried as written.
struct EncapIp {
  Family family = Family::kIpv4;  // the outer header
  uint64_t id = 0;                // tunnel key
  IpAddress source;               // unspecified: the kernel chooses
  IpAddress destination;
  uint8_t ttl = 0;     // hop limit for ip6
  uint8_t tos = 0;     // traffic class for ip6
  uint16_t flags = 0;  // TUNNEL_* bits: csum, key, seq

  bool operator==(const EncapIp&) const = default;
};

// `encap seg6`. mode is SEG6_IPTUN_MODE_*: 0 inline, 1 encap, 2 l2encap, 3 encap.red, 4 l2encap.red.
struct EncapSeg6 {
  uint8_t mode = 1;
  std::vector<IpAddress> segments;  // in travel order, 1..limits::kMaxEncapSegments, all IPv6
  uint32_t hmac = 0;

  bool operator==(const EncapSeg6&) const = default;
};

using Encap = std::variant<std::monostate, EncapIp, EncapSeg6>;

// A single nexthop. Exactly one of these holds: blackhole; fdb with a gateway and no device; a device with or
// without a gateway; a gateway alone ("resolve here", interned nexthops only: SEMANTICS.md A3).
struct Nexthop {
  Family family = Family::kIpv4;     // of the gateway; of `ip -4/-6` where there is none
  std::optional<IpAddress> gateway;  // never the unspecified address
  std::string device;                // by name; empty: none. Each host resolves it
  bool onlink = false;
  bool blackhole = false;
  bool fdb = false;
  Encap encap;

  bool operator==(const Nexthop&) const = default;
};

struct GroupMember {
  NexthopId id;
  uint16_t weight = 1;  // 1..65535

  bool operator==(const GroupMember&) const = default;
};

enum class GroupType : uint8_t { kHashThreshold = 0, kResilient = 1 };  // NEXTHOP_GRP_TYPE_*

// Timers are in hundredths of a second, as the kernel carries them; `ip` prints seconds.
struct ResilientParameters {
  uint16_t buckets = 0;  // 0: not given (the kernel refuses a new group without)
  uint32_t idle_timer_cs = 12'000;
  uint32_t unbalanced_timer_cs = 0;

  bool operator==(const ResilientParameters&) const = default;
};

struct NexthopGroup {
  GroupType type = GroupType::kHashThreshold;
  std::vector<GroupMember> members;  // in the order written, 1..limits::kMaxGroupMembers, ids distinct
  ResilientParameters resilient;     // default unless type is kResilient
  bool fdb = false;

  bool operator==(const NexthopGroup&) const = default;
};

// One row of the nexthop table.
struct NexthopObject {
  NexthopId id;
  uint8_t protocol = 0;  // as its writer named it; 0 is unspec
  std::variant<Nexthop, NexthopGroup> body;

  bool is_group() const { return body.index() == 1; }
  const Nexthop& nexthop() const { return std::get<Nexthop>(body); }
  const NexthopGroup& group() const { return std::get<NexthopGroup>(body); }
  bool operator==(const NexthopObject&) const = default;
};

bool is_interned(NexthopId id);  // limits::kFirstInternedId..kLastInternedId
bool is_scratch(NexthopId id);   // limits::kFirstScratchId..kLastScratchId

// The scope that the kernel derives and `ip` prints: link with a gateway or on a device of IPv6, host on a
// device of IPv4, else global.
uint8_t derived_scope(const NexthopObject& object);

// The rules that need nothing but the object itself (KERNEL.md cases 2, 3, 7, 8, 10, 15, 24, 26, 30-33, 62,
// 64): returns why it can never be a nexthop or group, in words as good as the kernel's. `interned` allows a
// gateway without device. A gateway of 0.0.0.0 must have been dropped by the parser (case 8).
Status validate(const NexthopObject& object, bool interned = false);

}  // namespace waypost
