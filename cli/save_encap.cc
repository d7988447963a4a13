#include "cli/save_encap.h"

#include <endian.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <linux/seg6.h>
#include <linux/seg6_hmac.h>
#include <linux/seg6_iptunnel.h>

#include <cstring>

#include "model/limits.h"

namespace waypost::cli {
namespace {

constexpr size_t kModeBytes = sizeof(int);
constexpr size_t kSegmentHeaderBytes = 8;

template <typename Integer>
std::optional<Integer> integer(std::string_view bytes) {
  Integer value;
  if (bytes.size() != sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename Integer>
std::string_view as_bytes(const Integer& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// LWTUNNEL_IP_* and LWTUNNEL_IP6_* have the same numbers.
bool decode_ip_attribute(uint16_t number, std::string_view payload, EncapIp& out) {
  switch (number) {
    case LWTUNNEL_IP_ID: {
      const auto id = integer<uint64_t>(payload);
      out.id = be64toh(id.value_or(0));
      return id.has_value();
    }
    case LWTUNNEL_IP_DST:
    case LWTUNNEL_IP_SRC: {
      const auto address = address_of(out.family, payload);
      if (address) (number == LWTUNNEL_IP_DST ? out.destination : out.source) = *address;
      return address.has_value();
    }
    case LWTUNNEL_IP_TTL:
    case LWTUNNEL_IP_TOS: {
      const auto value = integer<uint8_t>(payload);
      (number == LWTUNNEL_IP_TTL ? out.ttl : out.tos) = value.value_or(0);
      return value.has_value();
    }
    case LWTUNNEL_IP_FLAGS: {
      const auto flags = integer<uint16_t>(payload);
      out.flags = be16toh(flags.value_or(0));
      return flags.has_value();
    }
    default:
      return true;  // padding and options
  }
}

std::optional<Encap> decode_ip(Family family, std::string_view nested) {
  EncapIp encap;
  encap.family = encap.source.family = encap.destination.family = family;
  AttributeWalk walk(nested);
  uint16_t number;
  std::string_view payload;
  while (walk.next(&number, &payload))
    if (!decode_ip_attribute(number, payload, encap)) return std::nullopt;
  if (walk.damaged()) return std::nullopt;
  return encap;
}

// mode:4 then an IPv6 segment routing header, the last segment first; `inline` leaves its first slot to the
// packet's own destination.
std::optional<Encap> decode_segments(std::string_view header) {
  if (header.size() < kModeBytes + kSegmentHeaderBytes) return std::nullopt;
  EncapSeg6 encap;
  const auto mode = integer<int>(header.substr(0, kModeBytes));
  if (!mode || *mode < 0 || *mode > 4) return std::nullopt;
  encap.mode = static_cast<uint8_t>(*mode);
  const std::string_view routing = header.substr(kModeBytes);
  const size_t slots = size_t{static_cast<uint8_t>(routing[4])} + 1;
  const size_t first = encap.mode == SEG6_IPTUN_MODE_INLINE ? 1 : 0;
  if (slots - first == 0 || slots - first > limits::kMaxEncapSegments) return std::nullopt;
  if (routing.size() < kSegmentHeaderBytes + 16 * slots) return std::nullopt;
  for (size_t slot = slots; slot > first; --slot)
    encap.segments.push_back(
        *address_of(Family::kIpv6, routing.substr(kSegmentHeaderBytes + 16 * (slot - 1), 16)));
  const std::string_view behind = routing.substr(kSegmentHeaderBytes + 16 * slots);
  sr6_tlv_hmac tlv;
  if ((static_cast<uint8_t>(routing[5]) & SR6_FLAG1_HMAC) != 0 && behind.size() >= sizeof tlv) {
    std::memcpy(&tlv, behind.data(), sizeof tlv);
    encap.hmac = be32toh(tlv.hmackeyid);
  }
  return encap;
}

std::optional<Encap> decode_seg6(std::string_view nested) {
  std::optional<Encap> encap;
  AttributeWalk walk(nested);
  uint16_t number;
  std::string_view payload;
  while (walk.next(&number, &payload)) {
    if (number != SEG6_IPTUNNEL_SRH) continue;
    encap = decode_segments(payload);
    if (!encap) return std::nullopt;
  }
  return walk.damaged() ? std::nullopt : encap;
}

std::string encode_ip(const EncapIp& encap) {
  std::string nested;
  append_attribute(nested, LWTUNNEL_IP_ID, as_bytes(htobe64(encap.id)));
  append_attribute(nested, LWTUNNEL_IP_DST, bytes_view(encap.destination));
  if (!encap.source.is_unspecified()) append_attribute(nested, LWTUNNEL_IP_SRC, bytes_view(encap.source));
  append_attribute(nested, LWTUNNEL_IP_TTL, as_bytes(encap.ttl));
  append_attribute(nested, LWTUNNEL_IP_TOS, as_bytes(encap.tos));
  append_attribute(nested, LWTUNNEL_IP_FLAGS, as_bytes(static_cast<uint16_t>(htobe16(encap.flags))));
  return nested;
}

std::string encode_seg6(const EncapSeg6& encap) {
  const bool leaves_slot = encap.mode == SEG6_IPTUN_MODE_INLINE;
  const size_t slots = encap.segments.size() + (leaves_slot ? 1 : 0);
  sr6_tlv_hmac tlv = {};
  const size_t bytes = kSegmentHeaderBytes + 16 * slots + (encap.hmac != 0 ? sizeof tlv : 0);
  const int mode = encap.mode;
  std::string header(as_bytes(mode));
  const char last = static_cast<char>(slots - 1);
  const char flags = static_cast<char>(encap.hmac != 0 ? SR6_FLAG1_HMAC : 0);
  header.append({'\0', static_cast<char>((bytes >> 3) - 1), 4, last, last, flags, '\0', '\0'});
  if (leaves_slot) header.append(16, '\0');
  for (auto segment = encap.segments.rbegin(); segment != encap.segments.rend(); ++segment)
    header.append(bytes_view(*segment));
  if (encap.hmac != 0) {
    tlv.tlvhdr.type = SR6_TLV_HMAC;
    tlv.tlvhdr.len = sizeof tlv - sizeof tlv.tlvhdr;
    tlv.hmackeyid = htobe32(encap.hmac);
    header.append(as_bytes(tlv));
  }
  std::string nested;
  append_attribute(nested, SEG6_IPTUNNEL_SRH, header);
  return nested;
}

}  // namespace

void append_attribute(std::string& out, uint16_t number, std::string_view payload) {
  const rtattr header{.rta_len = static_cast<uint16_t>(RTA_LENGTH(payload.size())), .rta_type = number};
  out.append(as_bytes(header));
  out.append(payload);
  out.append(RTA_ALIGN(payload.size()) - payload.size(), '\0');
}

bool AttributeWalk::next(uint16_t* number, std::string_view* payload) {
  if (rest_.empty()) return false;
  rtattr header;
  damaged_ = rest_.size() < sizeof header;
  if (damaged_) return false;
  std::memcpy(&header, rest_.data(), sizeof header);
  damaged_ = header.rta_len < sizeof header || header.rta_len > rest_.size();
  if (damaged_) return false;
  *number = header.rta_type & NLA_TYPE_MASK;
  *payload = rest_.substr(sizeof header, header.rta_len - sizeof header);
  rest_.remove_prefix(std::min<size_t>(RTA_ALIGN(header.rta_len), rest_.size()));
  return true;
}

bool is_known_encap(uint16_t type) {
  return type == LWTUNNEL_ENCAP_IP || type == LWTUNNEL_ENCAP_IP6 || type == LWTUNNEL_ENCAP_SEG6;
}

std::optional<Encap> decode_saved_encap(uint16_t type, std::string_view nested) {
  if (type == LWTUNNEL_ENCAP_IP) return decode_ip(Family::kIpv4, nested);
  if (type == LWTUNNEL_ENCAP_IP6) return decode_ip(Family::kIpv6, nested);
  if (type == LWTUNNEL_ENCAP_SEG6) return decode_seg6(nested);
  return std::nullopt;
}

void append_saved_encap(std::string& out, const Encap& encap) {
  uint16_t type = 0;
  std::string nested;
  if (const auto* ip = std::get_if<EncapIp>(&encap)) {
    type = ip->family == Family::kIpv4 ? LWTUNNEL_ENCAP_IP : LWTUNNEL_ENCAP_IP6;
    nested = encode_ip(*ip);
  } else if (const auto* seg6 = std::get_if<EncapSeg6>(&encap)) {
    type = LWTUNNEL_ENCAP_SEG6;
    nested = encode_seg6(*seg6);
  } else {
    return;
  }
  append_attribute(out, RTA_ENCAP, nested);
  append_attribute(out, RTA_ENCAP_TYPE, as_bytes(type));
}

std::optional<IpAddress> address_of(Family family, std::string_view bytes) {
  IpAddress address{.family = family};
  if (bytes.size() != static_cast<size_t>(address_bytes(family))) return std::nullopt;
  std::memcpy(address.bytes.data(), bytes.data(), bytes.size());
  return address;
}

std::string_view bytes_view(const IpAddress& address) {
  return {reinterpret_cast<const char*>(address.bytes.data()), address.used().size()};
}

}  // namespace waypost::cli
