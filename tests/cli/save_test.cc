// The stream of `ip route save`: both forms that kernels write are read, everything damaged is refused with
// its byte, and what we write is read back as it was.
#include <gtest/gtest.h>

#include <random>

#include "cli/saved_route.h"
#include "model/limits.h"
#include "tests/cli/files.h"

namespace waypost::cli {
namespace {

std::string saved_by_ip(const std::string& name) {
  return read_file(std::string(WAYPOST_SOURCE_DIR) + "/tests/data/json/" + name);
}

Links links() {
  return Links({{1, "lo"}, {3, "e0"}, {5, "e1"}});
}

// Reads a stream in pieces of `piece` bytes.
Result<std::vector<SavedRoute>> read_stream(const std::string& bytes, size_t piece = 7) {
  std::vector<SavedRoute> routes;
  SavedRouteReader reader;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const Status status = reader.feed(std::string_view(bytes).substr(at, piece), [&](SavedRoute& route) {
      routes.push_back(route);
      return Status();
    });
    if (!status.ok()) return status.error();
  }
  if (Status status = reader.finish(); !status.ok()) return status.error();
  return routes;
}

PutRoute restored(const SavedRoute& saved, bool inline_paths) {
  auto command = restore_command(saved, links(), inline_paths);
  EXPECT_TRUE(command.ok()) << command.error().message;
  EXPECT_TRUE(std::holds_alternative<PutRoute>(*command));
  return std::get<PutRoute>(*command);
}

TEST(Save, BothFormsOfNexthopIdsAreRead) {
  for (const char* name : {"save.0.bin", "save.1.bin"}) {
    const std::vector<SavedRoute> routes = *read_stream(saved_by_ip(name));
    ASSERT_EQ(routes.size(), 2u) << name;
    const PutRoute first = restored(routes[0], false);
    EXPECT_EQ(to_string(first.route.key), "192.0.2.0/24");
    EXPECT_EQ(first.route.nexthop, NexthopId(1));
    EXPECT_EQ(first.route.protocol, 99);
    EXPECT_TRUE(first.paths.empty());
    EXPECT_EQ(restored(routes[1], false).route.nexthop, NexthopId(100));
    EXPECT_EQ(routes[0].offset, 4u);
  }
}

TEST(Save, InlineTakesTheCopyBesideTheId) {
  const std::vector<SavedRoute> routes = *read_stream(saved_by_ip("save.1.bin"));
  const PutRoute single = restored(routes[0], true);
  ASSERT_EQ(single.paths.size(), 1u);
  EXPECT_EQ(single.route.nexthop, NexthopId());
  EXPECT_EQ(to_string(*single.paths[0].nexthop.gateway), "10.7.0.2");
  EXPECT_EQ(single.paths[0].nexthop.device, "e0");
  const PutRoute multipath = restored(routes[1], true);
  ASSERT_EQ(multipath.paths.size(), 2u);
  EXPECT_EQ(multipath.paths[1].nexthop.device, "e1");
  EXPECT_EQ(multipath.paths[1].weight, 1);
  // At nexthop_compat_mode 0 there is no copy.
  const auto none = restore_command((*read_stream(saved_by_ip("save.0.bin")))[0], links(), true);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "the route 192.0.2.0/24 at byte 4 has no copy of nexthop 1 beside the id");
}

TEST(Save, AnUnknownInterfaceIsAnErrorAtItsRecord) {
  const std::vector<SavedRoute> routes = *read_stream(saved_by_ip("save.1.bin"));
  const auto command = restore_command(routes[1], Links({{3, "e0"}}), true);
  ASSERT_FALSE(command.ok());
  EXPECT_EQ(command.error().message,
            "the route 192.0.3.0/24 at byte 72 leads over interface 5, which this host does not have");
  EXPECT_NE(command.error().hint.find("--links"), std::string::npos);
}

