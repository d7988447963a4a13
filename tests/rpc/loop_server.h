// A server on a thread of its own, with a handler of the test's, on an ephemeral port of 127.0.0.1.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rpc/call.h"
#include "rpc/server.h"
#include "rpc/waypost.pb.h"

namespace waypost::rpc {

class LoopServer {
 public:
  explicit LoopServer(Handler handler, size_t max_connections = limits::kMaxConnections, uint16_t port = 0)
      : work_(boost::asio::make_work_guard(io_)) {
    ServerOptions options;
    options.node = "n1";
    options.version = "test";
    options.max_connections = max_connections;
    options.log = [this](const std::string& words) {
      std::lock_guard lock(mutex_);
      log_.push_back(words);
    };
    server_ = std::make_unique<Server>(io_, std::move(options), std::move(handler));
    const Status status = server_->listen({"127.0.0.1", port});
    WAYPOST_CHECK(status.ok(), "listen");
    port_ = server_->port();
    thread_ = std::thread([this] { io_.run(); });
  }

  ~LoopServer() {
    on_thread([this] { server_->stop(); });
    work_.reset();
    io_.stop();
    thread_.join();
    server_.reset();
  }

  template <typename Work>
  void on_thread(Work work) {
    std::promise<void> done;
    boost::asio::post(io_, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  uint16_t port() const { return port_; }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  size_t connections() {
    size_t count = 0;
    on_thread([&] { count = server_->connections(); });
    return count;
  }
  std::vector<std::string> log() {
    std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

}  // namespace waypost::rpc
