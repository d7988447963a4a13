#include "cli/route_printer.h"

#include <charconv>
#include <cstdio>

#include "cli/nexthop_printer.h"

namespace waypost::cli {
namespace {

// A blackhole nexthop looks like a path over the loopback device, and so do IPv6's error routes.
constexpr std::string_view kLoopback = "lo";

// What a route leads over, as the kernel would show it.
struct Shape {
  const NexthopObject* object = nullptr;  // by nexthop id, or interned; null: none, or not known
  const Nexthop* single = nullptr;        // the one path that stands in the row itself
  const NexthopGroup* group = nullptr;    // the paths that stand in `nexthops`
  bool blackhole = false;
};

Shape shape_of(const Route& route, const NexthopCache& nexthops) {
  Shape shape;
  if (route.nexthop.value() == 0) return shape;
  shape.object = nexthops.find(route.nexthop);
  if (shape.object == nullptr) return shape;
  if (!shape.object->is_group()) {
    shape.single = &shape.object->nexthop();
    shape.blackhole = shape.single->blackhole;
    return shape;
  }
  const NexthopGroup& group = shape.object->group();
  const NexthopObject* only = group.members.size() == 1 ? nexthops.find(group.members[0].id) : nullptr;
  const bool lone = only != nullptr && !only->is_group();
  shape.blackhole = lone && only->nexthop().blackhole;
  // A group of one is flat in IPv4 and a list of one in IPv6.
  if (lone && route.key.prefix.family() == Family::kIpv4) {
    shape.single = &only->nexthop();
  } else {
    shape.group = &group;
  }
  return shape;
}

void print_destination(RowWriter& row, const Prefix& prefix) {
  char text[56];
  char* end = text;
  if (prefix.length == 0 && prefix.address.is_unspecified()) {
    // `ip` gives the default route no colour.
    return row.string("dst", "", "default");
  }
  end = write_address(prefix.address, text);
  if (prefix.length != address_bits(prefix.family())) {
    *end++ = '/';
    end = std::to_chars(end, text + sizeof(text), prefix.length).ptr;
  }
  row.string("dst", "", {text, static_cast<size_t>(end - text)}, colour_of(prefix.family()));
}

void print_tos(RowWriter& row, uint8_t tos, const NameTables& names) {
  const std::string name = names.dsfields.text(tos);
  const bool has_name = !name.empty() && (name[0] < '0' || name[0] > '9');
  if (has_name && !row.options().numeric) return row.string("tos", "tos", name);
  char text[8];
  std::snprintf(text, sizeof(text), "0x%02x", tos);
  row.string("tos", "tos", text);
}

void print_path(RowWriter& row, const Nexthop& path, Family family, const HiddenFields& hidden) {
  if (path.gateway && !hidden.gateway) print_gateway(row, *path.gateway, family);
  const std::string_view device = path.blackhole ? kLoopback : std::string_view(path.device);
  if (!device.empty() && !hidden.device) row.string("dev", "dev", device, Colour::kInterface);
}

void print_member(RowWriter& row, const NexthopCache& nexthops, const GroupMember& member, Family family) {
  const NexthopObject* object = nexthops.find(member.id);
  if (object == nullptr || object->is_group()) return;
  const Nexthop& path = object->nexthop();
  row.new_line();
  row.text("\tnexthop ");
  row.open_object();
  print_encap(row, path.encap);
  if (path.gateway) print_gateway(row, *path.gateway, family);
  const std::string_view device = path.blackhole ? kLoopback : std::string_view(path.device);
  // `ip` gives devices of a multipath route no colour.
  if (!device.empty()) row.string("dev", "dev", device);
  row.number("weight", "weight", member.weight);
  print_flags(row, path.onlink);
  row.close_object();
}

// The last word of an IPv6 route, so no space follows it.
void print_preference(RowWriter& row, uint8_t preference) {
  const std::string_view word = preference == 1 ? "high" : preference == 3 ? "low" : "medium";
  if (row.json()) return row.string("pref", "", word);
  row.text("pref ");
  row.text(word);
}

void print_key_attributes(RowWriter& row, const Route& route, const NameTables& names,
                          const HiddenFields& hidden) {
  const bool details = row.options().details;
  if ((route.key.table != kMainTable || details) && !hidden.table)
    row.string("table", "table", name_of(row, names.tables, route.key.table.value()));
  if ((route.protocol != kProtocolBoot || details) && !hidden.protocol)
    row.string("protocol", "proto", name_of(row, names.protocols, route.protocol));
  if ((route.scope != kScopeGlobal || details) && !hidden.scope)
    row.string("scope", "scope", name_of(row, names.scopes, route.scope));
  if (route.prefsrc && !hidden.prefsrc) row.address("prefsrc", "src", *route.prefsrc);
  const bool ipv4 = route.key.prefix.family() == Family::kIpv4;
  if ((!ipv4 || route.key.metric != 0) && !hidden.metric) row.number("metric", "metric", route.key.metric);
}

void print_nexthop_info(RowWriter& row, const NexthopObject& object, const NameTables& names) {
  // `ip -o` breaks the line here all the same; a line that is asked to be one stays one.
  row.new_line();
  row.text("\tnh_info ");
  row.open_object("nh_info");
  print_nexthop_fields(row, object, names);
  row.close_object();
}

}  // namespace

void print_route(RowWriter& row, const Route& route, const NexthopCache& nexthops, const NameTables& names,
                 const HiddenFields& hidden, bool deleted) {
  const Family family = route.key.prefix.family();
  const bool ipv6 = family == Family::kIpv6;
  const Shape shape = shape_of(route, nexthops);
  const bool by_id = route.nexthop.value() != 0 && !is_interned(route.nexthop);
  const RouteType type = shape.blackhole ? RouteType::kBlackhole : route.type;

  row.open_object();
  if (deleted) row.truth("deleted", "Deleted ");
  if (type != RouteType::kUnicast || row.options().details) row.string("type", "", to_string(type));
  print_destination(row, route.key.prefix);
  if (by_id) row.number("nhid", "nhid", route.nexthop.value());
  if (shape.single != nullptr) print_encap(row, shape.single->encap);
  if (route.key.tos != 0 && !hidden.tos) print_tos(row, route.key.tos, names);
  if (shape.single != nullptr) {
    print_path(row, *shape.single, family, hidden);
  } else if (ipv6 && route.nexthop.value() == 0 && !hidden.device) {
    row.string("dev", "dev", kLoopback, Colour::kInterface);
  }
  print_key_attributes(row, route, names, hidden);
  print_flags(row, shape.single != nullptr && shape.single->onlink);
  print_metrics(row, route.metrics);
  if (ipv6) print_preference(row, route.preference);
  if (by_id && shape.object != nullptr && row.options().details)
    print_nexthop_info(row, *shape.object, names);
  if (shape.group != nullptr) {
    row.open_array("nexthops");
    for (const GroupMember& member : shape.group->members) print_member(row, nexthops, member, family);
    row.close_array();
  }
  row.close_object();
  row.end_row();
}

}  // namespace waypost::cli
