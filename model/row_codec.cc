#include "model/row_codec.h"

#include <xxhash.h>

#include "model/bytes.h"
#include "model/limits.h"

namespace waypost {
namespace {

// address      := family:1 (4 | 6)  bytes:4 | bytes:16
void append_address(std::string& out, const IpAddress& address) {
  append_u8(out, static_cast<uint8_t>(address.family));
  out.append(reinterpret_cast<const char*>(address.bytes.data()), address.used().size());
}

Family read_family(ByteReader& reader) {
  const uint8_t byte = reader.u8();
  if (byte != static_cast<uint8_t>(Family::kIpv4) && byte != static_cast<uint8_t>(Family::kIpv6)) {
    reader.fail();
    return Family::kIpv4;
  }
  return static_cast<Family>(byte);
}

IpAddress read_address(ByteReader& reader) {
  IpAddress address{.family = read_family(reader)};
  const std::string_view bytes = reader.take(static_cast<uint64_t>(address_bytes(address.family)));
  for (size_t i = 0; i < bytes.size(); ++i) address.bytes[i] = static_cast<uint8_t>(bytes[i]);
  return address;
}

bool read_bool(ByteReader& reader) {
  const uint8_t byte = reader.u8();
  if (byte > 1) reader.fail();
  return byte == 1;
}

// encap        := 1 encap_ip | 2 encap_seg6            the first byte is the kind
// encap_ip     := family:1 id:8 source:address destination:address ttl:1 tos:1 flags:2
// encap_seg6   := mode:1 hmac:4 count:varint (bytes:16)*
constexpr uint8_t kEncapIp = 1;
constexpr uint8_t kEncapSeg6 = 2;

void append_encap(std::string& out, const EncapIp& encap) {
  append_u8(out, kEncapIp);
  append_u8(out, static_cast<uint8_t>(encap.family));
  append_u64(out, encap.id);
  append_address(out, encap.source);
  append_address(out, encap.destination);
  append_u8(out, encap.ttl);
  append_u8(out, encap.tos);
  append_u16(out, encap.flags);
}

void append_encap(std::string& out, const EncapSeg6& encap) {
  append_u8(out, kEncapSeg6);
  append_u8(out, encap.mode);
  append_u32(out, encap.hmac);
  append_varint(out, encap.segments.size());
  for (const IpAddress& segment : encap.segments)
    out.append(reinterpret_cast<const char*>(segment.bytes.data()), segment.bytes.size());
}

Encap read_encap(ByteReader& reader) {
  const uint8_t kind = reader.u8();
  if (kind == kEncapIp) {
    EncapIp encap;
    encap.family = read_family(reader);
    encap.id = reader.u64();
    encap.source = read_address(reader);
    encap.destination = read_address(reader);
    encap.ttl = reader.u8();
    encap.tos = reader.u8();
    encap.flags = reader.u16();
    return encap;
  }
  EncapSeg6 encap;
  encap.mode = reader.u8();
  encap.hmac = reader.u32();
  const uint64_t count = reader.varint();
  if (kind != kEncapSeg6 || count > reader.rest().size() / 16) reader.fail();
  for (uint64_t i = 0; i < count && !reader.failed(); ++i) {
    IpAddress& segment = encap.segments.emplace_back(IpAddress{.family = Family::kIpv6});
    const std::string_view bytes = reader.take(16);
    for (size_t at = 0; at < bytes.size(); ++at) segment.bytes[at] = static_cast<uint8_t>(bytes[at]);
  }
  return encap;
}

// single       := family:1 flags:1 [gateway:address] [device: length:varint bytes] [encap]
// flags        bit 0 gateway, 1 device, 2 onlink, 3 blackhole, 4 fdb, 5 encap
constexpr uint8_t kHasGateway = 1;
constexpr uint8_t kHasDevice = 2;
constexpr uint8_t kOnlink = 4;
constexpr uint8_t kBlackhole = 8;
constexpr uint8_t kFdb = 16;
constexpr uint8_t kHasEncap = 32;

void append_single(std::string& out, const Nexthop& nexthop) {
  append_u8(out, static_cast<uint8_t>(nexthop.family));
  append_u8(out, static_cast<uint8_t>(
                     (nexthop.gateway ? kHasGateway : 0) | (nexthop.device.empty() ? 0 : kHasDevice) |
                     (nexthop.onlink ? kOnlink : 0) | (nexthop.blackhole ? kBlackhole : 0) |
                     (nexthop.fdb ? kFdb : 0) | (nexthop.encap.index() != 0 ? kHasEncap : 0)));
  if (nexthop.gateway) append_address(out, *nexthop.gateway);
  if (!nexthop.device.empty()) append_sized(out, nexthop.device);
  if (const auto* ip = std::get_if<EncapIp>(&nexthop.encap)) append_encap(out, *ip);
  if (const auto* seg6 = std::get_if<EncapSeg6>(&nexthop.encap)) append_encap(out, *seg6);
}

Nexthop read_single(ByteReader& reader) {
  Nexthop nexthop;
  nexthop.family = read_family(reader);
  const uint8_t flags = reader.u8();
  if (flags >= 2 * kHasEncap) reader.fail();
  if ((flags & kHasGateway) != 0) nexthop.gateway = read_address(reader);
  if ((flags & kHasDevice) != 0) {
    nexthop.device = reader.sized();
    if (nexthop.device.empty()) reader.fail();
  }
  nexthop.onlink = (flags & kOnlink) != 0;
  nexthop.blackhole = (flags & kBlackhole) != 0;
  nexthop.fdb = (flags & kFdb) != 0;
  if ((flags & kHasEncap) != 0) nexthop.encap = read_encap(reader);
  return nexthop;
}

// group        := type:1 fdb:1 count:varint (id:4 weight:2)* [buckets:2 idle_timer:4 unbalanced_timer:4]
//                                                             the last three where type is resilient (1)
constexpr size_t kMemberBytes = 6;

void append_group(std::string& out, const NexthopGroup& group) {
  append_u8(out, static_cast<uint8_t>(group.type));
  append_u8(out, group.fdb ? 1 : 0);
  append_varint(out, group.members.size());
  for (const GroupMember& member : group.members) {
    append_u32(out, member.id.value());
    append_u16(out, member.weight);
  }
  if (group.type != GroupType::kResilient) return;
  append_u16(out, group.resilient.buckets);
  append_u32(out, group.resilient.idle_timer_cs);
  append_u32(out, group.resilient.unbalanced_timer_cs);
}

NexthopGroup read_group(ByteReader& reader) {
  NexthopGroup group;
  const uint8_t type = reader.u8();
  if (type > static_cast<uint8_t>(GroupType::kResilient)) reader.fail();
  group.type = static_cast<GroupType>(type);
  group.fdb = read_bool(reader);
  const uint64_t count = reader.varint();
  if (count > reader.rest().size() / kMemberBytes) reader.fail();
  if (!reader.failed()) group.members.reserve(count);
  for (uint64_t i = 0; i < count && !reader.failed(); ++i) {
    const NexthopId id{reader.u32()};
    group.members.push_back({.id = id, .weight = reader.u16()});
  }
  if (group.type != GroupType::kResilient) return group;
  group.resilient.buckets = reader.u16();
  group.resilient.idle_timer_cs = reader.u32();
  group.resilient.unbalanced_timer_cs = reader.u32();
  return group;
}

// metrics      := count:varint (number:1 value:4)* lock:4 congestion_control:(length:varint bytes)
constexpr size_t kMetricBytes = 5;

void append_metrics(std::string& out, const RouteMetrics& metrics) {
  append_varint(out, metrics.values.size());
  for (const auto& [number, value] : metrics.values) {
    append_u8(out, number);
    append_u32(out, value);
  }
  append_u32(out, metrics.lock);
  append_sized(out, metrics.congestion_control);
}

RouteMetrics read_metrics(ByteReader& reader) {
  RouteMetrics metrics;
  const uint64_t count = reader.varint();
  if (count > reader.rest().size() / kMetricBytes) reader.fail();
  for (uint64_t i = 0; i < count && !reader.failed(); ++i) {
    const uint8_t number = reader.u8();
    metrics.values.emplace_back(number, reader.u32());
  }
  metrics.lock = reader.u32();
  metrics.congestion_control = reader.sized();
  if (metrics.empty()) reader.fail();
  return metrics;
}

Error corrupt(std::string object) {
  return {.code = ErrorCode::kCorruption, .message = std::move(object) + ": its bytes follow no known form"};
}

}  // namespace

// nexthop_key  := id:4
void append_nexthop_key(std::string& out, NexthopId id) {
  append_u32(out, id.value());
}

std::optional<NexthopId> decode_nexthop_key(std::string_view bytes) {
  ByteReader reader(bytes);
  const NexthopId id{reader.u32()};
  return reader.done() ? std::optional(id) : std::nullopt;
}

// route_key    := table:4 prefix tos:1 metric:4
// prefix       := address length:1                     bits behind the length are zero
void append_route_key(std::string& out, const RouteKey& key) {
  append_u32(out, key.table.value());
  append_address(out, key.prefix.address);
  append_u8(out, key.prefix.length);
  append_u8(out, key.tos);
  append_u32(out, key.metric);
}

std::optional<RouteKey> decode_route_key(std::string_view bytes) {
  ByteReader reader(bytes);
  RouteKey key;
  key.table = TableId(reader.u32());
  key.prefix.address = read_address(reader);
  key.prefix.length = reader.u8();
  key.tos = reader.u8();
  key.metric = reader.u32();
  if (!reader.done() || key.prefix.length > address_bits(key.prefix.family())) return std::nullopt;
  if (masked(key.prefix.address, key.prefix.length) != key.prefix.address) return std::nullopt;
  return key;
}

// nexthop_value := kind:1 (1 single | 2 group) protocol:1 single | group
constexpr uint8_t kSingle = 1;
constexpr uint8_t kGroup = 2;

std::string encode_nexthop_value(const NexthopObject& object) {
  std::string out;
  append_u8(out, object.is_group() ? kGroup : kSingle);
  append_u8(out, object.protocol);
  object.is_group() ? append_group(out, object.group()) : append_single(out, object.nexthop());
  return out;
}

Result<NexthopObject> decode_nexthop_value(NexthopId id, std::string_view bytes) {
  ByteReader reader(bytes);
  const uint8_t kind = reader.u8();
  NexthopObject object{.id = id, .protocol = reader.u8(), .body = {}};
  if (kind == kSingle)
    object.body = read_single(reader);
  else if (kind == kGroup)
    object.body = read_group(reader);
  else
    reader.fail();
  if (!reader.done()) return corrupt("nexthop " + std::to_string(id.value()));
  return object;
}

// route_value  := type:1 protocol:1 scope:1 preference:1 nexthop:4 flags:1 [prefsrc:address] [metrics]
// flags        bit 0 prefsrc, 1 metrics
constexpr uint8_t kHasPrefsrc = 1;
constexpr uint8_t kHasMetrics = 2;

std::string encode_route_value(const Route& route) {
  std::string out;
  append_u8(out, static_cast<uint8_t>(route.type));
  append_u8(out, route.protocol);
  append_u8(out, route.scope);
  append_u8(out, route.preference);
  append_u32(out, route.nexthop.value());
  const bool has_metrics = !route.metrics.empty();
  append_u8(out, static_cast<uint8_t>((route.prefsrc ? kHasPrefsrc : 0) | (has_metrics ? kHasMetrics : 0)));
  if (route.prefsrc) append_address(out, *route.prefsrc);
  if (has_metrics) append_metrics(out, route.metrics);
  return out;
}

Result<Route> decode_route_value(const RouteKey& key, std::string_view bytes) {
  ByteReader reader(bytes);
  Route route;
  route.key = key;
  route.type = static_cast<RouteType>(reader.u8());
  route.protocol = reader.u8();
  route.scope = reader.u8();
  route.preference = reader.u8();
  route.nexthop = NexthopId(reader.u32());
  const uint8_t flags = reader.u8();
  if (flags > (kHasPrefsrc | kHasMetrics)) reader.fail();
  if ((flags & kHasPrefsrc) != 0) route.prefsrc = read_address(reader);
  if ((flags & kHasMetrics) != 0) route.metrics = read_metrics(reader);
  if (!reader.done()) return corrupt("route " + to_string(key));
  return route;
}

uint64_t row_guard(std::string_view value) {
  const uint64_t hash = XXH3_64bits(value.data(), value.size());
  return hash == 0 ? 1 : hash;
}

void append_row(std::string& block, std::string_view key, std::string_view value) {
  append_sized(block, key);
  append_sized(block, value);
}

bool RowBlockReader::next(std::string_view* key, std::string_view* value) {
  if (rest_.empty()) return false;
  ByteReader reader(rest_);
  *key = reader.sized();
  *value = reader.sized();
  damaged_ = reader.failed();
  rest_ = reader.rest();
  return !damaged_;
}

}  // namespace waypost
