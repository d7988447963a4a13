// The netlink encoder and decoder as functions of bytes: what is written is read back, lengths that lie are
// refused, and nothing ever reads beyond its bytes (run under ASan).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "kernel_sync/netlink/decode.h"
#include "kernel_sync/netlink/encode.h"

namespace waypost::kernel_sync::netlink {
namespace {

// Numbers of the kernel's interface, as in linux/rtnetlink.h, nexthop.h and netlink.h.
constexpr uint16_t kNewRoute = 24;
constexpr uint16_t kNewNexthop = 104;
constexpr uint16_t kError = 2;
constexpr uint16_t kAttributeId = 1, kAttributeGroup = 2, kAttributeGateway = 6;
constexpr uint16_t kRouteDestination = 1, kRouteMultipath = 9;
constexpr uint16_t kCapped = 0x100, kAttributesFollow = 0x200;

struct NexthopHeader {
  uint8_t family = 0, scope = 0, protocol = 0, reserved = 0;
  uint32_t flags = 0;
};
struct RouteHeader {
  uint8_t family = 2, destination_length = 0, source_length = 0, tos = 0;
  uint8_t table = 254, protocol = 3, scope = 0, type = 1;
  uint32_t flags = 0;
};

Message only_message(const std::vector<uint8_t>& bytes) {
  MessageReader reader(bytes);
  Message message;
  EXPECT_TRUE(reader.next(message));
  Message second;
  EXPECT_FALSE(reader.next(second));
  EXPECT_FALSE(reader.malformed());
  return message;
}

std::vector<uint8_t> step_bytes(const KernelStep& step) {
  std::vector<uint8_t> bytes;
  encode_step(step, PlainMetrics::kShared, 7, bytes);
  return bytes;
}

KernelNexthop through(const KernelNexthop& nexthop) {
  const std::vector<uint8_t> bytes = step_bytes(PutKernelNexthop{nexthop, false});
  KernelNexthop back;
  EXPECT_EQ(Decoded::kOk, decode_nexthop(only_message(bytes), back));
  return back;
}

KernelRoute through(const KernelRoute& route) {
  const std::vector<uint8_t> bytes = step_bytes(PutKernelRoute{route, false});
  KernelRoute back;
  EXPECT_EQ(Decoded::kOk, decode_route(only_message(bytes), back));
  return back;
}

IpAddress address(const char* text) {
  return parse_address(text).value();
}

KernelNexthop single(uint32_t id, Nexthop nexthop, uint32_t ifindex) {
  KernelNexthop result;
  result.object = {NexthopId(id), 87, std::move(nexthop)};
  result.ifindex = ifindex;
  return result;
}

// A request to put and the kernel's answer have the same form, so that what is encoded can be decoded: every
// kind of nexthop.
TEST(NetlinkBytes, NexthopsComeBack) {
  Nexthop via;
  via.gateway = address("10.7.0.2");
  via.onlink = true;
  Nexthop via6;
  via6.family = Family::kIpv6;
  via6.gateway = address("2001:db8::2");
  Nexthop device;
  device.family = Family::kIpv6;
  Nexthop blackhole;
  blackhole.blackhole = true;
  Nexthop fdb = via;
  fdb.onlink = false;
  fdb.fdb = true;
  for (const auto& nexthop : {single(1, via, 3), single(0xFFFFFFFF, via6, 4), single(2, device, 5),
                              single(3, blackhole, 0), single(4, fdb, 0)}) {
    EXPECT_EQ(nexthop, through(nexthop));
  }
}

// Tunnels, with every field set.
TEST(NetlinkBytes, EncapsComeBack) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const bool ipv4 = family == Family::kIpv4;
    EncapIp encap{family,
                  0x123456789a,
                  address(ipv4 ? "192.0.2.1" : "2001:db8::a"),
                  address(ipv4 ? "192.0.2.2" : "2001:db8::b"),
                  64,
                  0x20,
                  0x0405};
    Nexthop nexthop;
    nexthop.encap = encap;
    EXPECT_EQ(single(1, nexthop, 3), through(single(1, nexthop, 3)));
  }
  for (const uint8_t mode : {0, 1, 2, 3, 4}) {
    for (const uint32_t hmac : {0u, 77u}) {
      Nexthop nexthop;
      nexthop.family = Family::kIpv6;
      nexthop.encap =
          EncapSeg6{mode, {address("2001:db8::1"), address("2001:db8::2"), address("2001:db8::3")}, hmac};
      EXPECT_EQ(single(1, nexthop, 3), through(single(1, nexthop, 3)));
    }
  }
}

