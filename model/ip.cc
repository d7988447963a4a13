#include "model/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "model/number.h"

namespace waypost {
namespace {

Error invalid(std::string words, std::string hint = {}) {
  return {.code = ErrorCode::kInvalidArgument, .message = std::move(words), .hint = std::move(hint)};
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  out.append(text);
  out += '\'';
  return out;
}

// One to four dotted decimal numbers of 0..255 without leading zeros; the missing ones are 0. Returns how
// many stand there, 0 on anything else.
int read_ipv4(std::string_view text, std::array<uint8_t, 16>& bytes) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int count = 0; count < 4;) {
    if (at == end || *at < '0' || *at > '9') return 0;
    unsigned number = static_cast<unsigned>(*at++ - '0');
    const bool zero = number == 0;
    for (; at != end && *at >= '0' && *at <= '9'; ++at) {
      number = number * 10 + static_cast<unsigned>(*at - '0');
      if (zero || number > 255) return 0;
    }
    bytes[static_cast<size_t>(count++)] = static_cast<uint8_t>(number);
    if (at == end) return count;
    if (*at++ != '.') return 0;
  }
  return 0;
}

bool read_ipv6(std::string_view text, std::array<uint8_t, 16>& bytes) {
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof(terminated)) return false;
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = 0;
  return std::strlen(terminated) == text.size() && inet_pton(AF_INET6, terminated, bytes.data()) == 1;
}

char* write_octet(uint8_t value, char* out) {
  if (value >= 100) *out++ = static_cast<char>('0' + value / 100);
  if (value >= 10) *out++ = static_cast<char>('0' + value / 10 % 10);
  *out++ = static_cast<char>('0' + value % 10);
  return out;
}

char* write_ipv4(const uint8_t* bytes, char* out) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0) *out++ = '.';
    out = write_octet(bytes[i], out);
  }
  return out;
}

// The first longest run of zero groups, of two at least: what `::` stands for (RFC 5952, section 4.2). Empty
// run: none.
struct ZeroRun {
  int begin = -1;
  int length = 0;
};
ZeroRun longest_zero_run(const uint16_t (&groups)[8]) {
  ZeroRun best;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i >= 2 && end - i > best.length) best = {i, end - i};
    i = std::max(end, i + 1);
  }
  return best;
}

char* write_ipv6(const std::array<uint8_t, 16>& bytes, char* out) {
  uint16_t groups[8];
  for (size_t i = 0; i < 8; ++i) groups[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  const ZeroRun run = longest_zero_run(groups);
  // ::1.2.3.4 and ::ffff:1.2.3.4, as inet_ntop and so `ip` print them.
  const bool compatible = run.begin == 0 && run.length == 6;
  const bool mapped = run.begin == 0 && run.length == 5 && groups[5] == 0xffff;
  for (int i = 0; i < 8; ++i) {
    if (i == run.begin) {
      *out++ = ':';
      *out++ = ':';
      i += run.length - 1;
      continue;
    }
    if (i == 6 && (compatible || mapped)) {
      if (mapped) *out++ = ':';
      return write_ipv4(bytes.data() + 12, out);
    }
    if (i > 0 && i != run.begin + run.length) *out++ = ':';
    out = std::to_chars(out, out + 4, groups[i], 16).ptr;
  }
  return out;
}

// A length, or an IPv4 netmask with its ones in front, as iproute2 takes both. -1: neither.
int read_length(std::string_view text, Family family) {
  if (text.find('.') == std::string_view::npos) {
    const auto length = parse_number(text, static_cast<uint64_t>(address_bits(family)));
    return length ? static_cast<int>(*length) : -1;
  }
  std::array<uint8_t, 16> mask = {};
  if (family != Family::kIpv4 || read_ipv4(text, mask) != 4) return -1;
  const uint32_t bits = static_cast<uint32_t>(mask[0]) << 24 | static_cast<uint32_t>(mask[1]) << 16 |
                        static_cast<uint32_t>(mask[2]) << 8 | mask[3];
  const uint32_t zeros = ~bits;
  if ((zeros & (zeros + 1)) != 0) return -1;
  return __builtin_popcount(bits);
}

Error wrong_length(std::string_view text, std::string_view length, Family family) {
  return invalid(quoted(length) + " in " + quoted(text) + " is not a prefix length",
                 family == Family::kIpv4 ? "IPv4 lengths are 0 to 32" : "IPv6 lengths are 0 to 128");
}

Result<Prefix> finish_prefix(std::string_view text, const IpAddress& address, int length) {
  const Prefix prefix{masked(address, static_cast<uint8_t>(length)), static_cast<uint8_t>(length)};
  // KERNEL.md cases 49 and 50.
  if (address.family == Family::kIpv4 && prefix.address != address)
    return invalid(quoted(text) + " has bits set behind its length",
                   "did you mean " + to_string(prefix) + "?");
  return prefix;
}

}  // namespace

