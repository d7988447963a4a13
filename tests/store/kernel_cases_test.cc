// KERNEL.md's seventy cases at the rules: what is a function of the state is refused here, the same on every
// node; what the host decides is stored.
#include "tests/cases/kernel_cases.h"

#include <gtest/gtest.h>

#include "tests/store/harness.h"
#include "tests/store/lines.h"

namespace waypost::store {
namespace {

// Each case on a store of its own, with nothing but the base before it: every line is applied, or refused
// with its code.
TEST(KernelCases, AtTheRules) {
  TestStore store;
  for (const test::KernelCase& each : test::kernel_cases()) {
    SCOPED_TRACE("case " + std::to_string(each.number) + ": " + std::string(each.story));
    clear(store);
    for (std::string_view line : test::kernel_case_base()) {
      const auto command = command_of(line, false);
      ASSERT_TRUE(command.has_value());
      ASSERT_EQ(store.say(*command), "ok") << line;
    }
    for (const test::KernelCaseLine& line : each.lines) {
      const auto command = command_of(line.line, line.cascade);
      ASSERT_EQ(command.has_value(), line.outcome != test::LineOutcome::kNotWritten) << line.line;
      if (!command) continue;
      const TransactionAnswer answer = store.run({*command});
      if (line.outcome == test::LineOutcome::kApplied) {
        EXPECT_TRUE(answer.refusals.empty())
            << line.line << ": " << describe(answer.refusals.front().refusal).message;
        continue;
      }
      ASSERT_EQ(answer.refusals.size(), 1u) << line.line;
      EXPECT_EQ(answer.refusals[0].refusal.code, line.code)
          << line.line << ": " << describe(answer.refusals[0].refusal).message;
    }
    const Status status = store->verify();
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
}

}  // namespace
}  // namespace waypost::store
