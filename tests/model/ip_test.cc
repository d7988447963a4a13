// Addresses and prefixes: what iproute2 takes and prints, and what is refused with which words.
#include "model/ip.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace waypost {
namespace {

std::string printed(std::string_view text) {
  const auto address = parse_address(text);
  return address.ok() ? to_string(*address) : "error: " + address.error().message;
}

std::string prefix_printed(std::string_view text) {
  const auto prefix = parse_prefix(text);
  if (!prefix.ok()) return "error: " + prefix.error().message + "; " + prefix.error().hint;
  return to_string(*prefix);
}

// What is printed is what was read, in the shortest form.
TEST(IpAddress, PrintsWhatItReads) {
  EXPECT_EQ(printed("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(printed("255.255.255.255"), "255.255.255.255");
  EXPECT_EQ(printed("0.0.0.0"), "0.0.0.0");
  EXPECT_EQ(printed("2001:DB8:0:0::1"), "2001:db8::1");
  EXPECT_EQ(printed("::"), "::");
  EXPECT_EQ(printed("1:0:0:2:0:0:0:3"), "1:0:0:2::3");
  EXPECT_EQ(printed("::ffff:192.0.2.1"), "::ffff:192.0.2.1");
  EXPECT_EQ(printed("2001:db8:1:1:1:1:0:1"), "2001:db8:1:1:1:1:0:1");
}

// Nothing that is nearly an address passes.
TEST(IpAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"", "1", "10.1", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1..2.3", "1.2.3.",
        "a.b.c.d", ":", ":::", "2001:db8::1::2", "12345::", "fe80::1%eth0", "1:2:3:4:5:6:7:8:9"})
    EXPECT_FALSE(parse_address(text).ok()) << text;
  EXPECT_FALSE(parse_address(std::string_view("::1\0", 4)).ok());
}

// The writer of listings agrees with the C library on random addresses, zeros in every place.
TEST(IpAddress, PrintsAsTheLibraryDoes) {
  std::mt19937 random(20240611);
  for (int round = 0; round < 20'000; ++round) {
    IpAddress address{.family = round % 8 == 0 ? Family::kIpv4 : Family::kIpv6};
    const unsigned zeros = random();
    for (size_t i = 0; i < address.used().size(); ++i)
      address.bytes[i] = (zeros >> (i / 2) & 3) != 0 ? 0 : static_cast<uint8_t>(random());
    char text[INET6_ADDRSTRLEN];
    inet_ntop(address.family == Family::kIpv4 ? AF_INET : AF_INET6, address.bytes.data(), text, sizeof(text));
    ASSERT_EQ(to_string(address), text);
    ASSERT_EQ(parse_address(text).value(), address);
  }
}

TEST(IpAddress, KnowsItsKinds) {
  EXPECT_TRUE(parse_address("224.0.0.1")->is_multicast());
  EXPECT_TRUE(parse_address("ff02::1")->is_multicast());
  EXPECT_FALSE(parse_address("223.255.255.255")->is_multicast());
  EXPECT_TRUE(parse_address("fe80::1")->is_link_local());
  EXPECT_TRUE(parse_address("febf::1")->is_link_local());
  EXPECT_FALSE(parse_address("fec0::1")->is_link_local());
  EXPECT_FALSE(parse_address("169.254.0.1")->is_link_local());
  EXPECT_TRUE(parse_address("::")->is_unspecified());
  EXPECT_EQ(IpAddress::v4(0x0a000001), parse_address("10.0.0.1").value());
}

// Short forms, masks and number bases as in iproute2; KERNEL.md cases 49 and 50 for host bits.
TEST(Prefix, ReadsIproutesForms) {
  EXPECT_EQ(prefix_printed("10.63/16"), "10.63.0.0/16");
  EXPECT_EQ(prefix_printed("10/8"), "10.0.0.0/8");
  EXPECT_EQ(prefix_printed("10.63"), "10.63.0.0/32");
  EXPECT_EQ(prefix_printed("0/0"), "0.0.0.0/0");
  EXPECT_EQ(prefix_printed("10.0.0.0/255.0.0.0"), "10.0.0.0/8");
  EXPECT_EQ(prefix_printed("10.0.0.0/0x8"), "10.0.0.0/8");
  EXPECT_EQ(prefix_printed("192.0.2.1"), "192.0.2.1/32");
  EXPECT_EQ(prefix_printed("2001:db8::1/32"), "2001:db8::/32");
  EXPECT_EQ(prefix_printed("2001:db8::1"), "2001:db8::1/128");
  EXPECT_EQ(prefix_printed("192.0.2.1/24"),
            "error: '192.0.2.1/24' has bits set behind its length; did you mean 192.0.2.0/24?");
  EXPECT_EQ(prefix_printed("10.0.0.0/33"),
            "error: '33' in '10.0.0.0/33' is not a prefix length; IPv4 lengths are 0 to 32");
  EXPECT_EQ(prefix_printed("::/129"),
            "error: '129' in '::/129' is not a prefix length; IPv6 lengths are 0 to 128");
  for (const char* text :
       {"", "/", "10.0.0.0/", "10/-1", "10/8/8", "10.0.0.0/255.0.255.0", "x/8", "10.0.0.0/8 ", "::/"})
    EXPECT_FALSE(parse_prefix(text).ok()) << text;
}

// The words for "everything" need a family from elsewhere; a given one must agree.
TEST(Prefix, TakesTheFamilyAsAHint) {
  const Family ipv4 = Family::kIpv4;
  const Family ipv6 = Family::kIpv6;
  EXPECT_EQ(to_string(parse_prefix("default", &ipv4).value()), "0.0.0.0/0");
  EXPECT_EQ(to_string(parse_prefix("any", &ipv6).value()), "::/0");
  EXPECT_FALSE(parse_prefix("all").ok());
  EXPECT_FALSE(parse_prefix("10.0.0.0/8", &ipv6).ok());
  EXPECT_FALSE(parse_prefix("::/0", &ipv4).ok());
}

TEST(Prefix, MasksAndContains) {
  EXPECT_EQ(to_string(masked(parse_address("255.255.255.255").value(), 17)), "255.255.128.0");
  EXPECT_EQ(to_string(masked(parse_address("ffff:ffff:ffff::").value(), 33)), "ffff:ffff:8000::");
  const Prefix prefix = parse_prefix("10.64.0.0/10").value();
  EXPECT_TRUE(prefix.contains(parse_address("10.127.255.255").value()));
  EXPECT_FALSE(prefix.contains(parse_address("10.128.0.0").value()));
  EXPECT_FALSE(prefix.contains(parse_address("::").value()));
}

}  // namespace
}  // namespace waypost
