#include <gtest/gtest.h>

#include "model/row_codec.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

void set(TestStore& store, const std::string& name, const std::string& value) {
  const ProposalAnswer answer = store.propose(
      {.author = "test", .member = {}, .incarnation = 0, .body = SetSetting{.name = name, .value = value}});
  EXPECT_FALSE(answer.refusal.has_value());
}

// Plays changes onto rows, as a feed's reader does.
void play(const std::vector<ChangeSet>& sets,
          std::map<std::pair<DataTable, std::string>, std::string>* rows) {
  for (const ChangeSet& set : sets)
    for (const Change& change : set.changes) {
      std::string& row = (*rows)[{change.table, change.key}];
      EXPECT_EQ(row, change.old_value) << "a change starts where the one before it ended";
      row = change.new_value;
      if (row.empty()) rows->erase({change.table, change.key});
    }
}

std::map<std::pair<DataTable, std::string>, std::string> rows_of(const Store& store) {
  std::map<std::pair<DataTable, std::string>, std::string> rows;
  const ReadView view = store.view();
  view.scan_nexthops({}, [&](std::string_view key, std::string_view value) {
    rows[{DataTable::kNexthop, std::string(key)}] = value;
    return true;
  });
  view.scan_routes({}, [&](std::string_view key, std::string_view value) {
    rows[{DataTable::kRoute, std::string(key)}] = value;
    return true;
  });
  return rows;
}

// A reader that starts with nothing and plays every change ends with the rows of the store, however small its
// pages are, and knows who did what and when.
TEST(History, PlayedFromTheStartItIsTheState) {
  TestStore store;
  store.run({put(1, via("10.0.0.1", "e0")), put(2, via("10.0.0.2", "e0"))});
  store.run({put_group(9, {1, 2}), put_route("192.0.2.0/24", 9)});
  store.run({put(1, via("10.0.0.7", "e0"), Verb::kReplace)});
  store.run({put_route("192.0.2.0/24", {{.nexthop = via("10.0.0.9", "e0"), .weight = 1}}, Verb::kReplace)});
  store.run({drop_route("192.0.2.0/24"), drop(9)});
  for (size_t page : {size_t{1}, size_t{200}, size_t{1} << 20}) {
    std::map<std::pair<DataTable, std::string>, std::string> rows;
    Revision at;
    while (at < store->stamp().revision) {
      const auto sets = store->changes_after(at, page);
      ASSERT_TRUE(sets.ok());
      ASSERT_FALSE(sets->empty());
      EXPECT_EQ(sets->front().revision, at.next());
      play(*sets, &rows);
      at = sets->back().revision;
      EXPECT_EQ(sets->back().author, "test");
      EXPECT_EQ(store->digest_at(at).has_value(), true);
    }
    EXPECT_EQ(rows, rows_of(*store));
    EXPECT_TRUE(store->changes_after(at, page)->empty());
  }
  EXPECT_EQ(store->digest_at(store->stamp().revision), store->stamp().data_digest);
  EXPECT_EQ(store->digest_at(Revision(99)), std::nullopt);
}

