#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>

#include "rpc/client.h"
#include "rpc/frame.h"
#include "tests/rpc/loop_server.h"

namespace waypost::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A bare socket, for what no client of ours would send.
class RawSocket {
 public:
  explicit RawSocket(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawSocket() { ::close(fd_); }
  bool connected() const { return connected_; }
  void send(std::string_view bytes) { (void)!::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // What comes until the other side closes or `wait` passes.
  std::string receive(milliseconds wait, bool* closed) {
    std::string all;
    *closed = false;
    const auto until = steady_clock::now() + wait;
    while (steady_clock::now() < until) {
      pollfd poll_of{fd_, POLLIN, 0};
      if (::poll(&poll_of, 1, 20) <= 0) continue;
      char buffer[4096];
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) {
        *closed = true;
        return all;
      }
      all.append(buffer, static_cast<size_t>(got));
    }
    return all;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
  bool connected_ = false;
};

std::string framed(const Envelope& envelope) {
  std::string out;
  append_frame(out, envelope.SerializeAsString());
  return out;
}

Envelope hello_of(uint64_t id) {
  Envelope envelope;
  envelope.set_id(id);
  envelope.mutable_request()->mutable_hello()->set_protocol(kProtocolVersion);
  return envelope;
}

Envelope status_of(uint64_t id) {
  Envelope envelope;
  envelope.set_id(id);
  envelope.mutable_request()->mutable_node_status();
  return envelope;
}

void answer_status(const std::shared_ptr<Call>& call) {
  End end;
  end.mutable_node_status()->set_name("n1");
  call->finish(std::move(end));
}

// Random bytes, HTTP, a 2 GiB frame, a frame that is no envelope, a request before the hello: closed at once,
// each with one line in the log that says why, and the next client is served as ever.
TEST(ServerTest, NonsenseIsClosedWithALine) {
  LoopServer server(answer_status);
  Envelope repeated = hello_of(1);
  const std::vector<std::pair<std::string, std::string>> nonsense = {
      {"GET / HTTP/1.1\r\n\r\n", "not the waypost protocol"},
      {std::string("WPR1\x7f\xff\xff\xff", 8), "2147483647 bytes long"},
      {std::string("WPR1\0\0\0\3\xff\xff\xff", 11), "not an envelope"},
      {framed(status_of(1)), "first request must be a hello"},
      {framed(hello_of(2)) + framed(status_of(2)), "ids must increase"},
  };
  for (const auto& [bytes, words] : nonsense) {
    RawSocket socket(server.port());
    socket.send(bytes);
    bool closed = false;
    socket.receive(milliseconds(2'000), &closed);
    EXPECT_TRUE(closed) << words;
    ASSERT_FALSE(server.log().empty()) << words;
    EXPECT_NE(server.log().back().find(words), std::string::npos) << server.log().back();
  }
  ClientOptions options;
  options.endpoints = {server.endpoint()};
  Client client(options);
  Request request;
  request.mutable_node_status();
  EXPECT_TRUE(client.call(request).ok());
}

// A request cut into single bytes, each its own packet, is answered as if it had come whole.
TEST(ServerTest, BytesOneAtATime) {
  LoopServer server(answer_status);
  RawSocket socket(server.port());
  for (const char byte : framed(hello_of(1)) + framed(status_of(2))) socket.send({&byte, 1});
  bool closed = false;
  const std::string bytes = socket.receive(milliseconds(300), &closed);
  FrameDecoder decoder;
  ASSERT_TRUE(decoder.feed(bytes).ok());
  std::string body;
  Envelope envelope;
  ASSERT_TRUE(decoder.next(&body) && envelope.ParseFromString(body));
  EXPECT_EQ(envelope.end().hello().node(), "n1");
  ASSERT_TRUE(decoder.next(&body) && envelope.ParseFromString(body));
  EXPECT_EQ(envelope.id(), 2u);
  EXPECT_EQ(envelope.end().node_status().name(), "n1");
}

// A stream for a client that reads nothing stops at the buffer's bound, holds no thread, and goes on when
// credit comes.
TEST(ServerTest, SlowReaderIsBounded) {
  std::atomic<size_t> sent = 0;
  std::atomic<bool> ended = false;
  std::function<void(std::shared_ptr<Call>)> produce = [&](std::shared_ptr<Call> call) {
    while (call->writable() && sent < 64u << 20) {
      Part part;
      part.set_snapshot_chunk(std::string(60'000, 'x'));
      sent += 60'000;
      call->send(std::move(part));
    }
    if (call->closed()) {
      ended = true;
    } else {
      call->when_writable([&produce, call] { produce(call); });
    }
  };
  LoopServer server(produce);
  RawSocket socket(server.port());
  Envelope request;
  request.set_id(2);
  request.mutable_request()->mutable_snapshot();
  socket.send(framed(hello_of(1)) + framed(request));
  std::this_thread::sleep_for(milliseconds(300));
  // Credit is 1 MiB, whatever the kernel's buffers would take; one part may overdraw it.
  const size_t before = sent;
  EXPECT_GE(before, limits::kMaxStreamBufferBytes - 60'000);
  EXPECT_LE(before, limits::kMaxStreamBufferBytes + 120'000);
  Envelope credit;
  credit.set_id(2);
  credit.mutable_credit()->set_bytes(1u << 30);  // more than the bound is not granted
  socket.send(framed(credit));
  bool closed = false;
  const std::string got = socket.receive(milliseconds(500), &closed);
  EXPECT_GT(sent, before);
  EXPECT_LE(sent, 2 * limits::kMaxStreamBufferBytes + 240'000);
  EXPECT_FALSE(ended);
  // Cancelled: the producer hears of it.
  Envelope cancel;
  cancel.set_id(2);
  cancel.mutable_cancel();
  socket.send(framed(cancel));
  const auto until = steady_clock::now() + milliseconds(2'000);
  while (!ended && steady_clock::now() < until) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(ended);
}

// At the bound of connections, accepting pauses; those that are open are served, and a place that becomes
// free is taken.
TEST(ServerTest, MaxConnectionsPauseAccepting) {
  LoopServer server(answer_status, 3);
  auto sockets = std::vector<std::unique_ptr<RawSocket>>();
  for (int i = 0; i < 5; ++i) {
    sockets.push_back(std::make_unique<RawSocket>(server.port()));
    sockets.back()->send(framed(hello_of(1)));
  }
  bool closed = false;
  EXPECT_FALSE(sockets[0]->receive(milliseconds(200), &closed).empty());
  EXPECT_EQ(server.connections(), 3u);
  EXPECT_TRUE(sockets[4]->receive(milliseconds(100), &closed).empty());
  sockets[0].reset();
  sockets[1].reset();
  EXPECT_FALSE(sockets[4]->receive(milliseconds(1'000), &closed).empty());
}

// A seventeenth stream on one connection is refused in words; the sixteen go on.
TEST(ServerTest, StreamsAreBounded) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Call>> held;
  LoopServer server([&](std::shared_ptr<Call> call) {
    std::lock_guard lock(mutex);
    held.push_back(std::move(call));
  });
  RawSocket socket(server.port());
  std::string bytes = framed(hello_of(1));
  for (uint64_t id = 2; id < 2 + limits::kMaxStreamsPerConnection + 1; ++id) {
    Envelope watch;
    watch.set_id(id);
    watch.mutable_request()->mutable_watch();
    bytes += framed(watch);
  }
  socket.send(bytes);
  bool closed = false;
  const std::string got = socket.receive(milliseconds(300), &closed);
  EXPECT_FALSE(closed);
  EXPECT_NE(got.find("16 streams open already"), std::string::npos);
  // A call belongs to the server's thread and must not outlive its loop.
  server.on_thread([&] {
    std::lock_guard lock(mutex);
    EXPECT_EQ(held.size(), limits::kMaxStreamsPerConnection);
    held.clear();
  });
}

// Two servers cannot have one port: the second is told who to look for.
TEST(ServerTest, PortTaken) {
  LoopServer server(answer_status);
  boost::asio::io_context io;
  Server second(io, {}, answer_status);
  const Status status = second.listen({"127.0.0.1", server.port()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_NE(status.error().message.find(server.endpoint()), std::string::npos);
}

}  // namespace
}  // namespace waypost::rpc
