// What may cost no more on a large store, or after a flush, than on a fresh one: counted in keys touched, not
// in time.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/perf_context.h>

#include <thread>

#include "model/limits.h"
#include "model/row_codec.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

constexpr size_t kLimit = limits::kMaxChangesPerTransaction;

// Keys that RocksDB touched in between: steps of memtable and user iterators, and deleted entries stepped
// over.
struct Touched {
  uint64_t keys = 0;
  uint64_t seeks = 0;
};

template <typename Work>
Touched touched_by(Work&& work) {
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  rocksdb::PerfContext& context = *rocksdb::get_perf_context();
  context.Reset();
  work();
  return {.keys = context.next_on_memtable_count + context.internal_key_skipped_count +
                  context.internal_delete_skipped_count + context.block_read_count +
                  context.block_cache_hit_count,
          .seeks = context.seek_on_memtable_count};
}

std::string prefix_of(size_t i) {
  return std::to_string(1 + (i >> 16)) + "." + std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255) +
         ".0/24";
}

void add_routes(TestStore& store, size_t from, size_t count) {
  std::vector<Command> commands;
  for (size_t i = from; i < from + count; ++i) {
    commands.push_back(put_route(prefix_of(i), {{.nexthop = via("10.0.0.1", "e0"), .weight = 1}}));
    if (commands.size() == 8'000 || i + 1 == from + count) store.run(std::exchange(commands, {}));
  }
}

void add_nexthops(TestStore& store, uint32_t from, uint32_t count) {
  std::vector<Command> commands;
  for (uint32_t i = from; i < from + count; ++i) {
    commands.push_back(put(i, via("10.0.0.1", "e0")));
    if (commands.size() == kLimit || i + 1 == from + count) store.run(std::exchange(commands, {}));
  }
}

void wait_for_flushes(Store& store) {
  for (int i = 0; i < 500; ++i) {
    uint64_t flushing = 0;
    uint64_t pending = 0;
    store.database()->GetAggregatedIntProperty(rocksdb::DB::Properties::kNumImmutableMemTable, &flushing);
    store.database()->GetAggregatedIntProperty(rocksdb::DB::Properties::kMemTableFlushPending, &pending);
    if (flushing + pending == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// A flush in bounded transactions, as a job plans it, or one row at a time as an impatient script does:
// afterwards the first page, the question whether anything is left, and adding again touch hardly a key.
TEST(Bounds, AFlushLeavesNothingToWalkOver) {
  for (const size_t per_transaction : {size_t{1'024}, size_t{1}}) {
    SCOPED_TRACE(per_transaction);
    TestStore store;
    const size_t routes = per_transaction == 1 ? 20'000 : 100'000;
    add_routes(store, 0, routes);
    std::vector<Command> commands;
    for (size_t i = 0; i < routes; ++i) {
      commands.push_back(drop_route(prefix_of(i)));
      if (commands.size() == per_transaction || i + 1 == routes) store.run(std::exchange(commands, {}));
    }
    EXPECT_EQ(store->counts().routes, 0u);
    EXPECT_EQ(store->counts().interned, 0u);
    store->trim_history();
    wait_for_flushes(*store);
    const Touched page = touched_by([&] {
      uint64_t rows = 0;
      store->view().scan_routes({}, [&](std::string_view, std::string_view) { return ++rows != 0; });
      EXPECT_EQ(rows, 0u);
    });
    EXPECT_LT(page.keys, 3'000u);
    const Touched add = touched_by([&] { add_routes(store, 500, 1); });
    EXPECT_LT(add.keys, 3'000u);
    const Touched first = touched_by(
        [&] { store->view().scan_routes({}, [&](std::string_view, std::string_view) { return false; }); });
    EXPECT_LT(first.keys, 3'000u);
    const Status status = store->verify();
    EXPECT_TRUE(status.ok()) << status.error().message;
    store.reopen();
    EXPECT_EQ(store->counts().routes, 1u);
    EXPECT_TRUE(store->verify().ok());
  }
}

// Rows that stay between those that go, and rows that come back, are never covered by a range.
TEST(Bounds, WhatStaysBetweenIsKept) {
  TestStore store;
  constexpr size_t kRoutes = 20'000;
  add_routes(store, 0, kRoutes);
  std::vector<Command> commands;
  std::vector<bool> kept(kRoutes, true);
  for (size_t i = 0; i < kRoutes; ++i) {
    const bool goes = i % 777 != 0 && (i / 2'000 % 2 == 0 || i % 3 != 0);
    if (!goes) continue;
    kept[i] = false;
    commands.push_back(drop_route(prefix_of(i)));
    if (i % 901 == 0) {
      kept[i] = true;
      commands.push_back(put_route(prefix_of(i), {{.nexthop = via("10.0.0.2", "e0"), .weight = 1}}));
    }
    if (commands.size() >= 500) store.run(std::exchange(commands, {}));
  }
  store.run(std::move(commands));
  store->trim_history();
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kRoutes; ++i)
      ASSERT_EQ(store->view().route(key_of(prefix_of(i))).has_value(), kept[i]) << i;
    const Status status = store->verify();
    ASSERT_TRUE(status.ok()) << status.error().message;
    wait_for_flushes(*store);
    store.reopen();
  }
}

// The group-empty fast path: removing a nexthop that is in no group asks no index at all, however many groups
// and rows there are.
TEST(Bounds, RemovingANexthopInNoGroupSeeksNothing) {
  TestStore store;
  add_nexthops(store, 1, 5'000);
  std::vector<Command> groups;
  for (uint32_t i = 0; i < 1'000; ++i) groups.push_back(put_group(10'000 + i, {1, 2 + i}));
  store.run(std::move(groups));
  const Touched touched = touched_by([&] {
    for (uint32_t i = 2'000; i < 3'000; ++i) store.run({drop(i)});
  });
  EXPECT_EQ(touched.seeks, 0u);
  EXPECT_EQ(touched.keys, 0u);
  EXPECT_EQ(store.say(drop(1)), "ok") << "and one in a thousand groups leaves them all";
  EXPECT_TRUE(store->verify().ok());
}

// Of a run of ids the rows are read in one walk for some hundreds, and their groups not at all.
TEST(Bounds, ARunOfIdsIsReadInOneWalk) {
  TestStore store;
  add_nexthops(store, 1, 4'000);
  store.run({put_group(10'000, {4'000})});
  std::vector<Command> drops;
  for (uint32_t id = 1; id < 4'000; ++id) drops.push_back(drop(id));
  uint64_t searches = 0;
  const Touched touched = touched_by([&] {
    store.run(std::move(drops));
    searches = rocksdb::get_perf_context()->get_from_memtable_count;
  });
  EXPECT_LE(searches, 32u) << "for single rows";
  EXPECT_LE(touched.seeks, 2 * 8u) << "in two tables, 512 ids each time";
  EXPECT_LE(touched.keys, 2 * 4'000u) << "two steps a row";
  EXPECT_EQ(store->counts().nexthops, 2u);
  EXPECT_TRUE(store->verify().ok());
}

// A page is a seek: wherever it starts, it touches its own rows.
TEST(Bounds, APageTouchesItsOwnRows) {
  TestStore store;
  add_nexthops(store, 1, 50'000);
  store.run({put(4'294'967'295, via("10.0.0.1", "e0")), put(4'294'967'290, via("10.0.0.1", "e0"))});
  for (uint32_t after : {1u, 25'000u, 49'990u, 4'000'000'000u, 4'294'967'290u, 4'294'967'295u}) {
    std::string key;
    append_nexthop_key(key, NexthopId(after));
    int rows = 0;
    const ReadView view = store->view();
    const Touched touched = touched_by([&] {
      view.scan_nexthops(key, [&](std::string_view row, std::string_view) {
        EXPECT_GT(row, key);
        return ++rows < 10;
      });
    });
    EXPECT_LE(touched.keys, 20u) << after;
    EXPECT_LE(touched.seeks, 1u);
  }
}

// The lowest free id among many: found without walking them, also when an id far below comes free again and
// again.
TEST(Bounds, TheLowestFreeIdIsNotSearchedRowByRow) {
  TestStore store;
  add_nexthops(store, 1, 150'000);
  EXPECT_EQ(store.run({put(0, via("10.0.0.1", "e0"))}).assigned_ids[0].second, NexthopId(150'001));
  const Touched touched = touched_by([&] {
    for (uint32_t i = 0; i < 100; ++i) {
      const auto answer = store.run({drop(5), put(0, via("10.0.0.2", "e0")), put(0, via("10.0.0.3", "e0"))});
      EXPECT_EQ(answer.assigned_ids[0].second, NexthopId(5));
      EXPECT_EQ(answer.assigned_ids[1].second, NexthopId(150'002 + i));
    }
  });
  // One block of 65,536 ids may be looked into; the others are known to be full.
  EXPECT_LT(touched.keys, 70'000u);
}

// Existence checks stay in their own prefix: the neighbours' rows and tombstones are not looked at.
TEST(Bounds, SeeksStayInTheirPrefix) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0")), put(2, via("10.0.0.2", "e0")), put(3, via("10.0.0.3", "e0"))});
  std::vector<Command> commands;
  for (size_t i = 0; i < 8'000; ++i) {
    Route route;
    route.key = key_of(prefix_of(i));
    route.nexthop = NexthopId(2);
    commands.push_back(put_route(route));
  }
  commands.push_back(put_route("99.0.0.0/8", 1));
  store.run(std::move(commands));
  const Touched touched = touched_by([&] {
    EXPECT_EQ(store.say(drop(1)), "nexthop 1 is used by 1 route, for example 99.0.0.0/8");
    EXPECT_EQ(store.say(drop(3)), "ok");
  });
  EXPECT_LT(touched.keys, 20u);
}

// One transaction changes a bounded number of rows, counted before anything is written (LOG.md rule 12).
TEST(Bounds, RowsOfATransaction) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0"))});
  for (size_t from = 0; from < kLimit; from += kLimit / 2) {
    std::vector<Command> commands;
    for (size_t i = from; i < from + kLimit / 2; ++i) commands.push_back(put_route(prefix_of(i), 1));
    store.run(std::move(commands));
  }
  EXPECT_EQ(store.say(drop(1, true)), "the transaction changes 16385 rows, the limit is 16384");
  EXPECT_EQ(store->counts().routes, kLimit);
  EXPECT_EQ(store.say(drop_route(prefix_of(0))), "ok");
  EXPECT_EQ(store.say(drop(1, true)), "ok") << "16,384 rows: the nexthop and 16,383 routes";
  EXPECT_EQ(store->counts().routes, 0u);

  // What goes with a last user counts too: each of these routes takes its own group and two nexthops along.
  std::vector<Command> adds;
  std::vector<Command> drops;
  for (size_t i = 0; i < 4'200; ++i) {
    const std::string middle = std::to_string(i >> 8) + "." + std::to_string(i & 255);
    adds.push_back(put_route(prefix_of(i), {{.nexthop = via("10.1." + middle, "e0"), .weight = 1},
                                            {.nexthop = via("10.2." + middle, "e0"), .weight = 1}}));
    drops.push_back(drop_route(prefix_of(i)));
    if (adds.size() == 1'000 || i == 4'199) store.run(std::exchange(adds, {}));
  }
  EXPECT_EQ(store->counts().interned, 3 * 4'200u);
  TransactionAnswer answer = store.run(drops);
  ASSERT_EQ(answer.refusals.size(), 1u);
  EXPECT_EQ(answer.refusals[0].refusal.code, RefusalCode::kTooManyChanges);
  EXPECT_EQ(answer.refusals[0].index, 4'096u);
  EXPECT_EQ(store->counts().routes, 4'200u);
  answer = store.run(std::move(drops), OnRefusal::kStop);
  EXPECT_EQ(answer.applied, 4'096u);
  EXPECT_EQ(store->changes_after(Revision(store->stamp().revision.value() - 1), 1)->front().changes.size(),
            kLimit);
  EXPECT_TRUE(store->verify().ok());
}

}  // namespace
}  // namespace waypost::store
