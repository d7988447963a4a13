// The server's side of one client connection: bytes to requests, answers to bytes. Everything runs on the
// io_context's one thread but send_frame() and buffered_bytes().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "model/result.h"
#include "rpc/frame.h"
#include "rpc/server.h"

namespace waypost::rpc {

class Envelope;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Takes over an accepted socket. `closed` runs once, on the io_context's thread.
  Connection(boost::asio::io_context& io, int socket, std::string peer, const ServerOptions& options,
             const Handler& handler, std::function<void(Connection*)> closed);
  ~Connection();

  void start();
  void close(const std::string& reason);
  const std::string& peer() const { return peer_; }

  // Any thread: queues whole frames and has them written.
  void send_frame(std::string frame);
  size_t buffered_bytes() const { return buffered_.load(std::memory_order_relaxed); }
  // Any thread: the call was answered.
  void forget(uint64_t id);
  // Any thread: runs `work` on the io_context's thread.
  void post(std::function<void()> work);

 private:
  friend class Call;
  struct Io;  // socket and timer

  void read_some();
  void take_frames();
  void take_envelope(const std::string& body);
  void take_request(Envelope& envelope);
  void answer_hello(const Envelope& envelope);
  void take_credit(uint64_t id, uint64_t bytes);
  void cancel(uint64_t id);
  void write_some();
  void wake_writable_calls();
  void tick();
  bool overloaded() const;
  bool is_stalled();

  std::unique_ptr<Io> io_;
  const std::string peer_;
  const ServerOptions& options_;
  const Handler& handler_;
  std::function<void(Connection*)> closed_callback_;

  FrameDecoder decoder_;
  std::unordered_map<uint64_t, std::shared_ptr<Call>> calls_;
  bool greeted_ = false;
  bool closed_ = false;
  bool reading_ = false;
  bool writing_ = false;
  uint64_t last_request_id_ = 0;
  uint64_t ticks_ = 0;
  uint64_t last_progress_tick_ = 0;  // bytes written or credit received

  std::mutex outgoing_mutex_;
  std::string outgoing_;  // guarded by outgoing_mutex_
  std::string in_flight_;
  std::atomic<size_t> buffered_ = 0;  // outgoing_ and in_flight_
};

}  // namespace waypost::rpc
