#include "rpc/client.h"

#include <algorithm>
#include <thread>

#include "model/limits.h"
#include "rpc/client_internal.h"
#include "rpc/server.h"
#include "rpc/utf8.h"

namespace waypost::rpc {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstBackOff{50};
constexpr milliseconds kLongestBackOff{1'000};
constexpr milliseconds kSilence{1'000};  // waiting longer is told

}  // namespace

Error error_of(const WireError& error) {
  const bool known = error.code() >= static_cast<uint32_t>(ErrorCode::kInvalidArgument) &&
                     error.code() <= static_cast<uint32_t>(ErrorCode::kInternal);
  return {known ? static_cast<ErrorCode>(error.code()) : ErrorCode::kInternal, error.message(), error.hint()};
}

Status ClientConnection::hello(ClientWire& wire) {
  Envelope envelope;
  envelope.set_id(next_id_++);
  Hello& greeting = *envelope.mutable_request()->mutable_hello();
  greeting.set_protocol(kProtocolVersion);
  greeting.set_client("waypost");
  const TimePoint deadline = steady_clock::now() + options_.connect_timeout;
  if (Status status = wire.send(envelope, deadline); !status.ok()) return status;
  if (Status status = wire.receive(&envelope, deadline); !status.ok()) {
    if (status.error().code != ErrorCode::kDeadlineExceeded) return status;
    return Error{ErrorCode::kUnavailable, "no connection to " + wire.endpoint() + ": hello: no answer",
                 "something listens there, but is it a waypostd, and is it well?"};
  }
  if (envelope.end().has_error()) return error_of(envelope.end().error());
  if (!envelope.end().has_hello()) {
    return Error{ErrorCode::kUnavailable, wire.endpoint() + " answers, but not to a hello",
                 "is this the --listen port of a waypostd?"};
  }
  return {};
}

Status ClientConnection::try_endpoint(const std::string& endpoint) {
  Result<std::unique_ptr<ClientWire>> wire = ClientWire::connect(endpoint, options_.connect_timeout);
  if (!wire.ok()) return wire.error();
  if (Status status = hello(**wire); !status.ok()) return status;
  wire_ = std::move(*wire);
  ++generation_;
  return {};
}

// Every endpoint once. The error is that of the first, with the words of the others.
Status ClientConnection::try_each() {
  std::optional<Error> first;
  for (size_t i = 0; i < endpoint_count(); ++i) {
    const Status status = try_endpoint(options_.endpoints[current_]);
    if (status.ok()) return status;
    if (!first) {
      first = status.error();
    } else {
      first->message += "; " + status.error().message;
    }
    current_ = (current_ + 1) % endpoint_count();
  }
  return *first;
}

Status ClientConnection::ensure(TimePoint deadline, bool patient) {
  if (wire_) return {};
  if (endpoint_count() == 0) {
    return Error{ErrorCode::kInvalidArgument, "no endpoint is given", "--endpoints or WAYPOST_ENDPOINTS"};
  }
  milliseconds back_off = kFirstBackOff;
  bool told = !options_.on_waiting;
  for (const TimePoint begin = steady_clock::now();;) {
    const Status tried = try_each();
    if (tried.ok()) return tried;
    const bool hopeless =
        tried.error().code == ErrorCode::kInvalidArgument || tried.error().code == ErrorCode::kUnsupported;
    const TimePoint now = steady_clock::now();
    if (!patient || hopeless || now + back_off >= deadline) return tried;
    if (!told && now - begin >= kSilence) {
      const bool endless = deadline == kNoDeadline;
      options_.on_waiting(tried.error(), endless ? std::chrono::seconds(0)
                                                 : std::chrono::ceil<std::chrono::seconds>(deadline - now));
      told = true;
    }
    std::this_thread::sleep_for(back_off);
    back_off = std::min(back_off * 2, kLongestBackOff);
  }
}

Result<uint64_t> ClientConnection::send(const Request& request, TimePoint deadline) {
  Envelope envelope;
  envelope.set_id(next_id_++);
  *envelope.mutable_request() = request;
  // A watch and a job go on for as long as there is something to say.
  const bool open_ended = request.has_watch() || request.has_job();
  if (request.deadline_ms() == 0 && deadline != kNoDeadline && !open_ended) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    envelope.mutable_request()->set_deadline_ms(
        static_cast<uint32_t>(std::clamp<int64_t>(left, 1, 0xffff'ffff)));
  }
  if (Status status = wire_->send(envelope, deadline); !status.ok()) {
    if (status.error().code != ErrorCode::kInvalidArgument) drop();
    return status.error();
  }
  return envelope.id();
}

Status ClientConnection::send_control(Envelope envelope) {
  Status status = wire_->send(envelope, steady_clock::now() + options_.connect_timeout);
  if (!status.ok()) drop();
  return status;
}

Status ClientConnection::receive(Envelope* envelope, TimePoint deadline) {
  Status status = wire_->receive(envelope, deadline);
  if (!status.ok() && status.error().code != ErrorCode::kDeadlineExceeded) drop();
  return status;
}

void ClientConnection::leave_endpoint() {
  if (endpoint_count() < 2) return;
  drop();
  current_ = (current_ + 1) % endpoint_count();
}

void ClientConnection::drop() {
  wire_.reset();
}

struct Client::Impl {
  explicit Impl(ClientOptions client_options)
      : options(std::move(client_options)), connection(options), session(connection, options) {
    options.author = valid_utf8(options.author);
  }

  ClientOptions options;
  ClientConnection connection;
  ClientSession session;

  // How long to wait for the next envelope of an answer: its server was given `deadline_ms`, and a watch may
  // be silent for days.
  TimePoint silence_deadline(const Request& request) const {
    if (options.timeout.count() == 0 || request.has_watch()) return kNoDeadline;
    const milliseconds server(request.deadline_ms() == 0 ? 0 : request.deadline_ms() + 1'000);
    return steady_clock::now() + std::max(options.timeout, server);
  }

  // Grants credit as parts are taken; false where the connection is gone.
  bool consumed(uint64_t id, size_t bytes, size_t* since_credit) {
    *since_credit += bytes;
    if (*since_credit < limits::kMaxStreamBufferBytes / 4) return true;
    Envelope envelope;
    envelope.set_id(id);
    envelope.mutable_credit()->set_bytes(std::exchange(*since_credit, 0));
    return connection.send_control(std::move(envelope)).ok();
  }

  void cancel(uint64_t id) {
    Envelope envelope;
    envelope.set_id(id);
    envelope.mutable_cancel();
    if (!connection.send_control(std::move(envelope)).ok()) return;
    const TimePoint deadline = steady_clock::now() + options.connect_timeout;
    while (connection.receive(&envelope, deadline).ok()) {
      if (envelope.id() == id && envelope.has_end()) return;
      if (envelope.id() != id) session.take(envelope);
    }
    connection.drop();  // it does not end what was cancelled
  }

  // One attempt. `any_part`: something was delivered, so another attempt would deliver it twice.
  Result<End> attempt(const Request& request, const std::function<bool(const Part&)>& on_part,
                      bool* any_part) {
    const Result<uint64_t> id = connection.send(request, silence_deadline(request));
    if (!id.ok()) return id.error();
    size_t since_credit = 0;
    Envelope envelope;
    while (true) {
      if (Status status = connection.receive(&envelope, silence_deadline(request)); !status.ok()) {
        if (status.error().code == ErrorCode::kDeadlineExceeded) cancel(*id);
        return status.error();
      }
      if (envelope.id() != *id) {
        session.take(envelope);
        continue;
      }
      if (envelope.has_end()) {
        if (envelope.end().has_error()) return error_of(envelope.end().error());
        return std::move(*envelope.mutable_end());
      }
      if (!envelope.has_part()) continue;
      *any_part = true;
      const size_t bytes = envelope.ByteSizeLong() + kFrameHeaderBytes;
      if (on_part && !on_part(envelope.part())) {
        cancel(*id);
        return End();
      }
      if (!consumed(*id, bytes, &since_credit)) {
        return Error{ErrorCode::kUnavailable, "the connection was lost within the answer", "ask again"};
      }
    }
  }

  Result<End> call(const Request& request, const std::function<bool(const Part&)>& on_part) {
    const TimePoint start_by =
        options.timeout.count() == 0 ? kNoDeadline : steady_clock::now() + options.timeout;
    const bool repeatable = !request.has_job() && !request.has_control() && !request.has_propose();
    for (size_t round = 0;; ++round) {
      if (Status status = connection.ensure(start_by, false); !status.ok()) return status.error();
      const uint64_t generation = connection.generation();
      bool any_part = false;
      Result<End> end = attempt(request, on_part, &any_part);
      const bool lost =
          !end.ok() && connection.endpoint().empty() && end.error().code == ErrorCode::kUnavailable;
      if (!lost) return end;
      if (!repeatable) {
        return Error{ErrorCode::kOutcomeUnknown,
                     end.error().message + "; it may have been done, or done in part",
                     "look before asking again"};
      }
      // The first connection may have been stale; behind it each endpoint gets one try.
      if (any_part || round > connection.endpoint_count() || generation == 0) return end;
    }
  }
};

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;

Result<End> Client::call(const Request& request, const std::function<bool(const Part&)>& on_part) {
  return impl_->call(request, on_part);
}

Result<Submitted> Client::submit(const Transaction& transaction) {
  std::optional<Result<Submitted>> result;
  submit_async(transaction, 1, [&result](Result<Submitted> done) { result = std::move(done); });
  drain();
  return std::move(*result);
}

void Client::submit_async(const Transaction& transaction, size_t window,
                          std::function<void(Result<Submitted>)> done) {
  impl_->session.submit(transaction, std::clamp<size_t>(window, 1, limits::kSessionWindow), std::move(done));
}

void Client::drain() {
  impl_->session.drain();
}

std::string Client::endpoint() const {
  return impl_->connection.endpoint();
}

}  // namespace waypost::rpc
