#include "rpc/frame.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace waypost::rpc {
namespace {

std::string frame(std::string_view body) {
  std::string out;
  append_frame(out, body);
  return out;
}

// Three frames, cut at every place into two pieces, come out whole and in order, whatever the cut.
TEST(FrameTest, CutAnywhere) {
  const std::string stream = frame("one") + frame("") + frame(std::string(300, 'x'));
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    FrameDecoder decoder;
    std::vector<std::string> bodies;
    std::string body;
    for (const std::string& piece : {stream.substr(0, cut), stream.substr(cut)}) {
      ASSERT_TRUE(decoder.feed(piece).ok()) << cut;
      while (decoder.next(&body)) bodies.push_back(body);
    }
    ASSERT_EQ(bodies, (std::vector<std::string>{"one", "", std::string(300, 'x')})) << cut;
    ASSERT_EQ(decoder.held_bytes(), 0u);
  }
}

// A frame that says it is 2 GiB long is refused by its header alone; nothing of that size is ever held.
TEST(FrameTest, LyingLengthIsRefusedBeforeItsBody) {
  FrameDecoder decoder;
  const Status status = decoder.feed(std::string("WPR1\x80\x00\x00\x00", 8));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "a frame says it is 2147483648 bytes long; at most 4194304 are taken");
  EXPECT_LE(decoder.held_bytes(), 8u);
  // It stays refused, also for good bytes.
  EXPECT_FALSE(decoder.feed(frame("good")).ok());
}

// A server takes less than a client does: its bound is its own.
TEST(FrameTest, BoundIsTheDecoders) {
  FrameDecoder decoder(10);
  EXPECT_TRUE(decoder.feed(frame("0123456789")).ok());
  EXPECT_FALSE(decoder.feed(frame("0123456789a")).ok());
}

// The first wrong byte is enough: someone speaking HTTP is not kept waiting for eight of them.
TEST(FrameTest, OtherProtocolsAreRefusedAtTheFirstByte) {
  FrameDecoder decoder;
  const Status status = decoder.feed("G");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "the bytes are not the waypost protocol");
  EXPECT_FALSE(FrameDecoder().feed("WPR2").ok());
}

// Whole frames before a bad one can still be taken.
TEST(FrameTest, WhatWasGoodBeforeTheBadCanBeTaken) {
  FrameDecoder decoder;
  EXPECT_FALSE(decoder.feed(frame("good") + "garbage").ok());
  std::string body;
  EXPECT_TRUE(decoder.next(&body));
  EXPECT_EQ(body, "good");
  EXPECT_FALSE(decoder.next(&body));
}

// Random bytes, in random pieces: always words or frames, never more memory than one frame.
TEST(FrameTest, RandomBytes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    FrameDecoder decoder(1'000);
    std::string bytes;
    for (int i = 0; i < 5; ++i) {
      if (random() % 2 == 0) bytes += frame(std::string(random() % 1'200, 'a'));
      if (random() % 3 == 0) bytes += static_cast<char>(random());
    }
    std::string body;
    for (size_t at = 0; at < bytes.size();) {
      const size_t piece = 1 + random() % 700;
      if (!decoder.feed(std::string_view(bytes).substr(at, piece)).ok()) break;
      while (decoder.next(&body)) ASSERT_LE(body.size(), 1'000u);
      ASSERT_LE(decoder.held_bytes(), 1'008u);
      at += piece;
    }
  }
}

}  // namespace
}  // namespace waypost::rpc
