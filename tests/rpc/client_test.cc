#include "rpc/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>

#include "model/transaction.h"
#include "tests/rpc/loop_server.h"

namespace waypost::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What several servers share in these tests: sessions as apply keeps them, and the list of what was applied.
struct FakeState {
  std::mutex mutex;
  uint64_t sessions = 0;
  std::map<uint64_t, uint64_t> last_number;  // by the session's position
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> revision_of;
  std::vector<uint32_t> applied;  // the nexthop id of each transaction

  std::string apply(std::string_view bytes) {
    std::lock_guard lock(mutex);
    const Result<Proposal> proposal = decode_proposal(bytes);
    WAYPOST_CHECK(proposal.ok(), "a proposal");
    ProposalAnswer answer;
    if (const auto* open = std::get_if<OpenSession>(&proposal->body)) {
      answer.session = SessionId{Position(++sessions), 0, open->random};
      last_number[sessions] = 0;
      return encode(answer);
    }
    const auto& body = std::get<SessionTransaction>(proposal->body);
    const uint64_t session = body.session.position.value();
    if (!last_number.contains(session)) {
      answer.refusal = Refusal{RefusalCode::kUnknownSession, {}};
    } else if (body.number > last_number[session] + 1) {
      answer.refusal = Refusal{RefusalCode::kSessionGap,
                               {std::to_string(last_number[session] + 1), std::to_string(body.number)}};
    } else {
      if (body.number == last_number[session] + 1) {
        ++last_number[session];
        applied.push_back(std::get<DeleteNexthop>(body.transaction.commands[0]).id.value());
        revision_of[{session, body.number}] = applied.size();
      }
      answer.transaction = TransactionAnswer{Revision(revision_of[{session, body.number}]), 1, 0, {}, {}};
    }
    return encode(answer);
  }
};

enum class Fault { kNone, kCutBefore, kCutAfter, kUnknownAfter, kUnknownBefore, kBusy, kUnreachable };

// Answers a proposal the way a node with this fault would.
void answer_with(const std::shared_ptr<Call>& call, FakeState& state, Fault fault) {
  const std::string& proposal = call->request().propose().proposal();
  switch (fault) {
    case Fault::kCutBefore:
      return call->disconnect("cut before");
    case Fault::kUnknownBefore:
      return call->fail({ErrorCode::kOutcomeUnknown, "the log does not answer", ""});
    case Fault::kBusy:
      return call->fail({ErrorCode::kResourceExhausted, "too much in flight", ""}, 5);
    case Fault::kUnreachable:
      return call->fail({ErrorCode::kUnavailable, "log unreachable", "start it"});
    default:
      break;
  }
  End end;
  end.mutable_propose()->set_answer(state.apply(proposal));
  if (fault == Fault::kCutAfter) return call->disconnect("cut after");
  if (fault == Fault::kUnknownAfter)
    return call->fail({ErrorCode::kOutcomeUnknown, "the log does not answer", ""});
  call->finish(std::move(end));
}

Transaction numbered(uint32_t id) {
  Transaction transaction;
  transaction.commands.push_back(DeleteNexthop{NexthopId(id), false});
  return transaction;
}

