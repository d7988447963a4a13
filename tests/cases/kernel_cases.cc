#include "tests/cases/kernel_cases.h"

namespace waypost::test {
namespace {

constexpr KernelCaseLine ok(std::string_view line) {
  return {line, LineOutcome::kApplied, {}, false};
}
constexpr KernelCaseLine refused(std::string_view line, RefusalCode code) {
  return {line, LineOutcome::kRefused, code, false};
}
constexpr KernelCaseLine not_written(std::string_view line) {
  return {line, LineOutcome::kNotWritten, {}, false};
}
constexpr KernelCaseLine cascading(std::string_view line) {
  return {line, LineOutcome::kApplied, {}, true};
}

using Code = RefusalCode;
constexpr DecidedBy kC = DecidedBy::kCommit;
constexpr DecidedBy kH = DecidedBy::kHost;

std::vector<KernelCase> single_nexthops() {
  return {
      {1, kC, "deleting an absent id", {refused("nexthop del id 77", Code::kNexthopNotFound)}},
      {2, kC, "neither device nor gateway", {refused("nexthop add id 77", Code::kInvalid)}},
      {3, kC, "a gateway without device", {refused("nexthop add id 77 via 10.7.0.9", Code::kInvalid)}},
      {4, kH, "a gateway that the device does not reach", {ok("nexthop add id 77 via 10.99.0.1 dev e0")}},
      {5, kH, "the same, onlink", {ok("nexthop add id 77 via 10.99.0.1 dev e0 onlink")}},
      {6, kH, "the gateway is an address of the host", {ok("nexthop add id 77 via 10.7.0.1 dev e0")}},
      {7,
       kC,
       "a gateway that is multicast or broadcast; a subnet's broadcast is the host's business",
       {refused("nexthop add id 77 via 255.255.255.255 dev e0", Code::kInvalid),
        refused("nexthop add id 77 via 224.0.0.1 dev e0", Code::kInvalid),
        ok("nexthop add id 77 via 10.7.0.255 dev e0")}},
      {8, kC, "the gateway 0.0.0.0 is none", {ok("nexthop add id 77 via 0.0.0.0 dev e0")}},
      {9, kH, "an IPv6 gateway off link", {ok("nexthop add id 77 via 2001:db8:99::1 dev e0")}},
      {10,
       kC,
       "an IPv6 gateway that is multicast",
       {refused("nexthop add id 77 via ff02::1 dev e0", Code::kInvalid)}},
      {11,
       kC,
       "an id that is taken, with other content and with the same",
       {refused("nexthop add id 1 dev e1", Code::kNexthopExists),
        refused("nexthop add id 1 via 10.7.0.2 dev e0", Code::kNexthopExists)}},
      {12,
       kC,
       "replace of an absent id makes it",
       {ok("nexthop replace id 77 dev e0"), ok("nexthop del id 77")}},
      {13, kC, "change of an absent id", {refused("nexthop change id 77 dev e0", Code::kNexthopNotFound)}},
      {14, DecidedBy::kNobody, "a message with neither CREATE nor REPLACE: no verb says that", {}},
      {15,
       kC,
       "a blackhole, and one with a device",
       {ok("nexthop add id 77 blackhole"), refused("nexthop add id 78 blackhole dev e0", Code::kInvalid)}},
      {16, kH, "a device that is absent", {ok("nexthop add id 77 dev nosuch0")}},
      {17, kH, "a device that is down", {ok("nexthop add id 77 dev e0")}},
      {18, kH, "a device without carrier", {ok("nexthop add id 77 via 10.7.0.9 dev e0")}},
      {19, kC, "the loopback device", {ok("nexthop add id 77 dev lo")}},
      {20, kC, "an unused IPv4 nexthop becomes IPv6", {ok("nexthop replace id 1 via 2001:db8:70::9 dev e0")}},
      {21,
       kC,
       "no id: the lowest free one, chosen in apply (a kernel goes on behind the last)",
       {ok("nexthop add dev e0"), ok("nexthop del id 5")}},
      {22, kC, "the last id", {ok("nexthop add id 4294967295 dev e0")}},
  };
}

std::vector<KernelCase> groups() {
  return {
      {23, kC, "a member that is absent", {refused("nexthop add id 100 group 1/77", Code::kMemberNotFound)}},
      {24, kC, "a member twice", {refused("nexthop add id 100 group 1/1", Code::kInvalid)}},
      {25,
       kC,
       "a blackhole beside another",
       {refused("nexthop add id 100 group 1/10", Code::kBlackholeInGroup)}},
      {26, kC, "a blackhole alone", {ok("nexthop add id 100 group 10")}},
      {27,
       kC,
       "a group in a group",
       {ok("nexthop add id 100 group 1/2"), refused("nexthop add id 101 group 100", Code::kNestedGroup),
        refused("nexthop add id 101 group 1/100", Code::kNestedGroup),
        ok("nexthop add id 102 group 1/2 type resilient buckets 4"),
        refused("nexthop add id 103 group 102", Code::kNestedGroup)}},
      {28,
       kC,
       "a change of kind",
       {ok("nexthop add id 100 group 1/2"), refused("nexthop replace id 100 dev e0", Code::kKindChange),
        refused("nexthop replace id 3 group 1/2", Code::kKindChange)}},
      {29,
       kC,
       "a member of several becomes a blackhole",
       {ok("nexthop add id 100 group 1/2"),
        refused("nexthop replace id 1 blackhole", Code::kBlackholeReplace)}},
      {30, kC, "a group with a device", {not_written("nexthop add id 100 group 1/2 dev e0")}},
      {31, kC, "weight 0", {not_written("nexthop add id 100 group 1,0/2")}},
      {32,
       kH,
       "weights above 256 need a newer kernel",
       {ok("nexthop add id 100 group 1,256/2"), ok("nexthop add id 101 group 1,257/2,65535")}},
      {33, kC, "weight 65536", {not_written("nexthop add id 100 group 1,65536/2")}},
      {34, DecidedBy::kNobody, "reserved bits and odd lengths of the group attribute: no line says that", {}},
      {35, kC, "a group of both families", {ok("nexthop add id 100 group 1/3")}},
      {62,
       kH,
       "buckets of a resilient group",
       {refused("nexthop add id 100 group 1/2 type resilient", Code::kInvalid),
        not_written("nexthop add id 100 group 1/2 type resilient buckets 0"),
        ok("nexthop add id 100 group 1/2 type resilient buckets 1"),
        ok("nexthop add id 101 group 1/2 type resilient buckets 65535"),
        not_written("nexthop add id 102 group 1/2 type resilient buckets 65536")}},
      {63,
       kC,
       "what a replace may not change in a resilient group",
       {ok("nexthop add id 100 group 1/2 type resilient buckets 4"),
        refused("nexthop replace id 100 group 1/2 type resilient buckets 8", Code::kBucketsChange),
        refused("nexthop replace id 100 group 1/2", Code::kGroupTypeChange),
        ok("nexthop replace id 100 group 1/2 type resilient"),
        refused("nexthop replace id 100 group 1/2 type resilient buckets 8", Code::kBucketsChange)}},
      {64,
       kC,
       "nexthops and groups for fdb entries",
       {ok("nexthop add id 20 via 10.7.0.20 fdb"), ok("nexthop add id 21 via 2001:db8:70::21 fdb"),
        refused("nexthop add id 22 via 10.7.0.22 dev e0 fdb", Code::kInvalid),
        refused("nexthop add id 22 blackhole fdb", Code::kInvalid), ok("nexthop add id 100 group 20 fdb"),
        refused("nexthop add id 101 group 1 fdb", Code::kFdbMismatch),
        refused("nexthop add id 101 group 20", Code::kFdbMismatch),
        refused("nexthop add id 101 group 20/21 fdb", Code::kFdbFamilyMismatch),
        refused("nexthop replace id 20 via 10.7.0.20 dev e0", Code::kFdbMismatch)}},
  };
}

std::vector<KernelCase> routes_on_nexthops() {
  return {
      {36,
       kC,
       "an IPv4 route on an IPv6 nexthop, and on a group of both",
       {ok("nexthop add id 100 group 1/3"), ok("route add 10.9.0.0/24 nhid 3"),
        ok("route add 10.9.1.0/24 nhid 100")}},
      {37,
       kC,
       "an IPv6 route on an IPv4 nexthop or a group that has one",
       {ok("nexthop add id 100 group 1/2"), ok("nexthop add id 101 group 1/3"),
        refused("route add 2001:db8:9::/64 nhid 1", Code::kRouteFamily),
        refused("route add 2001:db8:9::/64 nhid 100", Code::kRouteFamily),
        refused("route add 2001:db8:9::/64 nhid 101", Code::kRouteFamily)}},
      {38,
       kC,
       "an IPv6 nexthop that carries an IPv6 route becomes IPv4",
       {ok("route add 2001:db8:9::/64 nhid 3"),
        refused("nexthop replace id 3 via 10.7.0.3 dev e0", Code::kReplaceBreaksRoutes)}},
      {39,
       kC,
       "a route on an absent nexthop",
       {refused("route add 10.9.0.0/24 nhid 77", Code::kRouteNexthopNotFound)}},
      {40,
       kC,
       "nhid together with via or dev",
       {not_written("route add 10.9.0.0/24 nhid 1 via 10.7.0.2"),
        not_written("route add 10.9.0.0/24 nhid 1 dev e0")}},
      {41,
       kC,
       "scope host through a gateway",
       {refused("route add 10.9.0.0/24 nhid 1 scope host", Code::kRouteHostScope)}},
      {55,
       kC,
       "a route of an error type that is tied to a nexthop",
       {ok("route add blackhole 10.9.0.0/24 nhid 1")}},
      {57,
       kC,
       "deleting a nexthop that carries routes; as `ip` does it, they and its memberships go along",
       {ok("nexthop add id 100 group 1/2"), ok("route add 10.9.0.0/24 nhid 1"),
        ok("route add 10.9.1.0/24 nhid 100"), refused("nexthop del id 1", Code::kNexthopInUse),
        cascading("nexthop del id 1"), refused("route del 10.9.0.0/24", Code::kRouteNotFound),
        refused("nexthop del id 2", Code::kLastMemberInUse), cascading("nexthop del id 2"),
        refused("nexthop del id 100", Code::kNexthopNotFound),
        refused("route del 10.9.1.0/24", Code::kRouteNotFound)}},
      {65,
       kC,
       "a route on a nexthop or group for fdb entries",
       {ok("nexthop add id 20 via 10.7.0.20 fdb"), ok("nexthop add id 100 group 20 fdb"),
        refused("route add 10.9.0.0/24 nhid 20", Code::kRouteOnFdb),
        refused("route add 10.9.0.0/24 nhid 100", Code::kRouteOnFdb)}},
  };
}

std::vector<KernelCase> route_keys() {
  return {
      {42,
       kC,
       "a key that is taken, also with another nexthop",
       {ok("route add 10.9.0.0/24 nhid 1"), refused("route add 10.9.0.0/24 nhid 1", Code::kRouteExists),
        refused("route add 10.9.0.0/24 nhid 2", Code::kRouteExists)}},
      {43,
       kC,
       "IPv4 append on a taken key: a kernel makes a twin, here there is one route per key",
       {ok("route add 10.9.0.0/24 nhid 1"), refused("route append 10.9.0.0/24 nhid 2", Code::kAppendTaken)}},
      {44,
       kC,
       "replace: without twins, the one route",
       {ok("route add 10.9.0.0/24 nhid 1"), ok("route replace 10.9.0.0/24 nhid 2")}},
      {45,
       kC,
       "delete with another nhid, or by a gateway that the route does not name",
       {ok("route add 10.9.0.0/24 nhid 1"), refused("route del 10.9.0.0/24 nhid 2", Code::kRouteNotFound),
        refused("route del 10.9.0.0/24 via 10.7.0.2", Code::kRouteNotFound)}},
      {46,
       kC,
       "delete by the prefix alone, again and again",
       {ok("route add 10.9.0.0/24 nhid 1"), ok("route del 10.9.0.0/24"),
        refused("route del 10.9.0.0/24", Code::kRouteNotFound)}},
      {47,
       kC,
       "two metrics: delete without one takes the lowest",
       {ok("route add 10.9.0.0/24 nhid 1 metric 10"), ok("route add 10.9.0.0/24 nhid 1 metric 5"),
        ok("route del 10.9.0.0/24"), refused("route del 10.9.0.0/24 metric 5", Code::kRouteNotFound),
        ok("route del 10.9.0.0/24 metric 10")}},
      {48,
       kC,
       "change of an absent route",
       {refused("route change 10.9.0.0/24 nhid 1", Code::kRouteNotFound)}},
      {49, kC, "IPv4 bits behind the length", {not_written("route add 192.0.2.1/24 nhid 1")}},
      {50,
       kC,
       "IPv6 bits behind the length are cut",
       {ok("route add 2001:db8:9::1/64 nhid 3"),
        refused("route add 2001:db8:9::/64 nhid 3", Code::kRouteExists)}},
      {51,
       kC,
       "IPv6 metric 0 is 1024",
       {ok("route add 2001:db8:9::/64 nhid 3 metric 0"),
        refused("route add 2001:db8:9::/64 nhid 3 metric 1024", Code::kRouteExists)}},
      {52,
       kC,
       "an IPv6 route with another gateway: add is refused, append makes a second path",
       {ok("route add 2001:db8:9::/64 via 2001:db8:70::2 dev e0"),
        refused("route add 2001:db8:9::/64 via 2001:db8:71::2 dev e1", Code::kRouteExists),
        ok("route append 2001:db8:9::/64 via 2001:db8:71::2 dev e1")}},
      {53,
       kC,
       "table 0 is main",
       {ok("route add 10.9.0.0/24 nhid 1 table 0"),
        refused("route add 10.9.0.0/24 nhid 1 table 254", Code::kRouteExists)}},
      {54, kC, "the last table", {ok("route add 10.9.0.0/24 nhid 1 table 4294967295")}},
      {56,
       kH,
       "a source address that the host may not have",
       {ok("route add 10.9.0.0/24 nhid 1 src 10.99.0.1")}},
  };
}

// What happens to a host, to its kernel's messages or to a whole command is no matter of one line.
std::vector<KernelCase> elsewhere() {
  return {
      {58, kH, "carrier loss, admin down, a device that goes away", {}},
      {59, kH, "the carrier comes back", {}},
      {60, kH, "a rename", {}},
      {61, kH, "an address is removed", {}},
      {66, DecidedBy::kNobody, "nexthop flush by protocol: a command, planned as a job", {}},
      {67, DecidedBy::kNobody, "route flush by protocol: a command, planned as a job", {}},
      {68, DecidedBy::kNobody, "route save and restore: commands", {}},
      {69, DecidedBy::kNobody, "attributes that are not known: no line says that", {}},
      {70, DecidedBy::kNobody, "a batch stops at a refused line: Transaction::on_refusal", {}},
  };
}

}  // namespace

const std::vector<std::string_view>& kernel_case_base() {
  static const std::vector<std::string_view> base = {
      "nexthop add id 1 via 10.7.0.2 dev e0", "nexthop add id 2 via 10.7.1.2 dev e1",
      "nexthop add id 3 via 2001:db8:70::2 dev e0", "nexthop add id 4 via 2001:db8:71::2 dev e1",
      "nexthop add id 10 blackhole"};
  return base;
}

const std::vector<KernelCase>& kernel_cases() {
  static const std::vector<KernelCase> cases = [] {
    std::vector<KernelCase> all;
    for (auto* part : {single_nexthops, groups, routes_on_nexthops, route_keys, elsewhere})
      for (KernelCase& each : part()) all.push_back(std::move(each));
    return all;
  }();
  return cases;
}

}  // namespace waypost::test
