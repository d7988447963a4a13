#include "rpc/call.h"

#include "model/check.h"
#include "model/limits.h"
#include "rpc/connection.h"
#include "rpc/frame.h"
#include "rpc/utf8.h"
#include "rpc/waypost.pb.h"

namespace waypost::rpc {

namespace {

using std::chrono::steady_clock;

std::string frame_of(const Envelope& envelope) {
  const size_t bytes = envelope.ByteSizeLong();
  std::string frame;
  frame.reserve(kFrameHeaderBytes + bytes);
  append_frame_header(frame, bytes);
  frame.resize(kFrameHeaderBytes + bytes);
  envelope.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(frame.data() + kFrameHeaderBytes));
  return frame;
}

steady_clock::time_point deadline_of(const Request& request) {
  const uint32_t asked = request.deadline_ms();
  return steady_clock::now() + std::chrono::milliseconds(asked == 0 ? limits::kDefaultDeadlineMs : asked);
}

}  // namespace

Call::Call(std::shared_ptr<Connection> connection, uint64_t id, Request request)
    : connection_(std::move(connection)),
      id_(id),
      request_(std::make_unique<Request>(std::move(request))),
      deadline_(deadline_of(*request_)),
      credit_(static_cast<int64_t>(limits::kMaxStreamBufferBytes)) {}

Call::~Call() = default;

uint64_t Call::milliseconds_left() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - steady_clock::now());
  return left.count() > 0 ? static_cast<uint64_t>(left.count()) : 0;
}

const std::string& Call::peer() const {
  return connection_->peer();
}

bool Call::writable() const {
  return !closed() && credit_.load(std::memory_order_relaxed) > 0 &&
         connection_->buffered_bytes() < limits::kMaxStreamBufferBytes;
}

void Call::when_writable(std::function<void()> work) {
  connection_->post([self = shared_from_this(), work = std::move(work)]() mutable {
    if (self->closed() || self->writable()) {
      work();
    } else {
      WAYPOST_CHECK(!self->waiter_, "one producer a call");
      self->waiter_ = std::move(work);
    }
  });
}

void Call::send(Part part) {
  if (closed() || finished_.load(std::memory_order_relaxed)) return;
  Envelope envelope;
  envelope.set_id(id_);
  *envelope.mutable_part() = std::move(part);
  std::string frame = frame_of(envelope);
  credit_.fetch_sub(static_cast<int64_t>(frame.size()), std::memory_order_relaxed);
  connection_->send_frame(std::move(frame));
}

void Call::finish(End end) {
  if (finished_.exchange(true)) return;
  if (!closed()) {
    Envelope envelope;
    envelope.set_id(id_);
    *envelope.mutable_end() = std::move(end);
    connection_->send_frame(frame_of(envelope));
  }
  connection_->forget(id_);
}

void Call::fail(const Error& error, uint32_t retry_after_ms) {
  End end;
  end.mutable_error()->set_code(static_cast<uint32_t>(error.code));
  end.mutable_error()->set_message(valid_utf8(error.message));
  end.mutable_error()->set_hint(valid_utf8(error.hint));
  end.mutable_error()->set_retry_after_ms(retry_after_ms);
  finish(std::move(end));
}

void Call::disconnect(std::string reason) {
  connection_->post([connection = connection_, reason = std::move(reason)] { connection->close(reason); });
}

}  // namespace waypost::rpc