TEST(Save, EveryTruncationIsRefusedWithItsByte) {
  for (const char* name : {"save.0.bin", "save.1.bin"}) {
    const std::string whole = saved_by_ip(name);
    for (size_t length = 0; length < whole.size(); ++length) {
      const auto routes = read_stream(whole.substr(0, length));
      // A cut between two messages cannot be told from a shorter stream, since it has no end mark.
      const size_t second = std::string(name) == "save.0.bin" ? 56 : 72;
      if (length == 4 || length == second) {
        EXPECT_TRUE(routes.ok()) << length;
        continue;
      }
      ASSERT_FALSE(routes.ok()) << name << " cut at " << length;
      EXPECT_EQ(routes.error().code, ErrorCode::kCorruption);
      if (length > 4) {
        const std::string at = "at byte " + std::to_string(length < second ? 4 : second);
        EXPECT_NE(routes.error().message.find(at), std::string::npos) << routes.error().message;
      }
    }
  }
}

TEST(Save, EveryFlippedByteIsRefusedOrReadsAsAnotherRoute) {
  for (const char* name : {"save.0.bin", "save.1.bin"}) {
    const std::string whole = saved_by_ip(name);
    for (size_t at = 0; at < whole.size(); ++at) {
      for (int flip = 1; flip < 256; flip += 2) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ flip);
        const auto routes = read_stream(bytes);
        if (!routes.ok()) continue;
        for (const SavedRoute& route : *routes) (void)restore_command(route, links(), flip % 4 == 1);
      }
    }
  }
}

TEST(Save, ForeignFilesAreRefusedAtOnce) {
  EXPECT_EQ(read_stream("#!/bin/sh\n").error().message,
            "this is not what `ip route save` writes: it begins with other bytes");
  EXPECT_EQ(read_stream("").error().message,
            "this is not what `ip route save` writes: it ends before its magic number");
}

SavedRoute some_route() {
  SavedRoute route;
  route.protocol = 4;
  route.prefix = *parse_prefix("10.1.0.0/16");
  SavedPath& path = route.paths.emplace_back();
  path.gateway = *parse_address("10.0.0.1");
  path.interface = 3;
  return route;
}

std::string outcome(const SavedRoute& saved) {
  const auto command = restore_command(saved, links(), false);
  if (!command.ok()) return command.error().message;
  if (const auto* skipped = std::get_if<Skipped>(&*command))
    return std::string("skipped: ") + std::string(skipped->reason);
  return "taken";
}

TEST(Save, RoutesThatAHostMakesForItselfArePassedOver) {
  SavedRoute route = some_route();
  EXPECT_EQ(outcome(route), "taken");
  route.protocol = 2;
  EXPECT_EQ(outcome(route), "skipped: proto kernel");
  route.protocol = 9;
  EXPECT_EQ(outcome(route), "skipped: proto ra");
  route.protocol = 1;
  EXPECT_EQ(outcome(route), "skipped: proto redirect");
  route = some_route();
  route.table = 255;
  EXPECT_EQ(outcome(route), "skipped: table local");
  route = some_route();
  route.cloned = true;
  EXPECT_EQ(outcome(route), "skipped: cloned");
  route = some_route();
  route.type = 5;
  EXPECT_EQ(outcome(route), "skipped: type local, broadcast, anycast or multicast");
}

TEST(Save, WhatCannotBeStoredIsAnErrorAndNotLost) {
  SavedRoute route = some_route();
  route.expires = 300;
  EXPECT_EQ(outcome(route), "the route 10.1.0.0/16 at byte 0 expires, and stored routes do not");
  route = some_route();
  route.source_length = 64;
  EXPECT_EQ(outcome(route), "the route 10.1.0.0/16 at byte 0 has a source prefix, which is not stored");
  route = some_route();
  route.realms = true;
  EXPECT_EQ(outcome(route), "the route 10.1.0.0/16 at byte 0 has realms, which are not stored");
  route = some_route();
  route.tos = 0x03;
  EXPECT_EQ(outcome(route).substr(0, 55), "the route 10.1.0.0/16 at byte 0 cannot be stored: the t");
}

