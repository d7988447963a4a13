#include "rpc/server.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <unordered_map>

#include "rpc/connection.h"

namespace waypost::rpc {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kAcceptPause = std::chrono::milliseconds(200);

// A peer that vanished without a word is noticed in under ten seconds, whether it owes us bytes or we owe it
// some.
void notice_dead_peers(int fd) {
  const int on = 1, idle_s = 3, interval_s = 2, probes = 3, unacked_ms = 10'000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof unacked_ms);
}

std::string text_of(const tcp::endpoint& endpoint) {
  return to_string(Endpoint{endpoint.address().to_string(), endpoint.port()});
}

Error listen_error(const Endpoint& endpoint, const boost::system::error_code& error) {
  const std::string message = "cannot listen on " + to_string(endpoint) + ": " + error.message();
  if (error == asio::error::address_in_use) {
    return {ErrorCode::kFailedPrecondition, message,
            "another process has this port (ss -ltnp shows it); stop it or choose another with --listen"};
  }
  if (error == asio::error::access_denied) {
    return {ErrorCode::kPermissionDenied, message, "ports below 1024 need CAP_NET_BIND_SERVICE"};
  }
  return {ErrorCode::kInvalidArgument, message,
          "the host must be an address of this machine, or 0.0.0.0 or [::] for all"};
}

}  // namespace

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  Impl(asio::io_context& context, ServerOptions server_options, Handler request_handler)
      : io(context),
        acceptor(context),
        pause(context),
        options(std::move(server_options)),
        handler(std::move(request_handler)) {}

  asio::io_context& io;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  ServerOptions options;
  Handler handler;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;
  bool accepting = false;
  bool stopped = false;

  void log(const std::string& words) {
    if (options.log) options.log(words);
  }

  void accept() {
    if (stopped || accepting) return;
    if (connections.size() >= options.max_connections) {
      return log("accepting no further connections: " + std::to_string(connections.size()) + " are open");
    }
    accepting = true;
    acceptor.async_accept(
        [self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
          self->accepting = false;
          if (self->stopped) return;
          if (error) return self->accept_later(error);
          self->adopt(std::move(socket));
          self->accept();
        });
  }

  // Out of descriptors, mostly: what is open lives on, and we try again in a while.
  void accept_later(const boost::system::error_code& error) {
    log("cannot accept a connection: " + error.message());
    pause.expires_after(kAcceptPause);
    pause.async_wait([self = shared_from_this()](const boost::system::error_code&) { self->accept(); });
  }

  void adopt(tcp::socket socket) {
    boost::system::error_code error;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) return;  // gone already
    notice_dead_peers(socket.native_handle());
    const int fd = socket.release(error);
    if (error) return;
    auto connection = std::make_shared<Connection>(io, fd, text_of(remote), options, handler,
                                                   [weak = weak_from_this()](Connection* closed) {
                                                     if (auto self = weak.lock()) {
                                                       self->connections.erase(closed);
                                                       self->accept();
                                                     }
                                                   });
    connections.emplace(connection.get(), connection);
    connection->start();
  }
};

Server::Server(asio::io_context& io, ServerOptions options, Handler handler)
    : impl_(std::make_shared<Impl>(io, std::move(options), std::move(handler))) {}

Server::~Server() {
  stop();
}

Status Server::listen(const Endpoint& endpoint) {
  boost::system::error_code error;
  tcp::resolver resolver(impl_->io);
  const auto found =
      resolver.resolve(endpoint.host, std::to_string(endpoint.port), tcp::resolver::passive, error);
  if (error || found.empty()) return listen_error(endpoint, error);
  const tcp::endpoint address = found.begin()->endpoint();
  tcp::acceptor& acceptor = impl_->acceptor;
  acceptor.open(address.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(address, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    return listen_error(endpoint, error);
  }
  impl_->accept();
  return {};
}

uint16_t Server::port() const {
  boost::system::error_code error;
  return impl_->acceptor.local_endpoint(error).port();
}

size_t Server::connections() const {
  return impl_->connections.size();
}

void Server::stop() {
  if (std::exchange(impl_->stopped, true)) return;
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
  impl_->pause.cancel();
  const auto connections = std::move(impl_->connections);
  impl_->connections.clear();
  for (const auto& [raw, connection] : connections) connection->close("");
}

}  // namespace waypost::rpc
