// The client's side of one connection: blocking, with deadlines. Used by Client only, on its one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "model/result.h"
#include "rpc/endpoint.h"
#include "rpc/frame.h"

namespace waypost::rpc {

class Envelope;

using TimePoint = std::chrono::steady_clock::time_point;
constexpr TimePoint kNoDeadline = TimePoint::max();

class ClientWire {
 public:
  // Resolves and connects; the hello is the caller's. kUnavailable names the endpoint, the phase (resolve,
  // connect) and the cure.
  static Result<std::unique_ptr<ClientWire>> connect(const std::string& endpoint,
                                                     std::chrono::milliseconds timeout);
  ~ClientWire();
  ClientWire(const ClientWire&) = delete;
  ClientWire& operator=(const ClientWire&) = delete;

  // Takes in what arrives while the socket has no room, so that two full buffers never wait for each other.
  Status send(const Envelope& envelope, TimePoint deadline);
  // kDeadlineExceeded leaves the connection usable; any other error ends it.
  Status receive(Envelope* envelope, TimePoint deadline);

  const std::string& endpoint() const { return endpoint_; }

 private:
  ClientWire(int socket, std::string endpoint);
  Status receive_bytes();
  Error lost(const std::string& reason) const;

  int socket_;
  std::string endpoint_;
  FrameDecoder decoder_;
  std::string read_buffer_;
  std::string body_;
};

}  // namespace waypost::rpc
