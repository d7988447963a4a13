// Refusals are stored as codes and worded at the rim: every code has words, and none trusts its arguments.
#include "model/refusal.h"

#include <gtest/gtest.h>

namespace waypost {
namespace {

TEST(Refusal, NamesObjectReasonAndCure) {
  const Error in_use = describe({.code = RefusalCode::kNexthopInUse, .arguments = {"7", "3", "10.0.0.0/8"}});
  EXPECT_EQ(in_use.message, "nexthop 7 is used by 3 routes, for example 10.0.0.0/8");
  EXPECT_EQ(in_use.hint, "cascade removes them with it (what ip does)");
  EXPECT_EQ(in_use.code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(describe({.code = RefusalCode::kNexthopInUse, .arguments = {"7", "1", "10.0.0.0/8"}}).message,
            "nexthop 7 is used by 1 route, for example 10.0.0.0/8");
  const Error invalid = describe(
      {.code = RefusalCode::kInvalid, .arguments = {"nexthop 7", "a device is required", "add `dev NAME`"}});
  EXPECT_EQ(invalid.message, "nexthop 7: a device is required");
  EXPECT_EQ(invalid.hint, "add `dev NAME`");
  EXPECT_EQ(describe({.code = RefusalCode::kInvalid, .arguments = {"nexthop 7", "x"}}).hint, "");
  EXPECT_EQ(describe({.code = RefusalCode::kNexthopNotFound, .arguments = {"7"}}).code, ErrorCode::kNotFound);
}

// A code of a newer version, or arguments that are missing: still an error that says something.
TEST(Refusal, SurvivesWhatItDoesNotKnow) {
  EXPECT_EQ(describe({.code = static_cast<RefusalCode>(999), .arguments = {}}).message,
            "refused for a reason this version does not know (code 999)");
  EXPECT_EQ(describe({.code = RefusalCode::kRouteFamily, .arguments = {}}).message,
            "route ?: an IPv6 route can not use nexthop ?, which is IPv4");
  for (uint16_t code = 1; code <= 40; ++code) {
    const Error error = describe({.code = static_cast<RefusalCode>(code), .arguments = {"A", "B", "C", "D"}});
    EXPECT_EQ(error.message.find("does not know"), std::string::npos) << code;
    EXPECT_EQ(error.message.find('{'), std::string::npos) << code;
  }
}

}  // namespace
}  // namespace waypost
