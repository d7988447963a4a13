#include "replication/entry.h"

#include <gtest/gtest.h>

#include "model/bytes.h"
#include "model/limits.h"

namespace waypost::replication {
namespace {

Entry sample(uint64_t position, const Hash128& previous) {
  Entry entry;
  entry.position = Position(position);
  entry.previous = previous;
  entry.appender = "node-a";
  entry.incarnation = 3;
  entry.time_us = 1'700'000'000'000'000;
  entry.proposals = {"first", "", std::string(1'000, 'x')};
  return entry;
}

// What is written is what is read, field by field.
TEST(Entry, ComesBackAsItWentIn) {
  const Entry entry = sample(7, Hash128{1, 2});
  const Result<Entry> decoded = decode_entry(encode_entry(entry));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->position, entry.position);
  EXPECT_EQ(decoded->previous, entry.previous);
  EXPECT_EQ(decoded->appender, "node-a");
  EXPECT_EQ(decoded->incarnation, 3u);
  EXPECT_EQ(decoded->time_us, entry.time_us);
  EXPECT_EQ(decoded->proposals, entry.proposals);
}

// The bytes are a contract between nodes of different versions, so a sample of them is fixed here: the layout
// cannot change unseen.
TEST(Entry, BytesAreFixed) {
  Entry entry;
  entry.position = Position(2);
  entry.previous = Hash128{0x0102030405060708, 0x090a0b0c0d0e0f10};
  entry.appender = "n";
  entry.incarnation = 5;
  entry.time_us = 6;
  entry.proposals = {"ab"};
  std::string expected = "WPLE";
  append_u8(expected, 1);
  append_u64(expected, 2);
  for (char byte = 1; byte <= 16; ++byte) expected.push_back(byte);
  append_u8(expected, 1);
  expected += "n";
  append_u64(expected, 5);
  append_u64(expected, 6);
  append_u32(expected, 1);
  append_u32(expected, 2);
  expected += "ab";
  append_hash(expected, hash128(expected));
  EXPECT_EQ(encode_entry(entry), expected);
  EXPECT_EQ(entry_hash(expected), hash128(std::string_view(expected).substr(0, expected.size() - 16)));
}

// Every bit matters: no flipped bit and no shorter or longer form of an entry is taken for an entry.
TEST(Entry, AnyDamageIsSeen) {
  const std::string bytes = encode_entry(sample(7, Hash128{1, 2}));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_entry(damaged).ok()) << "bit " << bit;
  }
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_entry(bytes.substr(0, size)).ok());
  EXPECT_FALSE(decode_entry(bytes + "x").ok());
}

// A count in the bytes is a claim, not an order: a huge one with a right hash is refused before anything is
// allocated for it.
TEST(Entry, CountsAreNotTrusted) {
  std::string bytes = "WPLE";
  append_u8(bytes, 1);
  append_u64(bytes, 1);
  append_hash(bytes, {});
  append_u8(bytes, 0);
  append_u64(bytes, 1);
  append_u64(bytes, 1);
  append_u32(bytes, 0xffffffff);
  append_hash(bytes, hash128(bytes));
  const Result<Entry> decoded = decode_entry(bytes);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, ErrorCode::kCorruption);
}

// A later version is not corruption: the operator reads what to do.
TEST(Entry, LaterVersionIsNamed) {
  std::string bytes = encode_entry(sample(1, {}));
  bytes[4] = 2;
  const Result<Entry> decoded = decode_entry(bytes);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(decoded.error().hint.find("upgrade"), std::string::npos);
}

// An entry is taken only right behind the chain that the reader holds: neither a skipped position nor another
// history passes.
TEST(Entry, ChainIsChecked) {
  const Hash128 hash{3, 4};
  const Entry entry = sample(8, hash);
  EXPECT_TRUE(check_chain(entry, Position(7), hash).ok());
  EXPECT_FALSE(check_chain(entry, Position(6), hash).ok());
  EXPECT_FALSE(check_chain(entry, Position(8), hash).ok());
  EXPECT_FALSE(check_chain(entry, Position(7), Hash128{3, 5}).ok());
}

}  // namespace
}  // namespace waypost::replication
