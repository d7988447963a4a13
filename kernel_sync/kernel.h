// The kernel's FIB behind a small interface: netlink/ is the real one, fake_kernel the model of its rules
// (tests/kernel runs one contract suite on both). Everything is by interface index here; names are resolved
// above.
//
// One thread calls everything but wake().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/nexthop.h"
#include "model/result.h"
#include "model/route.h"

namespace waypost::kernel_sync {

// A nexthop or group as the kernel holds it: object.body's device name is empty, ifindex says it. The
// kernel's own flags (dead, linkdown, ...) are RTNH_F_*.
struct KernelNexthop {
  NexthopObject object;
  uint32_t ifindex = 0;  // 0 for groups, blackholes and fdb
  uint32_t flags = 0;

  bool operator==(const KernelNexthop&) const = default;
};

// A path of a route that uses no nexthop object (other owners' and connected routes).
struct KernelPath {
  uint32_t ifindex = 0;
  std::optional<IpAddress> gateway;
  uint16_t weight = 1;
  uint32_t flags = 0;

  bool operator==(const KernelPath&) const = default;
};

// A route over a blackhole nexthop, or over a group of one, reads back with type kBlackhole whatever type it
// was put with; a delete that names the type must name the one it was put with.
struct KernelRoute {
  Route route;                    // route.nexthop is none for inline paths
  std::vector<KernelPath> paths;  // empty for routes by nexthop id and for error types
  uint32_t flags = 0;             // RTM_F_* and RTNH_F_*

  bool operator==(const KernelRoute&) const = default;
};

struct KernelLink {
  uint32_t ifindex = 0;
  std::string name;
  bool up = false;       // IFF_UP
  bool carrier = false;  // IFF_LOWER_UP
  bool loopback = false;

  bool operator==(const KernelLink&) const = default;
};

struct KernelAddress {
  uint32_t ifindex = 0;
  Prefix prefix;    // with host bits: the address itself is prefix.address
  IpAddress local;  // the local address (IFA_LOCAL, or IFA_ADDRESS)

  bool operator==(const KernelAddress&) const = default;
};

// One step. exclusive: fails with EEXIST where the key is taken; otherwise replaces (KERNEL.md K7).
struct PutKernelNexthop {
  KernelNexthop nexthop;
  bool exclusive = false;
};
struct DeleteKernelNexthop {
  NexthopId id;
};
struct PutKernelRoute {
  KernelRoute route;
  bool exclusive = false;
};
// Deletes the route of that key; type, protocol and nexthop narrow the match where given (IPv6 ignores the
// type: KERNEL.md K11). IPv4 takes metric 0 for "any, the lowest first": where the row of metric 0 is gone
// already, another metric's goes, unless protocol or nexthop tell them apart.
struct DeleteKernelRoute {
  RouteKey key;
  std::optional<RouteType> type;
  std::optional<uint8_t> protocol;
  NexthopId nexthop;  // 0: any
};
using KernelStep = std::variant<PutKernelNexthop, DeleteKernelNexthop, PutKernelRoute, DeleteKernelRoute>;

struct StepFailure {
  size_t index = 0;   // into the steps given
  int error = 0;      // errno, positive
  std::string words;  // the kernel's extack text, or strerror
};

// What happened to a batch. Steps run in order; a failed one does not stop those behind it.
struct BatchOutcome {
  size_t executed = 0;  // steps whose fate is known; fewer than given only where transport is an error
  std::vector<StepFailure> failures;  // ascending by index
  Status transport;                   // the socket itself failed: the rest is unknown
};

enum class DumpOutcome {
  kComplete,
  kInterrupted,  // NLM_F_DUMP_INTR: what was delivered is torn
  kFailed,       // an error, or bytes that make no sense
};

struct LinkEvent {
  KernelLink link;
  bool deleted = false;
};
struct AddressEvent {
  KernelAddress address;
  bool deleted = false;
};
struct NexthopEvent {
  KernelNexthop nexthop;
  bool deleted = false;
};
struct RouteEvent {
  KernelRoute route;
  bool deleted = false;
};
// Events were lost (ENOBUFS): everything is unknown.
struct OverrunEvent {};
// wake() was called.
struct WakeEvent {};
using KernelEvent = std::variant<LinkEvent, AddressEvent, NexthopEvent, RouteEvent, OverrunEvent, WakeEvent>;

// What this host's kernel can do, probed once.
struct Capabilities {
  bool wide_weights = false;  // weights above 256
  bool resilient_groups = false;
  bool encap_ip = false;
  bool encap_ip6 = false;
  bool encap_seg6 = false;
  std::string release;  // uname -r
};

struct KernelCounters {
  uint64_t messages_sent = 0;
  uint64_t batches = 0;
  uint64_t errors = 0;
  uint64_t events = 0;
  uint64_t overruns = 0;
  uint64_t dumps = 0;
  uint64_t dumps_interrupted = 0;
  uint64_t link_gets = 0;
  uint64_t link_dumps = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Runs the steps in order, many messages per send, one acknowledgement per batch of limits::kNetlinkBatch.
  // Returns when the fate of each is known. Our own changes are not echoed by wait().
  virtual BatchOutcome execute(std::span<const KernelStep> steps) = 0;

