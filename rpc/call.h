// One request being answered: zero or more parts, then one end. Made by a connection for the server's
// handler, which may keep it and answer from any thread.
//
// Nothing is pushed at a client faster than it reads: a service that streams asks writable() before each part
// and, where it is false, leaves and continues from when_writable(). So a slow reader costs no thread and at
// most limits::kMaxStreamBufferBytes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/result.h"

namespace waypost::rpc {

class Connection;
class End;
class Part;
class Request;

class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(std::shared_ptr<Connection> connection, uint64_t id, Request request);
  ~Call();

  const Request& request() const { return *request_; }
  // When the client stops waiting.
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }
  uint64_t milliseconds_left() const;  // 0: passed
  const std::string& peer() const;

  // Cancelled, or the connection is gone: what is sent now is dropped.
  bool closed() const { return closed_.load(std::memory_order_relaxed); }
  // There is credit, and room in the connection's buffer.
  bool writable() const;
  // Runs `work` once on the order thread, as soon as the call is writable or closed.
  void when_writable(std::function<void()> work);

  // One part of a stream, at most limits::kMaxFrameBytes as bytes.
  void send(Part part);
  // The last word. Later ones are dropped, so a deadline and an answer may race.
  void finish(End end);
  void fail(const Error& error, uint32_t retry_after_ms = 0);
  // Ends the whole connection, with `reason` in the log.
  void disconnect(std::string reason);

 private:
  friend class Connection;

  std::shared_ptr<Connection> connection_;
  const uint64_t id_;
  std::unique_ptr<Request> request_;
  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<int64_t> credit_;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> finished_ = false;
  std::function<void()> waiter_;  // order thread only
};

}  // namespace waypost::rpc
