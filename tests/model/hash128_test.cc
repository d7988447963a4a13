// The hash under digests and chains: pinned values, and arithmetic that carries.
#include "model/hash128.h"

#include <gtest/gtest.h>

namespace waypost {
namespace {

// The value may never drift: digests of two versions are compared with each other.
TEST(Hash128, IsPinned) {
  EXPECT_EQ(to_string(hash128("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(to_string(hash128("waypost")), to_string(hash128(std::string("way") + "post")));
  EXPECT_NE(hash128("a"), hash128("b"));
}

// Rows may come and go in any order: the sum is the same, also across the carry between the halves.
TEST(Hash128, AddsAndSubtractsModulo) {
  Hash128 sum{.high = 0, .low = UINT64_MAX};
  sum += {.high = 0, .low = 1};
  EXPECT_EQ(sum, (Hash128{.high = 1, .low = 0}));
  sum -= {.high = 0, .low = 1};
  EXPECT_EQ(sum, (Hash128{.high = 0, .low = UINT64_MAX}));
  Hash128 there;
  Hash128 back;
  for (const char* row : {"a", "b", "c", "d"}) there += hash128(row);
  for (const char* row : {"d", "b", "a", "c"}) back += hash128(row);
  EXPECT_EQ(there, back);
  for (const char* row : {"c", "a", "d", "b"}) there -= hash128(row);
  EXPECT_EQ(there, Hash128{});
}

}  // namespace
}  // namespace waypost
