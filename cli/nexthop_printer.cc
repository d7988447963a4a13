#include "cli/nexthop_printer.h"

#include <array>
#include <charconv>

namespace waypost::cli {
namespace {

// TUNNEL_* bits as EncapIp::flags carries them.
constexpr uint16_t kTunnelChecksum = 0x01;
constexpr uint16_t kTunnelKey = 0x04;
constexpr uint16_t kTunnelSequence = 0x08;

constexpr std::array<std::string_view, 5> kSeg6Modes = {"inline", "encap", "l2encap", "encap.red",
                                                        "l2encap.red"};

// `ip` colours the word along with the address here.
void print_tunnel_end(RowWriter& row, std::string_view key, const IpAddress& address) {
  if (row.json()) return row.address(key, key, address);
  row.coloured(colour_of(address.family), std::string(key) + " " + to_string(address) + " ");
}

void print_encap_ip(RowWriter& row, const EncapIp& encap) {
  const bool ipv4 = encap.family == Family::kIpv4;
  row.string("encap", " encap", ipv4 ? "ip" : "ip6");
  row.number("id", "id", encap.id);
  const IpAddress nowhere{.family = encap.family};
  print_tunnel_end(row, "src", encap.source.is_unspecified() ? nowhere : encap.source);
  print_tunnel_end(row, "dst", encap.destination);
  row.number(ipv4 ? "ttl" : "hoplimit", ipv4 ? "ttl" : "hoplimit", encap.ttl);
  row.number(ipv4 ? "tos" : "tc", ipv4 ? "tos" : "tc", encap.tos);
  if ((encap.flags & kTunnelKey) != 0) row.truth("key", "key ");
  if ((encap.flags & kTunnelChecksum) != 0) row.truth("csum", "csum ");
  if ((encap.flags & kTunnelSequence) != 0) row.truth("seq", "seq ");
}

void print_hmac(RowWriter& row, uint32_t hmac) {
  char digits[8];
  const char* end = std::to_chars(digits, digits + sizeof(digits), hmac, 16).ptr;
  std::string text(digits, static_cast<size_t>(end - digits));
  if (row.json()) return row.string("hmac", "", "0x" + text);
  for (char& c : text)
    if (c >= 'a') c = static_cast<char>(c - 'a' + 'A');
  row.string("hmac", "hmac", text);
}

void print_segment(RowWriter& row, const IpAddress& segment) {
  char text[48];
  char* end = write_address(segment, text);
  if (row.json()) return row.element({text, static_cast<size_t>(end - text)});
  *end++ = ' ';
  row.coloured(colour_of(segment.family), {text, static_cast<size_t>(end - text)});
}

void print_encap_seg6(RowWriter& row, const EncapSeg6& encap) {
  // An inserted header ends with an empty slot for the packet's own destination, which is not stored but
  // shown.
  const bool has_slot = encap.mode == 0;
  row.string("encap", " encap", "seg6");
  row.string("mode", "mode", encap.mode < kSeg6Modes.size() ? kSeg6Modes[encap.mode] : "<unknown>");
  row.open_array("segs");
  row.text("segs " + std::to_string(encap.segments.size() + (has_slot ? 1 : 0)) + " [ ");
  for (const IpAddress& segment : encap.segments) print_segment(row, segment);
  if (has_slot) print_segment(row, {.family = Family::kIpv6});
  row.close_array();
  row.text("] ");
  if (encap.hmac != 0) print_hmac(row, encap.hmac);
}

void print_members(RowWriter& row, const NexthopGroup& group) {
  row.text("group ");
  row.open_array("group");
  bool first = true;
  char text[24];
  for (const GroupMember& member : group.members) {
    if (row.json()) {
      row.open_object();
      row.number("id", "", member.id.value());
      // `ip` 6.1 prints a weight modulo 256 (KERNEL.md case 32); here it is what is stored.
      if (member.weight != 1) row.number("weight", "", member.weight);
      row.close_object();
      continue;
    }
    char* end = text;
    if (!first) *end++ = '/';
    first = false;
    end = std::to_chars(end, text + sizeof(text), member.id.value()).ptr;
    if (member.weight != 1) {
      *end++ = ',';
      end = std::to_chars(end, text + sizeof(text), member.weight).ptr;
    }
    row.text({text, static_cast<size_t>(end - text)});
  }
  row.close_array();
  row.text(" ");
}

// Hundredths of a second as `ip` prints them: 60, 60.5, 300.25.
std::string seconds(uint64_t hundredths) {
  std::string text = std::to_string(hundredths / 100);
  const uint64_t rest = hundredths % 100;
  if (rest == 0) return text;
  text += '.';
  text += static_cast<char>('0' + rest / 10);
  if (rest % 10 != 0) text += static_cast<char>('0' + rest % 10);
  return text;
}

void print_timer(RowWriter& row, std::string_view key, uint64_t hundredths) {
  const std::string text = seconds(hundredths);
  if (row.json()) return row.raw_value(key, text);
  row.string(key, key, text);
}

void print_resilient(RowWriter& row, const ResilientParameters& parameters) {
  row.string("type", "type", "resilient");
  row.open_object("resilient_args");
  row.number("buckets", "buckets", parameters.buckets);
  print_timer(row, "idle_timer", parameters.idle_timer_cs);
  print_timer(row, "unbalanced_timer", parameters.unbalanced_timer_cs);
  // How long a group has been out of balance is known to a kernel only; a stored one is not.
  print_timer(row, "unbalanced_time", 0);
  row.close_object();
}

// The kernel derives it, so it is not stored: host for a bare IPv4 device, link for all else that leads
// somewhere.
uint8_t scope_of(const NexthopObject& object) {
  if (object.is_group() || object.nexthop().blackhole) return kScopeGlobal;
  const Nexthop& nexthop = object.nexthop();
  return !nexthop.gateway && nexthop.family == Family::kIpv4 ? kScopeHost : kScopeLink;
}

}  // namespace

std::string name_of(const RowWriter& row, const NumberNames& names, uint32_t number) {
  return row.options().numeric ? std::to_string(number) : names.text(number);
}

void print_encap(RowWriter& row, const Encap& encap) {
  if (const auto* ip = std::get_if<EncapIp>(&encap)) return print_encap_ip(row, *ip);
  if (const auto* seg6 = std::get_if<EncapSeg6>(&encap)) print_encap_seg6(row, *seg6);
}

void print_gateway(RowWriter& row, const IpAddress& gateway, Family family) {
  if (gateway.family == family) return row.address("gateway", "via", gateway);
  row.open_object("via");
  row.string("family", "via", gateway.family == Family::kIpv4 ? "inet" : "inet6");
  row.address("host", "", gateway);
  row.close_object();
}

void print_flags(RowWriter& row, bool onlink) {
  row.open_array("flags");
  if (onlink && row.json()) row.element("onlink");
  if (onlink) row.text("onlink ");
  row.close_array();
}

void print_nexthop_fields(RowWriter& row, const NexthopObject& object, const NameTables& names) {
  row.number("id", "id", object.id.value());
  const Nexthop* nexthop = std::get_if<Nexthop>(&object.body);
  const bool fdb = nexthop != nullptr ? nexthop->fdb : object.group().fdb;
  if (nexthop == nullptr) {
    print_members(row, object.group());
    if (object.group().type == GroupType::kResilient) print_resilient(row, object.group().resilient);
  } else {
    print_encap(row, nexthop->encap);
    if (nexthop->gateway) row.address("gateway", "via", *nexthop->gateway);
    if (!nexthop->device.empty()) row.string("dev", "dev", nexthop->device, Colour::kInterface);
  }
  const bool details = row.options().details;
  const uint8_t scope = scope_of(object);
  if (scope != kScopeGlobal || details) row.string("scope", "scope", name_of(row, names.scopes, scope));
  if (nexthop != nullptr && nexthop->blackhole) row.null("blackhole", "blackhole ");
  if (object.protocol != 0 || details)
    row.string("protocol", "proto", name_of(row, names.protocols, object.protocol));
  print_flags(row, nexthop != nullptr && nexthop->onlink);
  if (fdb) row.null("fdb", "fdb");
}

void print_nexthop(RowWriter& row, const NexthopObject& object, const NameTables& names, bool deleted) {
  row.open_object();
  if (deleted) row.truth("deleted", "Deleted ");
  print_nexthop_fields(row, object, names);
  row.close_object();
  row.end_row();
}

}  // namespace waypost::cli
