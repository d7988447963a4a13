// The part of the seventy cases that needs no state: which lines can not be written, and which objects can
// never be.
#include "tests/cases/kernel_cases.h"

#include <gtest/gtest.h>

#include <set>

#include "model/parse.h"

namespace waypost {
namespace {

std::variant<Command, ParseError> parsed(std::string_view text, bool cascade) {
  static const NameTables names = NameTables::defaults();
  std::variant<Command, ParseError> result;
  BatchReader reader;
  const auto visit = [&](BatchReader::Line line) {
    result = parse_command(line.words, {.names = &names, .family = std::nullopt, .cascade = cascade});
  };
  EXPECT_TRUE(reader.feed(text, visit).ok());
  EXPECT_TRUE(reader.finish(visit).ok());
  return result;
}

Status validated(const Command& command) {
  if (const auto* put = std::get_if<PutNexthop>(&command)) return validate(put->object);
  if (const auto* put = std::get_if<PutRoute>(&command)) {
    Route route = put->route;
    if (!put->paths.empty()) route.nexthop = NexthopId(1);  // interned in apply
    return validate(route);
  }
  return {};
}

// Every case has its number once, and none is missing.
TEST(KernelCases, AreSeventy) {
  std::set<int> numbers;
  for (const test::KernelCase& each : test::kernel_cases())
    EXPECT_TRUE(numbers.insert(each.number).second) << each.number;
  EXPECT_EQ(numbers.size(), 70u);
  EXPECT_EQ(*numbers.begin(), 1);
  EXPECT_EQ(*numbers.rbegin(), 70);
}

// What a line alone decides is decided by the parser or by validate(), and by nothing else there.
TEST(KernelCases, WhatNeedsNoState) {
  for (const test::KernelCase& each : test::kernel_cases()) {
    for (const test::KernelCaseLine& line : each.lines) {
      const auto result = parsed(line.line, line.cascade);
      const bool written = std::holds_alternative<Command>(result);
      EXPECT_EQ(written, line.outcome != test::LineOutcome::kNotWritten) << each.number << ": " << line.line;
      if (!written) continue;
      // Buckets may be left out where the group exists, so a missing number is for the rules of the store.
      const bool needs_state = each.number == 62;
      const bool invalid = line.outcome == test::LineOutcome::kRefused && line.code == RefusalCode::kInvalid;
      const Status status = validated(std::get<Command>(result));
      EXPECT_EQ(status.ok(), !invalid || needs_state) << each.number << ": " << line.line;
    }
  }
}

}  // namespace
}  // namespace waypost
