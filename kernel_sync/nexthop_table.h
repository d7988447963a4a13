// Nexthops and groups of one side, by id: what the store wants, or what the kernel holds. A row is 36 bytes
// (a million nexthops are no rarity); the bodies of groups and encapsulations are kept beside. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "kernel_sync/id_table.h"
#include "kernel_sync/kernel.h"
#include "model/nexthop.h"

namespace waypost::kernel_sync {

// Why a row of the store is not, or not wholly, in the kernel. Words are made from it when asked for.
enum class Reason : uint8_t {
  kNone = 0,
  kDeviceAbsent,
  kDeviceDown,
  kNoCarrier,
  kNoConnectedRoute,  // "resolve here", and no connected route covers the gateway
  kGatewayIsLocal,
  kMembersOut,   // of a group: some or all of its members
  kWideWeights,  // this kernel cannot do it:
  kResilient,
  kEncap,
  kIdTaken,        // another owner's object has the id
  kHeldByForeign,  // another owner's route or group uses the object
  kKernel,         // the kernel's own words are in the failures
  kKernelUnknown,  // the kernel could not be asked
};

class NexthopTable {
 public:
  struct Row {
    std::array<uint8_t, 16> gateway = {};
    uint32_t device = 0;   // desired: into DeviceNames; installed: the interface index
    uint32_t body = 0;     // 0: none; else into bodies_
    uint32_t ifindex = 0;  // desired: what the device came down to on this host
    uint8_t protocol = 0;
    uint8_t ipv6 : 1 = 0;
    uint8_t has_gateway : 1 = 0;
    uint8_t onlink : 1 = 0;
    uint8_t blackhole : 1 = 0;
    uint8_t fdb : 1 = 0;
    uint8_t group : 1 = 0;
    // Desired: the host can take it, and it is or will be there. Nothing of a row that is not usable is kept
    // in the kernel.
    uint8_t usable : 1 = 0;
    // Desired: it is there now, under its own id or a scratch id, as wanted. Routes go to it only then.
    uint8_t realized : 1 = 0;
    uint8_t told_out : 1 = 0;  // desired: its users have been looked at since it ceased to be usable
    uint8_t ours : 1 = 0;      // installed: the protocol is an owner number of ours
    uint8_t held : 1 = 0;      // installed: the store lacks it, and sweeping is held
    uint8_t degraded : 1 = 0;  // desired: a group with some members out
    uint8_t state = 0;         // desired: RowState
    Reason reason = Reason::kNone;
  };

  Row* find(NexthopId id) { return rows_.find(id); }
  const Row* find(NexthopId id) const { return rows_.find(id); }

  // Writes the object over the row of its id, or into a new one; what is not part of the object is kept.
  Row& put(const NexthopObject& object, uint32_t device);
  void erase(NexthopId id);
  // The row as an object. Installed rows have no device name; for desired ones the caller sets it.
  NexthopObject object(NexthopId id, const Row& row) const;
  const NexthopGroup& group(const Row& row) const { return std::get<NexthopGroup>(bodies_[row.body]); }
  const Encap* encap(const Row& row) const {
    return row.body == 0 ? nullptr : std::get_if<Encap>(&bodies_[row.body]);
  }
  // As the kernel does when a member goes: out of the group. Returns how many members are left.
  size_t remove_member(NexthopId group, NexthopId member);

  // The groups that have this member, in order: visit(NexthopId group).
  template <typename Visit>
  void for_each_group_of(NexthopId member, Visit&& visit) const {
    for (auto pair = membership_.lower_bound({member, NexthopId(0)});
         pair != membership_.end() && pair->first == member; ++pair)
      visit(pair->second);
  }
  bool in_a_group(NexthopId member) const {
    auto pair = membership_.lower_bound({member, NexthopId(0)});
    return pair != membership_.end() && pair->first == member;
  }

  template <typename Visit>
  void walk(NexthopId from, Visit&& visit) const {
    rows_.walk(from, visit);
  }
  template <typename Visit>
  void walk(NexthopId from, Visit&& visit) {
    rows_.walk(from, visit);
  }
  // How many single nexthops name this device.
  size_t count_on(uint32_t device) const;
  size_t size() const { return rows_.size(); }
  void clear();
  size_t bytes() const;

 private:
  using Body = std::variant<std::monostate, NexthopGroup, Encap>;
  void drop_body(NexthopId id, Row& row);
  void keep_body(Row& row, Body body);

  IdTable<Row> rows_;
  std::vector<Body> bodies_ = {Body()};
  std::vector<uint32_t> free_bodies_;
  std::set<std::pair<NexthopId, NexthopId>> membership_;  // (member, group)
  std::unordered_map<uint32_t, size_t> on_device_;
};

// Names of devices as small numbers; 0 is "none". Names stay.
class DeviceNames {
 public:
  uint32_t intern(const std::string& name);
  const std::string& operator[](uint32_t id) const { return names_[id]; }
  // 0 where the name was never used.
  uint32_t find(const std::string& name) const;

 private:
  std::vector<std::string> names_ = {""};
  std::unordered_map<std::string, uint32_t> ids_;
};

// Whether two objects say the same to the kernel: members in any order, timers and buckets only where they
// were given.
bool same_in_kernel(const KernelNexthop& wanted, const KernelNexthop& found);
// Whether a replace can lead from one to the other (KERNEL.md K3, K6): the kind, the type, the buckets, a
// group's owner.
bool replaceable(const KernelNexthop& from, const KernelNexthop& to);

}  // namespace waypost::kernel_sync
