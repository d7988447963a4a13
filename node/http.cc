#include "node/http.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <thread>

#include "node/version.h"

namespace waypost::node {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr size_t kMaxHttpConnections = 64;
constexpr size_t kMaxRequestBody = 1024;
constexpr size_t kMaxRequestHeader = 8 * 1024;
constexpr auto kDeadline = std::chrono::seconds(5);
constexpr auto kAcceptPause = std::chrono::milliseconds(200);

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

Response response_to(const Request& request, const HttpHandlers& handlers) {
  HttpAnswer answer{404, "not found; there are /livez, /readyz, /readyz?verbose and /metrics\n"};
  const std::string target(request.target());
  const std::string path = target.substr(0, target.find('?'));
  const std::string query = path.size() < target.size() ? target.substr(path.size() + 1) : "";
  std::string type = "text/plain; charset=utf-8";
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    answer = {405, "only GET and HEAD\n"};
  } else if (path == "/livez") {
    answer = handlers.livez();
  } else if (path == "/readyz") {
    answer = handlers.readyz(query.starts_with("verbose"));
  } else if (path == "/metrics") {
    answer = {200, handlers.metrics()};
    type = "text/plain; version=0.0.4; charset=utf-8";
  }
  Response response(static_cast<http::status>(answer.status), request.version());
  response.set(http::field::server, std::string("waypostd/") + kVersion);
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-store");
  response.keep_alive(request.keep_alive());
  const size_t bytes = answer.body.size();
  if (request.method() != http::verb::head) response.body() = std::move(answer.body);
  response.content_length(bytes);
  return response;
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const HttpHandlers& handlers, std::function<void()> ended)
      : stream_(std::move(socket)), handlers_(handlers), ended_(std::move(ended)) {}
  ~Session() { ended_(); }

  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxRequestBody);
    parser_->header_limit(kMaxRequestHeader);
    stream_.expires_after(kDeadline);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) { self->on_read(error); });
  }

 private:
  void on_read(beast::error_code error) {
    if (error == http::error::end_of_stream || error == beast::error::timeout) return close();
    if (error) {
      boost::system::error_code ignored;
      const tcp::endpoint peer = stream_.socket().remote_endpoint(ignored);
      if (handlers_.log && error.category() == http::make_error_code(http::error::bad_version).category()) {
        handlers_.log("HTTP connection from " + peer.address().to_string() + " closed: " + error.message());
      }
      return close();
    }
    response_ = response_to(parser_->get(), handlers_);
    stream_.expires_after(kDeadline);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code failed, size_t) {
      if (failed || !self->response_.keep_alive()) return self->close();
      self->read();
    });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  const HttpHandlers& handlers_;
  const std::function<void()> ended_;
  beast::flat_buffer buffer_{kMaxRequestHeader + kMaxRequestBody};
  std::optional<http::request_parser<http::string_body>> parser_;
  Response response_;
};

}  // namespace

struct HttpServer::Impl {
  explicit Impl(HttpHandlers given) : handlers(std::move(given)) {}

  HttpHandlers handlers;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  size_t sessions = 0;
  bool accepting = false;
  std::atomic<bool> stopping = false;
  std::thread thread;

  void accept() {
    if (accepting || stopping || sessions >= kMaxHttpConnections) return;
    accepting = true;
    acceptor.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      accepting = false;
      if (stopping) return;
      if (error) {
        pause.expires_after(kAcceptPause);
        return pause.async_wait([this](const boost::system::error_code&) { accept(); });
      }
      ++sessions;
      std::make_shared<Session>(std::move(socket), handlers, [this] {
        --sessions;
        if (!stopping) accept();
      })->read();
      accept();
    });
  }
};

HttpServer::HttpServer(HttpHandlers handlers) : impl_(std::make_unique<Impl>(std::move(handlers))) {}

HttpServer::~HttpServer() {
  stop();
}

Status HttpServer::listen(const rpc::Endpoint& endpoint) {
  boost::system::error_code error;
  tcp::resolver resolver(impl_->io);
  const auto found =
      resolver.resolve(endpoint.host, std::to_string(endpoint.port), tcp::resolver::passive, error);
  if (!error) {
    const tcp::endpoint address = found.begin()->endpoint();
    impl_->acceptor.open(address.protocol(), error);
    if (!error) impl_->acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) impl_->acceptor.bind(address, error);
    if (!error) impl_->acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    return Error{ErrorCode::kFailedPrecondition,
                 "cannot serve HTTP on " + rpc::to_string(endpoint) + ": " + error.message(),
                 "is the port taken (ss -ltnp shows by whom)? Choose another with --http"};
  }
  impl_->accept();
  impl_->thread = std::thread([this] { impl_->io.run(); });
  return {};
}

uint16_t HttpServer::port() const {
  boost::system::error_code error;
  return impl_->acceptor.local_endpoint(error).port();
}

void HttpServer::stop() {
  impl_->stopping = true;
  impl_->io.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace waypost::node