  // Dumps are hints: never conclude "gone" from one alone (KERNEL.md K14, K15). `visit` may call wait(0) and
  // nothing else here.
  virtual DumpOutcome dump_nexthops(const std::function<void(const KernelNexthop&)>& visit) = 0;
  // Routes of all tables without cloned ones; `table` narrows it in the kernel.
  virtual DumpOutcome dump_routes(Family family, std::optional<TableId> table,
                                  const std::function<void(const KernelRoute&)>& visit) = 0;
  virtual DumpOutcome dump_addresses(const std::function<void(const KernelAddress&)>& visit) = 0;
  // Only after an overrun: one route never costs a dump of all links.
  virtual DumpOutcome dump_links(const std::function<void(const KernelLink&)>& visit) = 0;

  virtual Result<std::optional<KernelNexthop>> get_nexthop(NexthopId id) = 0;
  // The route that a packet to `address` takes in `table` (RTM_F_FIB_MATCH): longest match, lowest metric.
  virtual Result<std::optional<KernelRoute>> match_route(const IpAddress& address, TableId table) = 0;
  // The kernel's whole answer, policy rules included, as `ip route get`.
  virtual Result<std::optional<KernelRoute>> lookup(const IpAddress& address) = 0;
  // The row of exactly this key, or none: what confirms "missing". Several rows of one key (append): the
  // first. A lookup for IPv4 rows that nothing hides, two questions for absent ones, else a dump of the
  // table; IPv6 rows mostly take the dump, and each absent one leaves a line in the kernel's log
  // (netlink/route_query.h).
  virtual Result<std::optional<KernelRoute>> get_route(const RouteKey& key) = 0;
  // Whether the key is taken, by whomever: one question in both families.
  virtual Result<bool> has_route(const RouteKey& key) = 0;
  virtual Result<std::optional<KernelLink>> get_link(std::string_view name) = 0;
  virtual Result<std::optional<KernelLink>> get_link(uint32_t ifindex) = 0;

  // Waits until an event comes, wake() is called or timeout_ms passes (-1: no limit; 0: only what is there)
  // and returns what is there, at most a few thousand.
  virtual std::vector<KernelEvent> wait(int timeout_ms) = 0;
  // Makes wait() return. Any thread; async-signal-safe.
  virtual void wake() = 0;

  // net.ipv4.nexthop_compat_mode of this namespace (KERNEL.md K19).
  virtual Result<int> compat_mode() = 0;
  virtual Status set_compat_mode(int mode) = 0;
  virtual Capabilities capabilities() = 0;
  virtual KernelCounters counters() const = 0;
};

}  // namespace waypost::kernel_sync