bool IpAddress::is_unspecified() const {
  return bytes == std::array<uint8_t, 16>{};
}

bool IpAddress::is_multicast() const {
  return family == Family::kIpv4 ? (bytes[0] & 0xf0) == 0xe0 : bytes[0] == 0xff;
}

bool IpAddress::is_link_local() const {
  return family == Family::kIpv6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

IpAddress IpAddress::v4(uint32_t host_order) {
  IpAddress address;
  for (int i = 0; i < 4; ++i)
    address.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(host_order >> (24 - 8 * i));
  return address;
}

Result<IpAddress> parse_address(std::string_view text) {
  IpAddress address;
  if (text.find(':') != std::string_view::npos) {
    address.family = Family::kIpv6;
    if (!read_ipv6(text, address.bytes)) return invalid(quoted(text) + " is not an IPv6 address");
    return address;
  }
  const int count = read_ipv4(text, address.bytes);
  if (count == 4) return address;
  if (count > 0) return invalid(quoted(text) + " is not a whole IPv4 address", "write all four numbers");
  return invalid(quoted(text) + " is not an address");
}

char* write_address(const IpAddress& address, char* out) {
  return address.family == Family::kIpv4 ? write_ipv4(address.bytes.data(), out)
                                         : write_ipv6(address.bytes, out);
}

std::string to_string(const IpAddress& address) {
  char text[45];
  return std::string(text, write_address(address, text));
}

IpAddress masked(const IpAddress& address, uint8_t length) {
  WAYPOST_CHECK(length <= address_bits(address.family), "a prefix longer than its address");
  IpAddress result = address;
  size_t at = length / 8;
  if (length % 8 != 0) result.bytes[at++] &= static_cast<uint8_t>(0xff00 >> (length % 8));
  std::fill(result.bytes.begin() + static_cast<std::ptrdiff_t>(at), result.bytes.end(), uint8_t{0});
  return result;
}

bool Prefix::contains(const IpAddress& candidate) const {
  return candidate.family == address.family && masked(candidate, length) == address;
}

Result<Prefix> parse_prefix(std::string_view text, const Family* family_hint) {
  const size_t slash = text.find('/');
  const std::string_view address_text = text.substr(0, slash);
  const bool has_length = slash != std::string_view::npos;
  if (!has_length && (text == "default" || text == "any" || text == "all")) {
    if (family_hint == nullptr) return invalid(quoted(text) + " says no family", "use -4 or -6");
    return Prefix{.address = {.family = *family_hint}};
  }
  IpAddress address;
  if (address_text.find(':') != std::string_view::npos) {
    address.family = Family::kIpv6;
    if (!read_ipv6(address_text, address.bytes)) return invalid(quoted(text) + " is not an IPv6 prefix");
  } else if (read_ipv4(address_text, address.bytes) == 0) {
    return invalid(quoted(text) + " is not a prefix");
  }
  if (family_hint != nullptr && *family_hint != address.family)
    return invalid(quoted(text) +
                   (address.family == Family::kIpv4 ? " is IPv4, not IPv6" : " is IPv6, not IPv4"));
  if (!has_length) return finish_prefix(text, address, address_bits(address.family));
  const std::string_view length_text = text.substr(slash + 1);
  const int length = read_length(length_text, address.family);
  if (length < 0) return wrong_length(text, length_text, address.family);
  return finish_prefix(text, address, length);
}

std::string to_string(const Prefix& prefix) {
  char text[45 + 4];
  char* end = write_address(prefix.address, text);
  *end++ = '/';
  end = write_octet(prefix.length, end);
  return std::string(text, end);
}

}  // namespace waypost
