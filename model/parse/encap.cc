// Words that nexthops and the paths of routes share: `via`, `dev` and `encap`.
#include <algorithm>

#include "model/limits.h"
#include "model/parse/lines.h"

namespace waypost::parse {
namespace {

// TUNNEL_* of linux/if_tunnel.h.
constexpr uint16_t kTunnelChecksum = 0x01;
constexpr uint16_t kTunnelKey = 0x04;
constexpr uint16_t kTunnelSequence = 0x08;

enum class EncapWord : uint8_t { kId, kDestination, kSource, kTos, kTtl, kKey, kChecksum, kSequence };

constexpr Keyword<EncapWord> kIpv4Words[] = {
    {"id", true, EncapWord::kId},         {"dst", true, EncapWord::kDestination},
    {"src", true, EncapWord::kSource},    {"tos", true, EncapWord::kTos},
    {"ttl", true, EncapWord::kTtl},       {"key", true, EncapWord::kKey},
    {"csum", true, EncapWord::kChecksum}, {"seq", true, EncapWord::kSequence}};
constexpr Keyword<EncapWord> kIpv6Words[] = {
    {"id", true, EncapWord::kId},         {"dst", true, EncapWord::kDestination},
    {"src", true, EncapWord::kSource},    {"tc", true, EncapWord::kTos},
    {"hoplimit", true, EncapWord::kTtl},  {"key", true, EncapWord::kKey},
    {"csum", true, EncapWord::kChecksum}, {"seq", true, EncapWord::kSequence}};

constexpr std::string_view kSeg6Modes[] = {"inline", "encap", "l2encap", "encap.red", "l2encap.red"};

bool read_endpoint(Cursor& cursor, const Word& keyword, Family family, IpAddress* out) {
  const Word* word = cursor.value(keyword);
  return word != nullptr && cursor.address(*word, family, out);
}

bool read_ip_word(Cursor& cursor, const Word& word, EncapWord id, const NameTables& names, EncapIp* out) {
  uint64_t ttl = 0;
  switch (id) {
    case EncapWord::kId:
      return cursor.number(word, "a tunnel id", 0, UINT64_MAX, &out->id);
    case EncapWord::kDestination:
      return read_endpoint(cursor, word, out->family, &out->destination);
    case EncapWord::kSource:
      return read_endpoint(cursor, word, out->family, &out->source);
    case EncapWord::kTos:
      return cursor.dsfield(word, names.dsfields, &out->tos);
    case EncapWord::kTtl:
      if (!cursor.number(word, "a time to live", 0, UINT8_MAX, &ttl)) return false;
      out->ttl = static_cast<uint8_t>(ttl);
      return true;
    case EncapWord::kKey:
      out->flags |= kTunnelKey;
      return true;
    case EncapWord::kChecksum:
      out->flags |= kTunnelChecksum;
      return true;
    case EncapWord::kSequence:
      out->flags |= kTunnelSequence;
      return true;
  }
  return false;
}

// Its words end at the first one that is not its own.
bool read_ip(Cursor& cursor, Family family, const NameTables& names, EncapIp* out) {
  out->family = out->source.family = out->destination.family = family;
  while (!cursor.at_end()) {
    const auto* keyword = family == Family::kIpv4 ? find_keyword(kIpv4Words, cursor.peek().text)
                                                  : find_keyword(kIpv6Words, cursor.peek().text);
    if (keyword == nullptr) return true;
    const Word& word = cursor.take();
    if (!read_ip_word(cursor, word, keyword->id, names, out)) return false;
  }
  return true;
}

bool read_segments(Cursor& cursor, const Word& keyword, EncapSeg6* out) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  out->segments.clear();
  Word segment = *word;
  for (std::string_view rest = word->text;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    segment.text = rest.substr(0, comma);
    segment.column = word->column + static_cast<uint32_t>(rest.data() - word->text.data());
    if (out->segments.size() == limits::kMaxEncapSegments)
      return cursor.fail(
          segment, "a seg6 encap has at most " + std::to_string(limits::kMaxEncapSegments) + " segments");
    if (!cursor.address(segment, Family::kIpv6, &out->segments.emplace_back())) return false;
    if (comma == rest.size()) return true;
    rest.remove_prefix(comma + 1);
  }
}

bool read_seg6_mode(Cursor& cursor, const Word& keyword, EncapSeg6* out) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  const auto* mode = std::find(std::begin(kSeg6Modes), std::end(kSeg6Modes), word->text);
  if (mode == std::end(kSeg6Modes))
    return cursor.fail(*word, quoted(word->text) + " is not a seg6 mode",
                       "inline, encap, l2encap, encap.red and l2encap.red are");
  out->mode = static_cast<uint8_t>(mode - std::begin(kSeg6Modes));
  return true;
}

