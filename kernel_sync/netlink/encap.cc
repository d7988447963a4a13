#include "kernel_sync/netlink/encap.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/lwtunnel.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/seg6.h>
#include <linux/seg6_hmac.h>
#include <linux/seg6_iptunnel.h>
#include <sys/socket.h>

#include "kernel_sync/netlink/address.h"
#include "model/check.h"
#include "model/limits.h"

namespace waypost::kernel_sync::netlink {

// The attribute numbers of both outer families are the same, so one table serves both.
static_assert(int{LWTUNNEL_IP_ID} == LWTUNNEL_IP6_ID && int{LWTUNNEL_IP_DST} == LWTUNNEL_IP6_DST &&
              int{LWTUNNEL_IP_SRC} == LWTUNNEL_IP6_SRC && int{LWTUNNEL_IP_TTL} == LWTUNNEL_IP6_HOPLIMIT &&
              int{LWTUNNEL_IP_TOS} == LWTUNNEL_IP6_TC && int{LWTUNNEL_IP_FLAGS} == LWTUNNEL_IP6_FLAGS);

namespace {

constexpr size_t kSegmentHeaderBytes = 8;
constexpr size_t kHmacBytes = sizeof(sr6_tlv_hmac);
constexpr size_t kModeBytes = sizeof(int);

void encode_ip(const EncapIp& encap, MessageWriter& writer) {
  writer.integer<uint16_t>(NHA_ENCAP_TYPE,
                           encap.family == Family::kIpv4 ? LWTUNNEL_ENCAP_IP : LWTUNNEL_ENCAP_IP6);
  const size_t nest = writer.open_nest(NHA_ENCAP | NLA_F_NESTED);
  writer.integer<uint64_t>(LWTUNNEL_IP_ID, htobe64(encap.id));
  if (!encap.source.is_unspecified()) writer.attribute(LWTUNNEL_IP_SRC, encap.source.used());
  writer.attribute(LWTUNNEL_IP_DST, encap.destination.used());
  writer.integer<uint8_t>(LWTUNNEL_IP_TTL, encap.ttl);
  writer.integer<uint8_t>(LWTUNNEL_IP_TOS, encap.tos);
  writer.integer<uint16_t>(LWTUNNEL_IP_FLAGS, htons(encap.flags));
  writer.close_nest(nest);
}

// The header's own segment list runs from the last segment to the first; inline mode keeps slot 0 free for
// the packet's own destination.
void encode_seg6(const EncapSeg6& encap, MessageWriter& writer) {
  const bool leaves_slot = encap.mode == SEG6_IPTUN_MODE_INLINE;
  const size_t slots = encap.segments.size() + (leaves_slot ? 1 : 0);
  WAYPOST_CHECK(slots >= 1 && slots <= limits::kMaxEncapSegments + 1, "segment list was not validated");
  const size_t bytes = kSegmentHeaderBytes + 16 * slots + (encap.hmac != 0 ? kHmacBytes : 0);

  writer.integer<uint16_t>(NHA_ENCAP_TYPE, LWTUNNEL_ENCAP_SEG6);
  const size_t nest = writer.open_nest(NHA_ENCAP | NLA_F_NESTED);
  const size_t header = writer.open_nest(SEG6_IPTUNNEL_SRH);
  const int mode = encap.mode;
  writer.append({reinterpret_cast<const uint8_t*>(&mode), sizeof mode});
  const uint8_t fixed[kSegmentHeaderBytes] = {0,
                                              static_cast<uint8_t>((bytes >> 3) - 1),
                                              4,  // the routing header's type: segment routing
                                              static_cast<uint8_t>(slots - 1),
                                              static_cast<uint8_t>(slots - 1),
                                              static_cast<uint8_t>(encap.hmac != 0 ? SR6_FLAG1_HMAC : 0),
                                              0,
                                              0};
  writer.append(fixed);
  if (leaves_slot) writer.append(IpAddress{Family::kIpv6, {}}.bytes);
  for (auto segment = encap.segments.rbegin(); segment != encap.segments.rend(); ++segment) {
    writer.append(segment->bytes);
  }
  if (encap.hmac != 0) {
    sr6_tlv_hmac tlv = {};
    tlv.tlvhdr.type = SR6_TLV_HMAC;
    tlv.tlvhdr.len = sizeof tlv - sizeof tlv.tlvhdr;
    tlv.hmackeyid = htonl(encap.hmac);
    writer.append({reinterpret_cast<const uint8_t*>(&tlv), sizeof tlv});
  }
  writer.close_nest(header);
  writer.close_nest(nest);
}

bool decode_ip_field(const Attribute& attribute, EncapIp& out) {
  switch (attribute.type) {
    case LWTUNNEL_IP_ID: {
      const auto id = attribute.integer<uint64_t>();
      if (id) out.id = be64toh(*id);
      return id.has_value();
    }
    case LWTUNNEL_IP_DST:
    case LWTUNNEL_IP_SRC: {
      const auto address = to_address(out.family, attribute.payload);
      if (address) (attribute.type == LWTUNNEL_IP_DST ? out.destination : out.source) = *address;
      return address.has_value();
    }
    case LWTUNNEL_IP_TTL:
    case LWTUNNEL_IP_TOS: {
      const auto value = attribute.integer<uint8_t>();
      if (value) (attribute.type == LWTUNNEL_IP_TTL ? out.ttl : out.tos) = *value;
      return value.has_value();
    }
    case LWTUNNEL_IP_FLAGS: {
      const auto flags = attribute.integer<uint16_t>();
      if (flags) out.flags = ntohs(*flags);
      return flags.has_value();
    }
    default:
      return true;
  }
}

Decoded decode_ip(Family family, Bytes nested, Encap& out) {
  EncapIp encap;
  encap.family = family;
  encap.source.family = encap.destination.family = family;
  AttributeReader reader(nested);
  Attribute attribute;
  while (reader.next(attribute)) {
    if (!decode_ip_field(attribute, encap)) return Decoded::kMalformed;
  }
  if (reader.malformed()) return Decoded::kMalformed;
  out = encap;
  return Decoded::kOk;
}

Decoded decode_segments(Bytes header, EncapSeg6& out) {
  if (header.size() < kModeBytes + kSegmentHeaderBytes) return Decoded::kMalformed;
  int mode;
  std::memcpy(&mode, header.data(), sizeof mode);
  out.mode = static_cast<uint8_t>(mode);
  const Bytes routing = header.subspan(kModeBytes);
  const size_t slots = size_t{routing[4]} + 1;
  if (routing.size() < kSegmentHeaderBytes + 16 * slots) return Decoded::kMalformed;
  const size_t first = mode == SEG6_IPTUN_MODE_INLINE ? 1 : 0;
  for (size_t slot = slots; slot > first; --slot) {
    const auto address =
        to_address(Family::kIpv6, routing.subspan(kSegmentHeaderBytes + 16 * (slot - 1), 16));
    out.segments.push_back(*address);
  }
  const Bytes behind = routing.subspan(kSegmentHeaderBytes + 16 * slots);
  if ((routing[5] & SR6_FLAG1_HMAC) != 0 && behind.size() >= kHmacBytes) {
    sr6_tlv_hmac tlv;
    std::memcpy(&tlv, behind.data(), sizeof tlv);
    out.hmac = ntohl(tlv.hmackeyid);
  }
  return Decoded::kOk;
}

Decoded decode_seg6(Bytes nested, Encap& out) {
  EncapSeg6 encap;
  AttributeReader reader(nested);
  Attribute attribute;
  while (reader.next(attribute)) {
    if (attribute.type != SEG6_IPTUNNEL_SRH) continue;
    encap.segments.clear();
    if (decode_segments(attribute.payload, encap) != Decoded::kOk) return Decoded::kMalformed;
  }
  if (reader.malformed()) return Decoded::kMalformed;
  out = std::move(encap);
  return Decoded::kOk;
}

}  // namespace

void encode_encap(const Encap& encap, MessageWriter& writer) {
  if (const auto* ip = std::get_if<EncapIp>(&encap)) encode_ip(*ip, writer);
  if (const auto* seg6 = std::get_if<EncapSeg6>(&encap)) encode_seg6(*seg6, writer);
}

Decoded decode_encap(uint16_t type, Bytes nested, Encap& out) {
  switch (type) {
    case LWTUNNEL_ENCAP_IP:
      return decode_ip(Family::kIpv4, nested, out);
    case LWTUNNEL_ENCAP_IP6:
      return decode_ip(Family::kIpv6, nested, out);
    case LWTUNNEL_ENCAP_SEG6:
      return decode_seg6(nested, out);
    default:
      return Decoded::kSkipped;
  }
}

}  // namespace waypost::kernel_sync::netlink