ClientOptions options_for(std::vector<std::string> endpoints, milliseconds timeout = milliseconds(10'000)) {
  ClientOptions options;
  options.endpoints = std::move(endpoints);
  options.timeout = timeout;
  options.author = "tester@host";
  return options;
}

// 300 transactions in a window of 16 through two nodes that cut connections before and after applying, lose
// answers, are busy and cannot reach their log, each at random: every one is applied exactly once, in order,
// and its answer names its revision.
TEST(ClientTest, ExactlyOnceThroughFaults) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  FakeState state;
  std::mutex random_mutex;
  std::mt19937_64 random(seed);
  const auto handler = [&](std::shared_ptr<Call> call) {
    Fault fault = Fault::kNone;
    {
      std::lock_guard lock(random_mutex);
      if (random() % 25 == 0) fault = static_cast<Fault>(1 + random() % 6);
    }
    answer_with(call, state, fault);
  };
  LoopServer one(handler);
  LoopServer two(handler);
  Client client(options_for({one.endpoint(), two.endpoint()}));
  std::vector<uint64_t> revisions;
  for (uint32_t id = 1; id <= 300; ++id) {
    client.submit_async(numbered(id), 16, [&](Result<Submitted> done) {
      ASSERT_TRUE(done.ok()) << done.error().message;
      revisions.push_back(done->answer.revision.value());
    });
  }
  client.drain();
  ASSERT_EQ(state.applied.size(), 300u);
  ASSERT_EQ(revisions.size(), 300u);
  for (uint32_t i = 0; i < 300; ++i) {
    ASSERT_EQ(state.applied[i], i + 1);
    ASSERT_EQ(revisions[i], i + 1u);
  }
}

