#include "rpc/endpoint.h"

#include <gtest/gtest.h>

#include "rpc/utf8.h"

namespace waypost::rpc {
namespace {

// Endpoints come back as they were written; what is none is refused with the shape it should have.
TEST(EndpointTest, BothWays) {
  for (const char* text : {"127.0.0.1:7601", "node-1.example:1", "[2001:db8::1]:65535", "[::]:0"}) {
    const Result<Endpoint> endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint.ok()) << text;
    EXPECT_EQ(to_string(*endpoint), text);
  }
  for (const char* text :
       {"", "host", "host:", ":1", "::1:7601", "host:65536", "host:-1", "host:1x", "[]:1"}) {
    const Result<Endpoint> endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint.ok()) << text;
    EXPECT_NE(endpoint.error().hint.find("HOST:PORT"), std::string::npos);
  }
}

// A message with bytes of some other encoding must still reach its reader.
TEST(Utf8Test, BadBytesBecomeQuestionMarks) {
  EXPECT_EQ(valid_utf8("eth\xff"), "eth?");
  EXPECT_EQ(valid_utf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(valid_utf8("\xed\xa0\x80\xc0\xaf\xe2\x82"), "???????");
  EXPECT_EQ(valid_utf8("\xf0\x9f\x9a\x80"), "\xf0\x9f\x9a\x80");
}

}  // namespace
}  // namespace waypost::rpc
