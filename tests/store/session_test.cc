#include <gtest/gtest.h>

#include "model/limits.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

Proposal request(const SessionId& session, uint64_t number, std::vector<Command> commands,
                 bool chained = false, OnRefusal on_refusal = OnRefusal::kAbort) {
  return {
      .author = "test",
      .member = {},
      .incarnation = 0,
      .body = SessionTransaction{
          .session = session,
          .number = number,
          .transaction = {.on_refusal = on_refusal, .chained = chained, .commands = std::move(commands)}}};
}

std::string words(const ProposalAnswer& answer) {
  return answer.refusal ? describe(*answer.refusal).message : "executed";
}

// A client whose answer was lost asks again, in the same entry and in a later one: the first answer comes
// back and nothing changes, also after a restart.
TEST(Sessions, ARetryGetsTheFirstAnswer) {
  TestStore store;
  const SessionId session = open_session(store);
  const Proposal add = request(session, 1, {put(0, via("10.0.0.1", "e0"))});
  const auto together = store.propose_together({add, add});
  EXPECT_EQ(encode(together[0]), encode(together[1]));
  EXPECT_EQ(together[0].transaction->assigned_ids.at(0).second, NexthopId(1));
  const Revision revision = store->stamp().revision;
  store.reopen();
  EXPECT_EQ(encode(store.propose(add)), encode(together[0]));
  EXPECT_EQ(store->stamp().revision, revision);
  EXPECT_EQ(store->counts().nexthops, 1u);
  EXPECT_TRUE(store->verify().ok());
}

// What was refused stays refused for its number, even where it would succeed by now.
TEST(Sessions, ARefusalIsRepeatedToo) {
  TestStore store;
  const SessionId session = open_session(store);
  const Proposal route = request(session, 1, {put_route("192.0.2.0/24", 1)});
  const ProposalAnswer refused = store.propose(route);
  ASSERT_EQ(refused.transaction->refusals.size(), 1u);
  store.propose(request(session, 2, {put(1, via("10.0.0.1", "e0"))}));
  EXPECT_EQ(encode(store.propose(route)), encode(refused));
  EXPECT_EQ(store->counts().routes, 0u);
}

// Each number is the last plus one: a higher one would leave a hole through which a delayed request could
// slip later.
TEST(Sessions, AGapIsRefused) {
  TestStore store;
  const SessionId session = open_session(store);
  store.propose(request(session, 1, {put(1, via("10.0.0.1", "e0"))}));
  EXPECT_EQ(words(store.propose(request(session, 3, {put(3, via("10.0.0.3", "e0"))}))),
            "the session expects number 2, not 3");
  EXPECT_EQ(words(store.propose(request(session, 2, {put(2, via("10.0.0.2", "e0"))}))), "executed");
  EXPECT_EQ(store->counts().nexthops, 2u);
}

// The same number with another request is a client's mistake, and an unknown session is never executed.
TEST(Sessions, WhatIsNotARetry) {
  TestStore store;
  const SessionId session = open_session(store);
  store.propose(request(session, 1, {put(1, via("10.0.0.1", "e0"))}));
  EXPECT_EQ(words(store.propose(request(session, 1, {put(2, via("10.0.0.1", "e0"))}))),
            "number 1 of the session was another request");
  SessionId forged = session;
  forged.random[5] ^= 1;
  EXPECT_EQ(words(store.propose(request(forged, 1, {put(3, via("10.0.0.1", "e0"))}))),
            "the session is not known (any more)");
  EXPECT_EQ(store->counts().nexthops, 1u);
}

// Answers are kept for a window of numbers; an older one is said to be forgotten, never executed again.
TEST(Sessions, OldAnswersAreForgotten) {
  TestStore store;
  const SessionId session = open_session(store);
  const uint64_t last = limits::kSessionWindow + 1;
  for (uint64_t number = 1; number <= last; ++number)
    store.propose(request(session, number, {put(static_cast<uint32_t>(number), via("10.0.0.1", "e0"))}));
  EXPECT_EQ(words(store.propose(request(session, 1, {put(1, via("10.0.0.1", "e0"))}))),
            "the answer to number 1 is no longer kept");
  EXPECT_EQ(words(store.propose(request(session, 2, {put(2, via("10.0.0.1", "e0"))}))), "executed");
  EXPECT_EQ(store->counts().nexthops, last);
  EXPECT_TRUE(store->verify().ok());
}

// Sessions leave by count, the least recently used first; a busy one stays however many others come.
TEST(Sessions, TheLeastRecentlyUsedLeaves) {
  TestStore store;
  const SessionId busy = open_session(store);
  const SessionId idle = open_session(store);
  store.propose(request(busy, 1, {put(1, via("10.0.0.1", "e0"))}));
  store.propose(request(idle, 1, {put(2, via("10.0.0.1", "e0"))}));
  for (size_t i = 0; i < limits::kMaxSessions; ++i) {
    if (i == limits::kMaxSessions / 2) store.propose(request(busy, 2, {put(3, via("10.0.0.1", "e0"))}));
    if (i == limits::kMaxSessions / 2) store.reopen();
    open_session(store);
  }
  EXPECT_EQ(store->view().session_count(), limits::kMaxSessions);
  EXPECT_EQ(words(store.propose(request(busy, 3, {put(4, via("10.0.0.1", "e0"))}))), "executed");
  EXPECT_EQ(words(store.propose(request(idle, 2, {put(5, via("10.0.0.1", "e0"))}))),
            "the session is not known (any more)");
  EXPECT_TRUE(store->verify().ok());
}

// Time never ends a session: clocks differ and jump, and a client may sleep.
TEST(Sessions, TimeDoesNotEndASession) {
  TestStore store;
  const SessionId session = open_session(store);
  store.propose(request(session, 1, {put(1, via("10.0.0.1", "e0"))}));
  store.time_us += uint64_t{30} * 24 * 3'600 * 1'000'000;
  EXPECT_EQ(words(store.propose(request(session, 2, {put(2, via("10.0.0.1", "e0"))}))), "executed");
}

// A batch keeps several transactions in flight and still stops at its first refused line: a chained one
// behind a refusal is refused as a whole, and so are all behind it.
TEST(Sessions, AChainStopsAtARefusal) {
  TestStore store;
  const SessionId session = open_session(store);
  const auto answers = store.propose_together(
      {request(session, 1, {put(1, via("10.0.0.1", "e0"))}, true),
       request(session, 2, {put(2, via("10.0.0.1", "e0")), put(1, via("10.0.0.1", "e0"))}, true,
               OnRefusal::kStop),
       request(session, 3, {put(3, via("10.0.0.1", "e0"))}, true),
       request(session, 4, {put(4, via("10.0.0.1", "e0"))}, true),
       request(session, 5, {put(5, via("10.0.0.1", "e0"))}, false)});
  EXPECT_EQ(words(answers[2]),
            "not applied: it was to follow transaction 2 of its session, which was refused");
  EXPECT_EQ(words(answers[3]),
            "not applied: it was to follow transaction 3 of its session, which was refused");
  EXPECT_EQ(words(answers[4]), "executed");
  EXPECT_EQ(store->counts().nexthops, 3u);
}

}  // namespace
}  // namespace waypost::store