bool read_seg6(Cursor& cursor, const Word& keyword, EncapSeg6* out) {
  while (!cursor.at_end()) {
    const std::string_view text = cursor.peek().text;
    uint64_t hmac = 0;
    if (text == "mode") {
      const Word& word = cursor.take();
      if (!read_seg6_mode(cursor, word, out)) return false;
    } else if (text == "segs") {
      const Word& word = cursor.take();
      if (!read_segments(cursor, word, out)) return false;
    } else if (text == "hmac") {
      const Word& word = cursor.take();
      if (!cursor.number(word, "a key id", 0, UINT32_MAX, &hmac)) return false;
      out->hmac = static_cast<uint32_t>(hmac);
    } else {
      break;
    }
  }
  if (out->segments.empty())
    return cursor.fail(keyword, "a seg6 encap needs segments", "add `segs ADDRESS,ADDRESS`");
  return true;
}

}  // namespace

bool read_encap(Cursor& cursor, const Word& keyword, const NameTables& names, Encap* out) {
  const Word* type = cursor.value(keyword);
  if (type == nullptr) return false;
  if (type->text == "ip") return read_ip(cursor, Family::kIpv4, names, &out->emplace<EncapIp>());
  if (type->text == "ip6") return read_ip(cursor, Family::kIpv6, names, &out->emplace<EncapIp>());
  if (type->text == "seg6") return read_seg6(cursor, *type, &out->emplace<EncapSeg6>());
  return cursor.fail(*type, "encap " + quoted(type->text) + " is not stored", "encap ip, ip6 and seg6 are");
}

bool read_via(Cursor& cursor, const Word& keyword, GatewayFamily allowed, std::optional<Family>* family,
              Nexthop* out, bool* unspecified) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  std::optional<Family> wanted = *family;
  const bool says_family = word->text == "inet" || word->text == "inet6";
  if (says_family) {
    wanted = word->text == "inet" ? Family::kIpv4 : Family::kIpv6;
    word = cursor.value(*word);
    if (word == nullptr) return false;
  }
  if (allowed == GatewayFamily::kOfTheLine && *family) wanted = *family;
  IpAddress address;
  if (!cursor.address(*word, std::nullopt, &address)) return false;
  if (wanted && *wanted != address.family) {
    const bool ipv6 = address.family == Family::kIpv6;
    return cursor.fail(*word,
                       quoted(word->text) + (ipv6 ? " is not an IPv4 address" : " is not an IPv6 address"),
                       ipv6 && !says_family && allowed == GatewayFamily::kAny
                           ? "an IPv6 gateway is written `via inet6 ADDRESS` there"
                           : "");
  }
  if (!*family) *family = address.family;
  *unspecified = address.is_unspecified();
  out->family = address.family;
  out->gateway.reset();
  if (!*unspecified) out->gateway = address;  // KERNEL.md case 8
  return true;
}

bool read_device(Cursor& cursor, const Word& keyword, std::string* out) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  if (word->text.empty() || word->text.size() > limits::kMaxDeviceName)
    return cursor.fail(*word, quoted(word->text) + " is not a device name", "1 to 15 characters");
  *out = word->text;
  return true;
}

}  // namespace waypost::parse
