#include "rpc/client_wire.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rpc/waypost.pb.h"

namespace waypost::rpc {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kClientReadBytes = 256u << 10;

Error unreachable(const std::string& endpoint, const char* phase, const std::string& reason,
                  std::string hint) {
  return {ErrorCode::kUnavailable, "no connection to " + endpoint + ": " + phase + ": " + reason,
          std::move(hint)};
}

// True when `events` came, false at the deadline. Interrupted waits go on.
bool wait_for(int socket, short events, TimePoint deadline) {
  while (true) {
    int timeout_ms = -1;
    if (deadline != kNoDeadline) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
      timeout_ms = static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000));
    }
    pollfd poll_of{socket, events, 0};
    const int ready = ::poll(&poll_of, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready == 0 && steady_clock::now() >= deadline) return false;
  }
}

void set_options(int socket) {
  const int on = 1, idle_s = 3, interval_s = 2, probes = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

// A connected socket, or the errno of what went wrong (ETIMEDOUT at the deadline).
int connect_one(const addrinfo& address, TimePoint deadline, int* error) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    *error = errno;
    return -1;
  }
  *error = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (*error == EINPROGRESS) {
    socklen_t size = sizeof *error;
    if (!wait_for(fd, POLLOUT, deadline)) {
      *error = ETIMEDOUT;
    } else {
      getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &size);
    }
  }
  if (*error == 0) return fd;
  ::close(fd);
  return -1;
}

const char* cure_of(int error) {
  if (error == ECONNREFUSED) {
    return "is waypostd running there, with this address in --listen? Other nodes: --endpoints or "
           "WAYPOST_ENDPOINTS";
  }
  return "is the host up, and the port open in its firewall? Other nodes: --endpoints or WAYPOST_ENDPOINTS";
}

}  // namespace

ClientWire::ClientWire(int socket, std::string endpoint)
    : socket_(socket), endpoint_(std::move(endpoint)), read_buffer_(kClientReadBytes, '\0') {}

ClientWire::~ClientWire() {
  ::close(socket_);
}

Result<std::unique_ptr<ClientWire>> ClientWire::connect(const std::string& endpoint, milliseconds timeout) {
  const TimePoint deadline = steady_clock::now() + timeout;
  const Result<Endpoint> parsed = parse_endpoint(endpoint);
  if (!parsed.ok()) return parsed.error();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &hints, &found);
  if (failed != 0) {
    return unreachable(endpoint, "resolve", gai_strerror(failed),
                       "check the name, or give an address instead");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int fd = connect_one(*address, deadline, &error);
    if (fd < 0) continue;
    set_options(fd);
    return std::unique_ptr<ClientWire>(new ClientWire(fd, endpoint));
  }
  return unreachable(endpoint, "connect", std::strerror(error), cure_of(error));
}

Error ClientWire::lost(const std::string& reason) const {
  return {ErrorCode::kUnavailable, "the connection to " + endpoint_ + " was lost: " + reason,
          "see the log of that waypostd; other nodes: --endpoints or WAYPOST_ENDPOINTS"};
}

Status ClientWire::send(const Envelope& envelope, TimePoint deadline) {
  const size_t bytes = envelope.ByteSizeLong();
  if (bytes > limits::kMaxRequestBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 "a request of " + std::to_string(bytes) + " bytes; at most " +
                     std::to_string(limits::kMaxRequestBytes) + " are taken",
                 "ask for less at once"};
  }
  std::string frame;
  frame.reserve(kFrameHeaderBytes + bytes);
  append_frame_header(frame, bytes);
  envelope.AppendToString(&frame);
  size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t wrote = ::send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (wrote > 0) {
      sent += static_cast<size_t>(wrote);
    } else if (errno == EAGAIN) {
      if (!wait_for(socket_, POLLOUT | POLLIN, deadline)) return lost("it takes nothing any more");
      if (Status status = receive_bytes(); !status.ok()) return status;
    } else if (errno != EINTR) {
      return lost(std::strerror(errno));
    }
  }
  return {};
}

Status ClientWire::receive_bytes() {
  const ssize_t got = ::recv(socket_, read_buffer_.data(), read_buffer_.size(), 0);
  if (got == 0) return lost("closed by the node");
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Status() : Status(lost(std::strerror(errno)));
  if (Status status = decoder_.feed({read_buffer_.data(), static_cast<size_t>(got)}); !status.ok()) {
    return Error{ErrorCode::kUnavailable, endpoint_ + " answers, but " + status.error().message,
                 "is this the --listen port of a waypostd, not its --http port?"};
  }
  return {};
}

Status ClientWire::receive(Envelope* envelope, TimePoint deadline) {
  while (!decoder_.next(&body_)) {
    if (!wait_for(socket_, POLLIN, deadline)) {
      return Error{ErrorCode::kDeadlineExceeded, endpoint_ + " did not answer in time",
                   "a longer --timeout, or another node with --endpoints"};
    }
    if (Status status = receive_bytes(); !status.ok()) return status;
  }
  if (!envelope->ParseFromString(body_)) return lost("its answer is not of this protocol");
  return {};
}

}  // namespace waypost::rpc