// Nobody listens: within a second the answer names the endpoint, the phase and the cure, and that nothing was
// sent.
TEST(ClientTest, RefusedConnectionIsWordedAtOnce) {
  uint16_t free_port = 0;
  {
    free_port = LoopServer([](std::shared_ptr<Call>) {}).port();
  }
  const std::string endpoint = "127.0.0.1:" + std::to_string(free_port);
  Client client(options_for({endpoint}));
  const auto start = steady_clock::now();
  const Result<Submitted> submitted = client.submit(numbered(1));
  EXPECT_LT(steady_clock::now() - start, milliseconds(1'000));
  ASSERT_FALSE(submitted.ok());
  EXPECT_EQ(submitted.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(submitted.error().message, "no connection to " + endpoint + ": connect: Connection refused");
  EXPECT_NE(submitted.error().hint.find("WAYPOST_ENDPOINTS"), std::string::npos);
  EXPECT_FALSE(client.call(Request()).ok());
}

// The first endpoint is down: the second answers, and the caller sees nothing of it.
TEST(ClientTest, EndpointsInTurn) {
  uint16_t free_port = 0;
  {
    free_port = LoopServer([](std::shared_ptr<Call>) {}).port();
  }
  FakeState state;
  LoopServer server([&](std::shared_ptr<Call> call) { answer_with(call, state, Fault::kNone); });
  Client client(options_for({"127.0.0.1:" + std::to_string(free_port), server.endpoint()}));
  EXPECT_TRUE(client.submit(numbered(1)).ok());
  EXPECT_EQ(client.endpoint(), server.endpoint());
}

// The log is unreachable from the only node: said at once as "nothing happened" (exit 5), and the session is
// good for the next.
TEST(ClientTest, UnreachableLogIsNotUnknown) {
  FakeState state;
  std::atomic<Fault> fault = Fault::kNone;
  LoopServer server([&](std::shared_ptr<Call> call) { answer_with(call, state, fault); });
  Client client(options_for({server.endpoint()}));
  ASSERT_TRUE(client.submit(numbered(1)).ok());
  fault = Fault::kUnreachable;
  const Result<Submitted> refused = client.submit(numbered(2));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message, "log unreachable");
  fault = Fault::kNone;
  ASSERT_TRUE(client.submit(numbered(3)).ok());
  EXPECT_EQ(state.applied, (std::vector<uint32_t>{1, 3}));
}

// No answer ever comes to what was handed over: after the timeout that is "unknown", never "failed", and all
// behind it likewise.
TEST(ClientTest, UnknownAfterTheTimeout) {
  FakeState state;
  std::atomic<Fault> fault = Fault::kNone;
  LoopServer server([&](std::shared_ptr<Call> call) { answer_with(call, state, fault); });
  Client client(options_for({server.endpoint()}, milliseconds(600)));
  ASSERT_TRUE(client.submit(numbered(1)).ok());
  fault = Fault::kUnknownBefore;
  std::vector<ErrorCode> codes;
  const auto note = [&](Result<Submitted> done) {
    codes.push_back(done.ok() ? ErrorCode::kInternal : done.error().code);
  };
  client.submit_async(numbered(2), 4, note);
  client.submit_async(numbered(3), 4, note);
  client.drain();
  EXPECT_EQ(codes, (std::vector<ErrorCode>{ErrorCode::kOutcomeUnknown, ErrorCode::kOutcomeUnknown}));
  fault = Fault::kNone;
  EXPECT_TRUE(client.submit(numbered(4)).ok());
}

// The node forgot the session (it was the least recently used): what was refused as unknown is sent under a
// new one.
TEST(ClientTest, ForgottenSessionIsOpenedAnew) {
  FakeState state;
  LoopServer server([&](std::shared_ptr<Call> call) { answer_with(call, state, Fault::kNone); });
  Client client(options_for({server.endpoint()}));
  ASSERT_TRUE(client.submit(numbered(1)).ok());
  {
    std::lock_guard lock(state.mutex);
    state.last_number.clear();
  }
  for (uint32_t id = 2; id <= 9; ++id) {
    client.submit_async(numbered(id), 8,
                        [](Result<Submitted> done) { ASSERT_TRUE(done.ok()) << done.error().message; });
  }
  client.drain();
  EXPECT_EQ(state.applied, (std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// A stream of 50 MB arrives whole and in order, credit by credit; stopping early leaves the connection good
// for the next call.
TEST(ClientTest, StreamsFlowAndCanBeLeft) {
  std::function<void(std::shared_ptr<Call>, uint32_t)> produce = [&](std::shared_ptr<Call> call,
                                                                     uint32_t next) {
    for (; call->writable() && next < 800; ++next) {
      Part part;
      part.set_snapshot_chunk(std::to_string(next) + " " + std::string(64'000, 'x'));
      call->send(std::move(part));
    }
    if (next >= 800 || call->closed()) return call->finish(End());
    call->when_writable([&produce, call, next] { produce(call, next); });
  };
  LoopServer server([&](std::shared_ptr<Call> call) { produce(std::move(call), 0); });
  Client client(options_for({server.endpoint()}));
  Request request;
  request.mutable_snapshot();
  uint32_t seen = 0;
  const auto in_order = [&seen](const Part& part) { return std::stoul(part.snapshot_chunk()) == seen++; };
  ASSERT_TRUE(client.call(request, in_order).ok());
  EXPECT_EQ(seen, 800u);
  seen = 0;
  ASSERT_TRUE(client.call(request, [&seen](const Part&) { return ++seen < 3; }).ok());
  EXPECT_EQ(seen, 3u);
  seen = 0;
  ASSERT_TRUE(client.call(request, in_order).ok());
  EXPECT_EQ(seen, 800u);
}

// The node restarts on the same port between two calls: the second connects anew by itself.
TEST(ClientTest, RestartedNode) {
  FakeState state;
  const auto handler = [&](std::shared_ptr<Call> call) { answer_with(call, state, Fault::kNone); };
  auto server = std::make_unique<LoopServer>(handler);
  const uint16_t port = server->port();
  Client client(options_for({server->endpoint()}));
  ASSERT_TRUE(client.submit(numbered(1)).ok());
  server.reset();
  server = std::make_unique<LoopServer>(handler, limits::kMaxConnections, port);
  ASSERT_TRUE(client.submit(numbered(2)).ok());
  EXPECT_EQ(state.applied, (std::vector<uint32_t>{1, 2}));
}

// An HTTP server at the endpoint: not a hang, but words that say which port was meant.
TEST(ClientTest, SilentOrForeignServer) {
  FakeState state;
  LoopServer server([](std::shared_ptr<Call>) {});  // answers hello, then nothing
  Client client(options_for({server.endpoint()}, milliseconds(200)));
  Request request;
  request.mutable_node_status();
  const Result<End> end = client.call(request);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_NE(end.error().message.find(server.endpoint()), std::string::npos);
}

}  // namespace
}  // namespace waypost::rpc
