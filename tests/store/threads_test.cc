#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "model/row_codec.h"
#include "store/snapshot.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

// While one thread applies, trims and syncs, others list, follow the changes, and take snapshots: every
// picture they get is one revision, consistent in itself, and no feed has a gap.
TEST(Threads, ReadersBesideTheWriter) {
  TestStore store;
  store.propose({.author = "test",
                 .member = {},
                 .incarnation = 0,
                 .body = SetSetting{.name = "history.revisions", .value = "50"}});
  store.run({put(1, via("10.0.0.1", "e0")), put(2, via("10.0.0.2", "e0")), put_group(9, {1, 2})});
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> views = 0;
  std::atomic<uint64_t> followed = 0;
  std::vector<std::thread> readers;
  // Each transaction puts ten routes of one number or takes them away: a view that shows a part of them is
  // torn.
  readers.emplace_back([&] {
    while (!stop) {
      const ReadView view = store->view();
      std::map<uint8_t, int> rows;
      uint64_t all = 0;
      view.scan_routes({}, [&](std::string_view key, std::string_view) {
        ++rows[decode_route_key(key)->prefix.address.bytes[1]];
        return ++all != 0;
      });
      for (const auto& [number, count] : rows) EXPECT_EQ(count, 10) << static_cast<int>(number);
      EXPECT_EQ(all, view.counts().routes);
      ++views;
    }
  });
  readers.emplace_back([&] {
    Revision at = store->stamp().revision;
    while (!stop) {
      auto sets = store->changes_after(at, 2'000);
      if (!sets.ok()) {
        EXPECT_EQ(sets.error().code, ErrorCode::kNotFound);
        at = store->stamp().revision;
        continue;
      }
      for (const ChangeSet& set : *sets) {
        EXPECT_EQ(set.revision, at.next());
        at = set.revision;
        ++followed;
      }
    }
  });
  readers.emplace_back([&] {
    while (!stop) {
      SnapshotSource source(store->view());
      auto sink = SnapshotSink::create("");
      while (auto chunk = source.next()) {
        const Status status = (*sink)->add(*chunk);
        EXPECT_TRUE(status.ok()) << status.error().message;
      }
      EXPECT_TRUE((*sink)->done());
    }
  });
  for (int round = 0; round < 600; ++round) {
    const int number = round % 100;
    const bool add = round / 100 % 2 == 0;
    std::vector<Command> commands;
    for (int i = 0; i < 10; ++i) {
      const std::string prefix = "10." + std::to_string(number) + "." + std::to_string(i) + ".0/24";
      commands.push_back(add ? put_route(prefix, 9) : Command(drop_route(prefix)));
    }
    store.run(std::move(commands));
    if (round % 10 == 0) store->trim_history();
    if (round % 50 == 0)
      store->note_durable({.of = DurableMark::Of::kApplied, .position = store->sync(), .chain = {}});
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(views, 0u);
  EXPECT_GT(followed, 0u);
  EXPECT_TRUE(store->verify().ok());
}

// A view outlives the store that gave it out.
TEST(Threads, AViewOutlivesItsStore) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0"))});
  const ReadView view = store->view();
  store.close();
  EXPECT_TRUE(view.nexthop(NexthopId(1)).has_value());
}

}  // namespace
}  // namespace waypost::store
