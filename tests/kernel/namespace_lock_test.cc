// One kernel_sync per network namespace.
#include "kernel_sync/namespace_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/kernel/namespace_guard.h"

namespace waypost::kernel_sync {
namespace {

// The second is refused and told who has it; another namespace has its own; a lock that is dropped can be
// taken again.
TEST(NamespaceLock, OnePerNamespace) {
  const NamespaceGuard guard;
  {
    const auto first = NamespaceLock::acquire();
    ASSERT_TRUE(first.ok());
    const auto second = NamespaceLock::acquire();
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(ErrorCode::kFailedPrecondition, second.error().code);
    EXPECT_THAT(second.error().message, testing::HasSubstr("process " + std::to_string(getpid())));
    EXPECT_FALSE(second.error().hint.empty());
    const NamespaceGuard elsewhere;
    EXPECT_TRUE(NamespaceLock::acquire().ok());
  }
  EXPECT_TRUE(NamespaceLock::acquire().ok());
}

}  // namespace
}  // namespace waypost::kernel_sync