// A transaction of 16,000 rows is more than one chunk, and still one change set.
TEST(History, LargeTransactionsAreChunked) {
  TestStore store;
  std::vector<Command> commands;
  for (uint32_t i = 1; i <= 16'000; ++i) commands.push_back(put(i, via("10.0.0.1", "e0")));
  store.run(std::move(commands));
  store.run({put(20'000, via("10.0.0.1", "e0"))});
  const auto sets = store->changes_after(Revision(0), 1);
  ASSERT_TRUE(sets.ok());
  ASSERT_EQ(sets->size(), 1u);
  EXPECT_EQ(sets->front().changes.size(), 16'000u);
  EXPECT_TRUE(store->verify().ok());
}

// What was trimmed is said to be compacted: a reader that was away must not miss that a route is gone.
TEST(History, CompactionHidesNothing) {
  TestStore store;
  set(store, "history.revisions", "3");
  store.run({put(1, via("10.0.0.1", "e0")), put_route("192.0.2.0/24", 1)});
  const Revision seen = store->stamp().revision;
  store.run({drop_route("192.0.2.0/24")});
  for (uint32_t i = 2; i < 8; ++i) store.run({put(i, via("10.0.0.1", "e0"))});
  store->trim_history();
  EXPECT_EQ(store->oldest_history(), Revision(store->stamp().revision.value() - 3));
  const auto missed = store->changes_after(seen, 1 << 20);
  ASSERT_FALSE(missed.ok());
  EXPECT_EQ(missed.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missed.error().message, "the changes behind revision 1 are compacted; the oldest kept is 5");
  const auto kept = store->changes_after(store->oldest_history(), 1 << 20);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->size(), 3u);
  EXPECT_TRUE(store->digest_at(store->oldest_history()).has_value());
  EXPECT_FALSE(store->digest_at(Revision(4)).has_value());
  EXPECT_TRUE(store->verify().ok()) << store->verify().error().message;
  store.reopen();
  EXPECT_EQ(store->oldest_history(), Revision(5));
  EXPECT_TRUE(store->verify().ok());
}

// By bytes: the newest revisions that fit stay, and the newest always does.
TEST(History, TrimmedByBytes) {
  TestStore store;
  set(store, "history.bytes", "1048576");
  for (uint32_t round = 0; round < 6; ++round) {
    std::vector<Command> commands;
    for (uint32_t i = 0; i < 16'000; ++i)
      commands.push_back(put(1 + i, via("10.0.0." + std::to_string(round), "e0"), Verb::kReplace));
    store.run(std::move(commands));
    store->trim_history();
  }
  const uint64_t kept = store->stamp().revision.value() - store->oldest_history().value();
  EXPECT_GE(kept, 1u);
  EXPECT_LT(kept, 3u);
  EXPECT_TRUE(store->verify().ok());
}

// Settings are control state: known names only, values checked, told apart in words.
TEST(History, SettingsAreChecked) {
  TestStore store;
  const auto words = [&store](const std::string& name, const std::string& value) {
    const ProposalAnswer answer = store.propose(
        {.author = "test", .member = {}, .incarnation = 0, .body = SetSetting{.name = name, .value = value}});
    return answer.refusal ? describe(*answer.refusal).message : "ok";
  };
  EXPECT_EQ(words("history.revisions", "12"), "ok");
  EXPECT_EQ(words("history.revisions", "0"), "setting 'history.revisions' can not be '0'");
  EXPECT_EQ(words("history.revisions", "12x"), "setting 'history.revisions' can not be '12x'");
  EXPECT_EQ(words("histroy", "12"), "there is no setting 'histroy'");
  EXPECT_EQ(store->view().setting("history.revisions"), "12");
  EXPECT_EQ(store->view().setting("history.bytes"), std::nullopt);
  EXPECT_TRUE(store->verify().ok());
}

// Members are control state; proposals of a removed or superseded one are refused (LOG.md rule 9).
TEST(Members, RemovedAndSupersededOnesAreRefused) {
  TestStore store;
  const auto words = [&store](auto body, const std::string& member = {}, uint64_t incarnation = 0) {
    const ProposalAnswer answer = store.propose(
        {.author = "test", .member = member, .incarnation = incarnation, .body = std::move(body)});
    return answer.refusal ? describe(*answer.refusal).message : "ok";
  };
  EXPECT_EQ(words(AddMember{.name = "m1", .address = "a:1"}), "ok");
  EXPECT_EQ(words(AddMember{.name = "m1", .address = "a:1"}), "member 'm1' exists already");
  EXPECT_EQ(words(ClaimIncarnation{.name = "m1", .incarnation = 5}, "m1", 5), "ok");
  EXPECT_EQ(words(ClaimIncarnation{.name = "m1", .incarnation = 5}, "m1", 5), "ok");
  EXPECT_EQ(words(OpenSession{}, "m1", 5), "ok");
  EXPECT_EQ(words(OpenSession{}, "m1", 4), "member 'm1' was started anew (incarnation 5)");
  EXPECT_EQ(words(OpenSession{}, "m2", 4), "'m2' is not a member of the cluster");
  ASSERT_EQ(store->view().members().size(), 1u);
  EXPECT_EQ(store->view().members()[0].address, "a:1");
  EXPECT_EQ(store->view().members()[0].incarnation, 5u);
  EXPECT_EQ(words(RemoveMember{.name = "m1"}), "ok");
  EXPECT_EQ(words(OpenSession{}, "m1", 5), "'m1' is not a member of the cluster");
  EXPECT_EQ(words(RaiseRulesLevel{.level = 1}), "ok");
  EXPECT_EQ(words(RaiseRulesLevel{.level = 9}), "rules level 9 can not be raised to: known is 1");
  EXPECT_TRUE(store->verify().ok());
}

}  // namespace
}  // namespace waypost::store
