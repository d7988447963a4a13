// The seventy cases through the store: each line is applied, refused with its code, or can not be written, on
// a store that holds the five nexthops of the cases and nothing else.
#include "tests/cases/kernel_cases.h"

#include <gtest/gtest.h>

#include "model/parse.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

using test::KernelCase;
using test::KernelCaseLine;
using test::LineOutcome;

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

// Wipes what the case before left, so that one store serves all of them.
void start_over(TestStore& store) {
  std::vector<Command> commands;
  const ReadView view = store->view();
  view.scan_routes({}, [&](std::string_view key, std::string_view) {
    const RouteKey route = decode_route_key(key).value();
    DeleteRoute gone;
    gone.table = route.table;
    gone.prefix = route.prefix;
    gone.tos = route.tos;
    gone.metric = route.metric;
    commands.push_back(gone);
    return true;
  });
  std::vector<Command> singles;
  view.scan_nexthops({}, [&](std::string_view key, std::string_view value) {
    const NexthopId id = decode_nexthop_key(key).value();
    if (is_interned(id)) return true;
    auto& into = decode_nexthop_value(id, value)->is_group() ? commands : singles;
    into.push_back(DeleteNexthop{.id = id, .cascade = false});
    return true;
  });
  commands.insert(commands.end(), singles.begin(), singles.end());
  for (std::string_view line : test::kernel_case_base())
    commands.push_back(std::get<Command>(parsed(line, false)));
  const TransactionAnswer answer = store.run(commands);
  ASSERT_TRUE(answer.refusals.empty()) << describe(answer.refusals[0].refusal).message;
}

void check(TestStore& store, const KernelCase& each, const KernelCaseLine& line) {
  const auto result = parsed(line.line, line.cascade);
  const auto* command = std::get_if<Command>(&result);
  EXPECT_EQ(command == nullptr, line.outcome == LineOutcome::kNotWritten) << each.number << ": " << line.line;
  if (command == nullptr) return;
  const TransactionAnswer answer = store.run({*command});
  if (line.outcome == LineOutcome::kApplied) {
    EXPECT_EQ(answer.applied, 1u) << each.number << ": " << line.line;
    if (!answer.refusals.empty()) ADD_FAILURE() << describe(answer.refusals[0].refusal).message;
    return;
  }
  if (answer.refusals.size() != 1) {
    ADD_FAILURE() << each.number << ": " << line.line << " was not refused";
    return;
  }
  EXPECT_EQ(answer.refusals[0].refusal.code, line.code)
      << each.number << ": " << line.line << ": " << describe(answer.refusals[0].refusal).message;
}

TEST(KernelCases, AtCommit) {
  TestStore store;
  for (const KernelCase& each : test::kernel_cases()) {
    start_over(store);
    for (const KernelCaseLine& line : each.lines) check(store, each, line);
  }
  EXPECT_TRUE(store->verify().ok());
}

}  // namespace
}  // namespace waypost::store
