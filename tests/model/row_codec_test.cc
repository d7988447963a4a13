// The canonical bytes of rows: pinned, strict, and never read beyond.
#include "model/row_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/model/hex.h"
#include "tests/model/samples.h"

namespace waypost {
namespace {

using test::hex;

std::string key_bytes(const RouteKey& key) {
  std::string bytes;
  append_route_key(bytes, key);
  return bytes;
}

// Digests of two versions are compared, so these bytes may never change.
TEST(RowCodec, NexthopValuesArePinned) {
  const char* const expected[] = {
      "0100040304c0000201057665746831",
      "01ba06030620010db8000000000000000000000001"
      "08657468302e313030",
      "01000603"
      "06fe800000000000000000000000000001"
      "057665746831",
      "01000408",
      "01040608",
      "01000402"
      "057665746831",
      "01000602"
      "057665746831",
      "01000411"
      "04c000020d",
      "01000427"
      "04c0000201"
      "057665746831"
      "0106"
      "0102030405060708"
      "0620010db8000000000000000000000001"
      "0620010db8000000000000000000000002"
      "4008"
      "0005",
      "01000623"
      "0620010db8000000000000000000000001"
      "057665746831"
      "0203"
      "00000007"
      "02"
      "fc000000000000000000000000000001"
      "fc000000000000000000000000000002",
      "02630000"
      "02"
      "000000010001"
      "00000002ffff",
      "02000001"
      "01"
      "0000000d0001",
      "02000100"
      "02"
      "000000010003"
      "000000020001"
      "0080"
      "00001770"
      "00007530",
      "0100040304c0000207057665746831",
  };
  const auto samples = test::sample_nexthops();
  ASSERT_EQ(samples.size(), std::size(expected));
  for (size_t i = 0; i < samples.size(); ++i)
    EXPECT_EQ(hex(encode_nexthop_value(samples[i])), expected[i]) << i;
}

TEST(RowCodec, RouteKeysAndValuesArePinned) {
  const auto samples = test::sample_routes();
  EXPECT_EQ(hex(key_bytes(samples[0].key)),
            "000000fe"
            "04"
            "0a000000"
            "08"
            "00"
            "00000000");
  EXPECT_EQ(hex(key_bytes(samples[6].key)),
            "ffffffff"
            "04"
            "0a010e00"
            "18"
            "10"
            "ffffffff");
  EXPECT_EQ(hex(key_bytes(samples[7].key)),
            "000000fe"
            "06"
            "20010db8010b00000000000000000000"
            "40"
            "00"
            "00000400");
  EXPECT_EQ(hex(encode_route_value(samples[0])),
            "01030000"
            "00000001"
            "00");
  EXPECT_EQ(hex(encode_route_value(samples[5])),
            "07030000"
            "00000000"
            "00");
  EXPECT_EQ(hex(encode_route_value(samples[6])),
            "01bafd00"
            "00000007"
            "03"
            "04c0000209"
            "04"
            "0200000578"
            "04000000a0"
            "0c00000001"
            "0f00000001"
            "00010004"
            "056375626963");
  EXPECT_EQ(hex(encode_route_value(samples[7])),
            "01030001"
            "00000009"
            "01"
            "0620010db8000000000000000000000009");
}

// What is decoded is what was encoded.
TEST(RowCodec, RoundTrips) {
  for (const NexthopObject& object : test::sample_nexthops()) {
    EXPECT_EQ(decode_nexthop_value(object.id, encode_nexthop_value(object)).value(), object);
    std::string key;
    append_nexthop_key(key, object.id);
    EXPECT_EQ(decode_nexthop_key(key), object.id);
  }
  for (const Route& route : test::sample_routes()) {
    EXPECT_EQ(decode_route_value(route.key, encode_route_value(route)).value(), route);
    EXPECT_EQ(decode_route_key(key_bytes(route.key)), route.key);
  }
}

// The store iterates bytes; listings and merges rely on that being the order of the values.
TEST(RowCodec, KeysOrderAsTheirValues) {
  std::mt19937 random(7);
  const auto pick = [&](std::initializer_list<uint32_t> from) {
    return *(from.begin() + random() % from.size());
  };
  for (int round = 0; round < 20'000; ++round) {
    RouteKey keys[2];
    for (RouteKey& key : keys) {
      key.table = TableId(pick({1, 254, 256, 65536, 4294967295}));
      key.prefix.address.family = random() % 2 == 0 ? Family::kIpv4 : Family::kIpv6;
      for (size_t i = 0; i < key.prefix.address.used().size(); ++i)
        key.prefix.address.bytes[i] = static_cast<uint8_t>(pick({0, 1, 127, 128, 255}));
      key.prefix.length = static_cast<uint8_t>(random() % (key.prefix.address.used().size() * 8 + 1));
      key.prefix.address = masked(key.prefix.address, key.prefix.length);
      key.tos = static_cast<uint8_t>(pick({0, 16, 252}));
      key.metric = pick({0, 1, 255, 256, 1024, 4294967295});
    }
    ASSERT_EQ(keys[0] < keys[1], key_bytes(keys[0]) < key_bytes(keys[1]));
  }
}

// A decoder takes a byte sequence only if the encoder would write it again: cut at every byte, lengthened,
// and with random flips.
TEST(RowCodec, TakesOnlyWhatAnEncoderWrote) {
  std::mt19937 random(11);
  for (const NexthopObject& object : test::sample_nexthops()) {
    const std::string bytes = encode_nexthop_value(object);
    for (size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode_nexthop_value(object.id, std::string_view(bytes).substr(0, length)).ok()) << length;
    EXPECT_FALSE(decode_nexthop_value(object.id, bytes + '\0').ok());
    for (int round = 0; round < 2'000; ++round) {
      std::string flipped = bytes;
      for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
        flipped[random() % flipped.size()] = static_cast<char>(random());
      const auto decoded = decode_nexthop_value(object.id, flipped);
      if (decoded.ok()) {
        ASSERT_EQ(hex(encode_nexthop_value(*decoded)), hex(flipped));
      }
    }
  }
  for (const Route& route : test::sample_routes()) {
    const std::string bytes = encode_route_value(route);
    for (size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode_route_value(route.key, std::string_view(bytes).substr(0, length)).ok()) << length;
    for (int round = 0; round < 2'000; ++round) {
      std::string flipped = bytes;
      flipped[random() % flipped.size()] = static_cast<char>(random());
      const auto decoded = decode_route_value(route.key, flipped);
      if (decoded.ok()) {
        ASSERT_EQ(hex(encode_route_value(*decoded)), hex(flipped));
      }
      std::string key = key_bytes(route.key);
      key[random() % key.size()] = static_cast<char>(random());
      const auto decoded_key = decode_route_key(key);
      if (decoded_key) {
        ASSERT_EQ(hex(key_bytes(*decoded_key)), hex(key));
      }
    }
  }
}

// The error names the row, so that an operator can find it.
TEST(RowCodec, NamesTheDamagedRow) {
  const auto nexthop = decode_nexthop_value(NexthopId(7), "x");
  ASSERT_FALSE(nexthop.ok());
  EXPECT_EQ(nexthop.error().code, ErrorCode::kCorruption);
  EXPECT_EQ(nexthop.error().message, "nexthop 7: its bytes follow no known form");
  const auto route = decode_route_value(test::route("10.0.0.0/8", 1).key, "");
  ASSERT_FALSE(route.ok());
  EXPECT_EQ(route.error().message, "route 10.0.0.0/8: its bytes follow no known form");
}

// Pages and snapshot chunks: rows back to back; a cut one is damage, not an end.
TEST(RowBlock, ReadsRowsAndNoticesDamage) {
  std::string block;
  append_row(block, "key", "value");
  append_row(block, "", std::string(300, 'x'));
  RowBlockReader reader(block);
  std::string_view key, value;
  ASSERT_TRUE(reader.next(&key, &value));
  EXPECT_EQ(key, "key");
  EXPECT_EQ(value, "value");
  ASSERT_TRUE(reader.next(&key, &value));
  EXPECT_EQ(key, "");
  EXPECT_EQ(value.size(), 300u);
  EXPECT_FALSE(reader.next(&key, &value));
  EXPECT_FALSE(reader.damaged());
  const size_t first = 1 + 3 + 1 + 5;
  for (size_t length = 1; length < block.size(); ++length) {
    RowBlockReader cut(std::string_view(block).substr(0, length));
    while (cut.next(&key, &value)) {
    }
    EXPECT_EQ(cut.damaged(), length != first) << length;
  }
}

TEST(RowGuard, IsNeverZeroAndPinned) {
  EXPECT_EQ(row_guard("x"), row_guard(std::string("x")));
  EXPECT_NE(row_guard("x"), row_guard("y"));
  EXPECT_NE(row_guard(""), 0u);
}

}  // namespace
}  // namespace waypost
