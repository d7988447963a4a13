#include "rpc/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "model/limits.h"
#include "rpc/call.h"
#include "rpc/waypost.pb.h"

namespace waypost::rpc {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr size_t kReadBytes = 64u << 10;

// The protocol family is only a label here: the socket is already connected.
tcp::socket adopt(asio::io_context& io, int socket) {
  return tcp::socket(io, tcp::v4(), socket);
}

bool is_stream(const Request& request) {
  switch (request.body_case()) {
    case Request::kList:
    case Request::kWatch:
    case Request::kHistory:
    case Request::kDiff:
    case Request::kFibDiff:
    case Request::kJob:
    case Request::kSnapshot:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct Connection::Io {
  Io(asio::io_context& io, int fd) : context(io), socket(adopt(io, fd)), timer(io) {}
  asio::io_context& context;
  tcp::socket socket;
  asio::steady_timer timer;
  std::vector<char> read_buffer = std::vector<char>(kReadBytes);
};

Connection::Connection(asio::io_context& io, int socket, std::string peer, const ServerOptions& options,
                       const Handler& handler, std::function<void(Connection*)> closed)
    : io_(std::make_unique<Io>(io, socket)),
      peer_(std::move(peer)),
      options_(options),
      handler_(handler),
      closed_callback_(std::move(closed)),
      decoder_(limits::kMaxRequestBytes) {}

Connection::~Connection() = default;

void Connection::start() {
  tick();
  read_some();
}

void Connection::post(std::function<void()> work) {
  asio::post(io_->context, std::move(work));
}

// A client that asks faster than it takes answers, or than they can be made, is not read further.
bool Connection::overloaded() const {
  return calls_.size() >= limits::kMaxCallsPerConnection ||
         buffered_bytes() >= 2 * limits::kMaxStreamBufferBytes;
}

void Connection::read_some() {
  if (closed_ || reading_ || overloaded()) return;
  reading_ = true;
  io_->socket.async_read_some(
      asio::buffer(io_->read_buffer),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->reading_ = false;
        if (self->closed_) return;
        if (error) return self->close(error == asio::error::eof ? "" : error.message());
        const Status status = self->decoder_.feed({self->io_->read_buffer.data(), bytes});
        self->take_frames();
        if (!status.ok()) return self->close(status.error().message);
        self->read_some();
      });
}

void Connection::take_frames() {
  std::string body;
  while (!closed_ && decoder_.next(&body)) take_envelope(body);
}

void Connection::take_envelope(const std::string& body) {
  Envelope envelope;
  if (!envelope.ParseFromString(body)) return close("a frame's body is not an envelope of this protocol");
  switch (envelope.body_case()) {
    case Envelope::kRequest:
      return take_request(envelope);
    case Envelope::kCredit:
      return take_credit(envelope.id(), envelope.credit().bytes());
    case Envelope::kCancel:
      return cancel(envelope.id());
    default:
      return close("an envelope that only a server sends");
  }
}

void Connection::take_request(Envelope& envelope) {
  const uint64_t id = envelope.id();
  if (id <= last_request_id_) return close("request ids must increase");
  last_request_id_ = id;
  if (envelope.request().has_hello()) return answer_hello(envelope);
  if (!greeted_) return close("the first request must be a hello");
  size_t streams = 0;
  const bool stream = is_stream(envelope.request());
  if (stream) {
    for (const auto& [other, call] : calls_) streams += is_stream(call->request()) ? 1 : 0;
  }
  auto call = std::make_shared<Call>(shared_from_this(), id, std::move(*envelope.mutable_request()));
  calls_.emplace(id, call);
  if (streams >= limits::kMaxStreamsPerConnection) {
    return call->fail({ErrorCode::kResourceExhausted,
                       "this connection has " + std::to_string(streams) + " streams open already",
                       "end one of them first"});
  }
  handler_(std::move(call));
}

void Connection::answer_hello(const Envelope& envelope) {
  auto call = std::make_shared<Call>(shared_from_this(), envelope.id(), envelope.request());
  if (const uint32_t theirs = envelope.request().hello().protocol(); theirs != kProtocolVersion) {
    return call->fail({ErrorCode::kUnsupported,
                       "the client speaks protocol " + std::to_string(theirs) + ", this node " +
                           std::to_string(kProtocolVersion),
                       "use a client of version " + options_.version});
  }
  greeted_ = true;
  End end;
  HelloAnswer& answer = *end.mutable_hello();
  answer.set_protocol(kProtocolVersion);
  answer.set_node(options_.node);
  answer.set_version(options_.version);
  if (options_.cluster_id) answer.set_cluster(options_.cluster_id());
  call->finish(std::move(end));
}

void Connection::take_credit(uint64_t id, uint64_t bytes) {
  const auto it = calls_.find(id);
  if (it == calls_.end()) return;  // credit that crossed the end of its stream
  Call& call = *it->second;
  const int64_t bound = static_cast<int64_t>(limits::kMaxStreamBufferBytes);
  const int64_t room = bound - call.credit_.load();
  if (room > 0)
    call.credit_ += std::min<int64_t>(room, static_cast<int64_t>(std::min<uint64_t>(bytes, bound)));
  last_progress_tick_ = ticks_;
  wake_writable_calls();
}

void Connection::cancel(uint64_t id) {
  const auto it = calls_.find(id);
  if (it == calls_.end()) return;
  const std::shared_ptr<Call> call = it->second;
  call->fail({ErrorCode::kConflict, "cancelled by the client", ""});
  call->closed_ = true;
  if (auto waiter = std::exchange(call->waiter_, nullptr)) waiter();
}

void Connection::forget(uint64_t id) {
  post([self = shared_from_this(), id] {
    self->calls_.erase(id);
    self->read_some();
  });
}

void Connection::send_frame(std::string frame) {
  buffered_ += frame.size();
  bool idle = false;
  {
    std::lock_guard lock(outgoing_mutex_);
    idle = outgoing_.empty();
    if (idle) {
      outgoing_ = std::move(frame);
    } else {
      outgoing_ += frame;
    }
  }
  if (idle) post([self = shared_from_this()] { self->write_some(); });
}

void Connection::write_some() {
  if (closed_ || writing_) return;
  {
    std::lock_guard lock(outgoing_mutex_);
    if (outgoing_.empty()) return;
    in_flight_.clear();
    std::swap(in_flight_, outgoing_);
  }
  writing_ = true;
  // Written in one go, but counted as progress piece by piece, so that a slow link is not taken for a dead
  // one.
  asio::async_write(
      io_->socket, asio::buffer(in_flight_),
      [self = shared_from_this()](const boost::system::error_code& error, size_t) -> size_t {
        self->last_progress_tick_ = self->ticks_;
        return error ? 0 : kReadBytes;
      },
      [self = shared_from_this()](const boost::system::error_code& error, size_t) {
        self->writing_ = false;
        self->buffered_ -= self->in_flight_.size();
        if (self->in_flight_.capacity() > limits::kMaxStreamBufferBytes) std::string().swap(self->in_flight_);
        if (self->closed_) return;
        if (error) return self->close(error.message());
        self->write_some();
        self->wake_writable_calls();
        self->read_some();
      });
}

void Connection::wake_writable_calls() {
  std::vector<std::function<void()>> ready;
  for (auto& [id, call] : calls_) {
    if (call->waiter_ && call->writable()) ready.push_back(std::exchange(call->waiter_, nullptr));
  }
  for (auto& work : ready) work();
}

bool Connection::is_stalled() {
  bool waiting = writing_;
  for (const auto& [id, call] : calls_) waiting = waiting || call->waiter_ != nullptr;
  if (!waiting) last_progress_tick_ = ticks_;
  return ticks_ - last_progress_tick_ > limits::kStalledReaderSeconds;
}

void Connection::tick() {
  if (closed_) return;
  if (!greeted_ && ticks_ > limits::kHelloSeconds) return close("no hello came");
  if (is_stalled()) return close("the client took nothing of its answers for too long");
  ++ticks_;
  io_->timer.expires_after(std::chrono::seconds(1));
  io_->timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->tick();
  });
}

void Connection::close(const std::string& reason) {
  if (closed_) return;
  const auto self = shared_from_this();
  closed_ = true;
  if (!reason.empty() && options_.log) options_.log("connection from " + peer_ + " closed: " + reason);
  boost::system::error_code ignored;
  io_->socket.close(ignored);
  io_->timer.cancel();
  auto calls = std::move(calls_);
  calls_.clear();
  for (auto& [id, call] : calls) {
    call->closed_ = true;
    if (auto waiter = std::exchange(call->waiter_, nullptr)) waiter();
  }
  closed_callback_(this);
}

}  // namespace waypost::rpc
