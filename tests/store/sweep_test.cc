// Deleted rows are covered by ranges; what came back meanwhile is never among them.
#include <gtest/gtest.h>

#include "tests/store/harness.h"

namespace waypost::store {
namespace {

std::string prefix(int index) {
  return "10." + std::to_string(index / 256) + "." + std::to_string(index % 256) + ".0/24";
}

// Fewer than one sweep takes, so that they meet in it.
TEST(Sweep, RowsThatGoAndComeBackAgainAndAgain) {
  TestStore store;
  store.run({put(1, blackhole())});
  for (int turn = 0; turn < 50; ++turn) {
    store.run({put(7, blackhole())});
    store.run({put_route(prefix(7), 1), put_route(prefix(9), 1)});
    store.run({drop(7), drop_route(prefix(7)), drop_route(prefix(9))});
  }
  store.run({put(7, blackhole()), put_route(prefix(9), 1)});
  const std::string before = dump(*store);
  store->trim_history();
  EXPECT_EQ(dump(*store), before);
  EXPECT_TRUE(store->verify().ok());
  store.reopen();
  EXPECT_EQ(dump(*store), before);
}

// Long runs with rows in them that came back, at the ends and in the middle.
TEST(Sweep, RangesEndAtWhatIsThere) {
  TestStore store;
  store.run({put(1, blackhole())});
  std::vector<Command> all, gone;
  for (int index = 0; index < 3'000; ++index) {
    all.push_back(put_route(prefix(index), 1));
    gone.push_back(drop_route(prefix(index)));
  }
  for (int turn = 0; turn < 2; ++turn) {
    store.run(all);
    store.run(gone);
  }
  for (int index : {0, 1, 700, 1'500, 1'501, 2'999}) store.run({put_route(prefix(index), 1)});
  const std::string before = dump(*store);
  store->trim_history();
  EXPECT_EQ(dump(*store), before);
  EXPECT_TRUE(store->verify().ok());
}

}  // namespace
}  // namespace waypost::store