// Stored rows of every shape, written and read back as commands that make the same rows.
TEST(Save, WhatIsWrittenReadsBackAsTheSameRoute) {
  NexthopCache nexthops;
  const uint32_t first = limits::kFirstInternedId;
  Nexthop plain;
  plain.gateway = *parse_address("10.0.0.1");
  plain.device = "e0";
  Nexthop tunnel = plain;
  tunnel.device = "e1";
  tunnel.onlink = true;
  tunnel.encap = EncapIp{.family = Family::kIpv4,
                         .id = 0x1234567890ull,
                         .source = *parse_address("192.0.2.9"),
                         .destination = *parse_address("192.0.2.10"),
                         .ttl = 64,
                         .tos = 4,
                         .flags = 5};
  Nexthop segments;
  segments.family = Family::kIpv6;
  segments.gateway = *parse_address("fe80::1");
  segments.device = "e0";
  segments.encap = EncapSeg6{
      .mode = 0, .segments = {*parse_address("2001:db8::1"), *parse_address("2001:db8::2")}, .hmac = 7};
  Nexthop floating;  // no device: resolved on each host
  floating.gateway = *parse_address("10.0.0.9");
  const Nexthop singles[] = {plain, tunnel, segments, floating};
  NexthopGroup group;
  for (uint32_t i = 0; i < 4; ++i) {
    nexthops.put({.id = NexthopId(first + i), .protocol = 0, .body = singles[i]});
    group.members.push_back({NexthopId(first + i), static_cast<uint16_t>(1 + 85 * i)});
  }
  nexthops.put({.id = NexthopId(first + 4), .protocol = 0, .body = group});

  std::vector<Route> routes;
  for (const char* prefix : {"0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32", "::/0", "2001:db8::/32"}) {
    for (uint32_t id : {first, first + 1, first + 2, first + 3, first + 4, 77u}) {
      Route& route = routes.emplace_back();
      route.key.prefix = *parse_prefix(prefix);
      const bool ipv6 = route.key.prefix.family() == Family::kIpv6;
      route.key.table = TableId(id == 77 ? 1000 : 254);
      route.key.metric = ipv6 ? 1024 : id % 3;
      route.key.tos = ipv6 ? 0 : 0x10;
      route.nexthop = NexthopId(id);
      route.protocol = 186;
      route.scope = ipv6 ? 0 : 253;
      route.preference = ipv6 ? 3 : 0;
      if (id == 77) route.prefsrc = *parse_address(ipv6 ? "2001:db8::5" : "10.0.0.5");
      route.metrics = {.values = {{2, 1400}, {8, 1360}, {17, 1}}, .lock = 4, .congestion_control = "cubic"};
    }
  }
  Route blackhole;
  blackhole.key.prefix = *parse_prefix("203.0.113.0/24");
  blackhole.type = RouteType::kBlackhole;
  routes.push_back(blackhole);

  std::string stream = save_magic();
  for (const Route& route : routes) {
    const auto saved = saved_route(route, nexthops, links());
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    append_saved_route(stream, *saved);
  }
  const std::vector<SavedRoute> read = *read_stream(stream, 33);
  ASSERT_EQ(read.size(), routes.size());
  for (size_t i = 0; i < routes.size(); ++i)
    EXPECT_TRUE(is_same_route(routes[i], nexthops, restored(read[i], false)))
        << to_string(routes[i].key) << " " << i;
}

TEST(Save, ADeviceThatIsNotHereNamesTheRoute) {
  NexthopCache nexthops;
  Nexthop path;
  path.device = "eth7";
  nexthops.put({.id = NexthopId(limits::kFirstInternedId), .protocol = 0, .body = path});
  Route route;
  route.key.prefix = *parse_prefix("10.0.0.0/8");
  route.nexthop = NexthopId(limits::kFirstInternedId);
  EXPECT_EQ(saved_route(route, nexthops, links()).error().message,
            "route 10.0.0.0/8 leads over device eth7, which this host does not have");
}

TEST(Links, AreReadFromIpsJson) {
  const auto read = Links::from_json(
      R"([{"ifindex":1,"ifname":"lo","flags":["UP"]},{"ifindex":4,"link":"x","ifname":"e0"}])");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read->name(4), "e0");
  EXPECT_EQ(read->index("lo"), 1u);
  EXPECT_EQ(read->name(9), nullptr);
  for (const char* bad :
       {"", "{}", "[1]", "[{\"ifname\":\"lo\"}]", "[{\"ifindex\":-1,\"ifname\":\"lo\"}]", "[{]"})
    EXPECT_FALSE(Links::from_json(bad).ok()) << bad;
}

}  // namespace
}  // namespace waypost::cli