// Groups: weights over the whole range, whose high byte is a field of its own, and resilient ones.
TEST(NetlinkBytes, GroupsComeBack) {
  NexthopGroup group;
  for (const uint16_t weight : {1, 2, 256, 257, 65535}) {
    group.members.push_back({NexthopId(weight), weight});
  }
  KernelNexthop nexthop;
  nexthop.object = {NexthopId(20), 87, group};
  EXPECT_EQ(nexthop, through(nexthop));
  group.fdb = true;
  nexthop.object.body = group;
  EXPECT_EQ(nexthop, through(nexthop));
  group.fdb = false;
  group.type = GroupType::kResilient;
  group.resilient = {64, 500, 900};
  nexthop.object.body = group;
  EXPECT_EQ(nexthop, through(nexthop));
  group.members.clear();
  for (uint32_t i = 1; i <= 4'000; ++i) group.members.push_back({NexthopId(i), 1});
  nexthop.object.body = group;
  EXPECT_EQ(nexthop, through(nexthop));
}

// Routes by nexthop id with every attribute, and other owners' with paths of both families.
TEST(NetlinkBytes, RoutesComeBack) {
  KernelRoute full;
  full.route.key = {TableId(100'000), {address("192.0.2.0"), 24}, 0x10, 20};
  full.route.nexthop = NexthopId(20);
  full.route.protocol = 87;
  full.route.prefsrc = address("10.7.0.1");
  full.route.metrics.values = {{2, 1'400}, {8, 1'200}};
  full.route.metrics.lock = 4;
  full.route.metrics.congestion_control = "reno";
  EXPECT_EQ(full, through(full));
  KernelRoute full6;
  full6.route.key = {kMainTable, {address("2001:db8::"), 32}, 0, 1024};
  full6.route.preference = 3;
  full6.route.nexthop = NexthopId(3);
  EXPECT_EQ(full6, through(full6));
  KernelRoute paths;
  paths.route.key = {kMainTable, {address("0.0.0.0"), 0}, 0, 0};
  paths.paths = {
      {3, address("10.7.0.2"), 256, 0}, {4, address("2001:db8::2"), 1, 4}, {5, std::nullopt, 1, 0}};
  EXPECT_EQ(paths, through(paths));
  for (const RouteType type :
       {RouteType::kBlackhole, RouteType::kUnreachable, RouteType::kProhibit, RouteType::kThrow}) {
    KernelRoute error;
    error.route.key = {kMainTable, {address("192.0.2.1"), 32}, 0, 0};
    error.route.type = type;
    EXPECT_EQ(error, through(error));
  }
}

// The empty list of metrics that keeps plain IPv4 routes apart from those with metrics, and goes nowhere
// else.
TEST(NetlinkBytes, PlainRoutesAreKeptApartOnDemand) {
  KernelRoute route;
  route.route.key = {kMainTable, {address("192.0.2.0"), 24}, 0, 0};
  const auto bytes_of = [](const KernelRoute& row, PlainMetrics plain) {
    std::vector<uint8_t> bytes;
    encode_step(PutKernelRoute{row, false}, plain, 1, bytes);
    return bytes;
  };
  EXPECT_EQ(bytes_of(route, PlainMetrics::kShared), bytes_of(route, PlainMetrics::kSeparate));
  EXPECT_FALSE(has_metrics_to_share(route));
  route.route.nexthop = NexthopId(1);
  EXPECT_EQ(bytes_of(route, PlainMetrics::kShared).size() + 4,
            bytes_of(route, PlainMetrics::kSeparate).size());
  route.route.metrics.values = {{2, 1'400}};
  EXPECT_TRUE(has_metrics_to_share(route));
  EXPECT_EQ(bytes_of(route, PlainMetrics::kShared), bytes_of(route, PlainMetrics::kSeparate));
}

// A member list that ends in the middle of a member, an empty one, and an id of zero.
TEST(NetlinkBytes, TruncatedGroupsAreRefused) {
  for (const size_t size : {0, 1, 7, 9, 15}) {
    std::vector<uint8_t> bytes;
    MessageWriter writer(bytes);
    writer.begin(kNewNexthop, 0, 1);
    writer.fixed(NexthopHeader{});
    writer.integer<uint32_t>(kAttributeId, 5);
    writer.attribute(kAttributeGroup, std::vector<uint8_t>(size));
    writer.end();
    KernelNexthop out;
    EXPECT_EQ(Decoded::kMalformed, decode_nexthop(only_message(bytes), out)) << size;
  }
}

// A gateway of a size that is no address, and a message shorter than its own header.
TEST(NetlinkBytes, OddSizesAreRefused) {
  std::vector<uint8_t> bytes;
  MessageWriter writer(bytes);
  writer.begin(kNewNexthop, 0, 1);
  writer.fixed(NexthopHeader{2, 0, 0, 0, 0});
  writer.integer<uint32_t>(kAttributeId, 5);
  writer.attribute(kAttributeGateway, std::vector<uint8_t>(5));
  writer.end();
  KernelNexthop nexthop;
  EXPECT_EQ(Decoded::kMalformed, decode_nexthop(only_message(bytes), nexthop));
  const std::vector<uint8_t> nothing;
  KernelRoute route;
  KernelLink link;
  KernelAddress own;
  ErrorReply error;
  EXPECT_EQ(Decoded::kMalformed, decode_nexthop({kNewNexthop, 0, 1, 0, nothing}, nexthop));
  EXPECT_EQ(Decoded::kMalformed, decode_route({kNewRoute, 0, 1, 0, nothing}, route));
  EXPECT_EQ(Decoded::kMalformed, decode_link({16, 0, 1, 0, nothing}, link));
  EXPECT_EQ(Decoded::kMalformed, decode_address({20, 0, 1, 0, nothing}, own));
  EXPECT_FALSE(decode_error({kError, 0, 1, 0, nothing}, error));
  EXPECT_EQ(0, decode_done({3, 0, 1, 0, nothing}).error);
}

std::vector<uint8_t> multipath_route(uint16_t path_length, size_t bytes_there) {
  std::vector<uint8_t> paths(bytes_there);
  if (bytes_there >= 2) std::memcpy(paths.data(), &path_length, 2);
  std::vector<uint8_t> bytes;
  MessageWriter writer(bytes);
  writer.begin(kNewRoute, 0, 1);
  writer.fixed(RouteHeader{});
  writer.attribute(kRouteMultipath, paths);
  writer.end();
  return bytes;
}

// A path that claims a length of zero would make a careless reader loop for ever; one that claims more than
// is there would make it read on.
TEST(NetlinkBytes, PathsThatLieAreRefused) {
  for (const uint16_t length : {0, 1, 7, 9, 20, 65'535}) {
    KernelRoute out;
    EXPECT_EQ(Decoded::kMalformed, decode_route(only_message(multipath_route(length, 8)), out)) << length;
  }
  KernelRoute out;
  EXPECT_EQ(Decoded::kOk, decode_route(only_message(multipath_route(8, 8)), out));
  EXPECT_EQ(Decoded::kMalformed, decode_route(only_message(multipath_route(8, 11)), out));
}

// Attributes and messages whose length is below their header or beyond the bytes.
TEST(NetlinkBytes, LengthsThatLieAreNoticed) {
  for (const uint16_t length : {0, 3, 9, 65'535}) {
    std::vector<uint8_t> bytes(8);
    std::memcpy(bytes.data(), &length, 2);
    AttributeReader reader(bytes);
    Attribute attribute;
    EXPECT_FALSE(reader.next(attribute)) << length;
    EXPECT_TRUE(reader.malformed()) << length;
  }
  for (const uint32_t length : {0u, 15u, 17u, 0xFFFFFFFFu}) {
    std::vector<uint8_t> bytes(16);
    std::memcpy(bytes.data(), &length, 4);
    MessageReader reader(bytes);
    Message message;
    EXPECT_FALSE(reader.next(message)) << length;
    EXPECT_TRUE(reader.malformed()) << length;
  }
}

// A prefix longer than its family, and a length without a destination.
TEST(NetlinkBytes, ImpossiblePrefixesAreRefused) {
  for (const uint8_t length : {1, 33, 255}) {
    std::vector<uint8_t> bytes;
    MessageWriter writer(bytes);
    RouteHeader header;
    header.destination_length = length;
    writer.begin(kNewRoute, 0, 1);
    writer.fixed(header);
    if (length != 1) writer.attribute(kRouteDestination, std::vector<uint8_t>(4));
    writer.end();
    KernelRoute out;
    EXPECT_EQ(Decoded::kMalformed, decode_route(only_message(bytes), out)) << int{length};
  }
}

// Other families' routes, cloned ones and those with a source prefix are passed over; local routes are kept
// under the kernel's number.
TEST(NetlinkBytes, WhatIsNotKept) {
  const auto decoded = [](RouteHeader header, KernelRoute& out) {
    std::vector<uint8_t> bytes;
    MessageWriter writer(bytes);
    writer.begin(kNewRoute, 0, 1);
    writer.fixed(header);
    writer.end();
    return decode_route(only_message(bytes), out);
  };
  KernelRoute out;
  RouteHeader multicast;
  multicast.family = 128;
  EXPECT_EQ(Decoded::kSkipped, decoded(multicast, out));
  RouteHeader cloned;
  cloned.flags = 0x200;
  EXPECT_EQ(Decoded::kSkipped, decoded(cloned, out));
  RouteHeader sourced;
  sourced.family = 10;
  sourced.source_length = 64;
  EXPECT_EQ(Decoded::kSkipped, decoded(sourced, out));
  RouteHeader local;
  local.type = 2;
  EXPECT_EQ(Decoded::kOk, decoded(local, out));
  EXPECT_EQ(2, static_cast<int>(out.route.type));
}

// A message about a bridge port carries the device's name too, and its "deleted" means that the port left the
// bridge.
TEST(NetlinkBytes, BridgePortsAreNotLinks) {
  std::vector<uint8_t> bytes;
  MessageWriter writer(bytes);
  writer.begin(17, 0, 1);
  struct {
    uint8_t family = 7, pad = 0;
    uint16_t type = 0;
    int32_t index = 3;
    uint32_t flags = 0, change = 0;
  } header;
  writer.fixed(header);
  writer.text(3, "e0");
  writer.end();
  KernelLink out;
  EXPECT_EQ(Decoded::kSkipped, decode_link(only_message(bytes), out));
}

// Errors with and without text, with the request repeated and without.
TEST(NetlinkBytes, ErrorsAndTheirWords) {
  const auto reply = [](uint16_t flags, bool repeats, const char* words) {
    std::vector<uint8_t> bytes;
    MessageWriter writer(bytes);
    writer.begin(kError, flags, 9);
    const int32_t error = -22;
    const uint32_t request[4] = {repeats ? 24u : 16u, 0, 9, 0};
    writer.append({reinterpret_cast<const uint8_t*>(&error), 4});
    writer.append({reinterpret_cast<const uint8_t*>(request), 16});
    if (repeats) writer.append(std::vector<uint8_t>(8, 0xff));
    if (words != nullptr) writer.text(1, words);
    writer.end();
    ErrorReply out;
    EXPECT_TRUE(decode_error(only_message(bytes), out));
    EXPECT_EQ(22, out.error);
    return out.words;
  };
  EXPECT_EQ("Nexthop id does not exist",
            reply(kCapped | kAttributesFollow, false, "Nexthop id does not exist"));
  EXPECT_EQ("Nexthop id does not exist", reply(kAttributesFollow, true, "Nexthop id does not exist"));
  EXPECT_EQ("Invalid argument", reply(kCapped, false, nullptr));
}

// A number that no errno can be, the one without a positive twin above all, is an I/O error.
TEST(NetlinkBytes, ImpossibleErrorsAreIoErrors) {
  for (const int32_t error : {INT32_MIN, -4'096}) {
    std::vector<uint8_t> bytes(20);
    std::memcpy(bytes.data(), &error, sizeof error);
    ErrorReply out;
    EXPECT_TRUE(decode_error({kError, 0, 1, 0, bytes}, out));
    EXPECT_EQ(EIO, out.error);
    EXPECT_EQ(EIO, decode_done({3, 0, 1, 0, bytes}).error);
  }
}

// Any damage to a good answer ends in some verdict: no crash, no loop. Every byte of every message, and
// random cuts.
TEST(NetlinkBytes, DamagedAnswersEndInAVerdict) {
  KernelRoute paths;
  paths.route.key = {TableId(300), {address("192.0.2.0"), 24}, 0, 5};
  paths.paths = {{3, address("10.7.0.2"), 2, 0}, {4, address("2001:db8::2"), 1, 0}};
  paths.route.metrics.values = {{2, 1'400}};
  NexthopGroup group;
  group.members = {{NexthopId(1), 1}, {NexthopId(2), 300}};
  group.type = GroupType::kResilient;
  KernelNexthop nexthop;
  nexthop.object = {NexthopId(20), 87, group};
  std::vector<uint8_t> good = step_bytes(PutKernelRoute{paths, false});
  const std::vector<uint8_t> more = step_bytes(PutKernelNexthop{nexthop, false});
  good.insert(good.end(), more.begin(), more.end());
  const auto read_all = [](Bytes bytes) {
    MessageReader reader(bytes);
    Message message;
    KernelRoute route;
    KernelNexthop other;
    size_t count = 0;
    while (reader.next(message)) {
      decode_route(message, route);
      decode_nexthop(message, other);
      ++count;
    }
    return count;
  };
  EXPECT_EQ(2u, read_all(good));
  for (size_t at = 0; at < good.size(); ++at) {
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
      // A copy of exactly this size, so that a step beyond it is seen.
      std::vector<uint8_t> bad = good;
      bad[at] = value;
      EXPECT_LE(read_all(bad), good.size() / kMessageHeaderBytes);
      const std::vector<uint8_t> cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(at));
      read_all(cut);
    }
  }
}

}  // namespace
}  // namespace waypost::kernel_sync::netlink
