// Listens, accepts, and gives every request to one handler. Runs on the io_context given, which one thread
// runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/limits.h"
#include "model/result.h"
#include "rpc/endpoint.h"

namespace boost::asio {
class io_context;
}

namespace waypost::rpc {

class Call;

constexpr uint32_t kProtocolVersion = 1;

struct ServerOptions {
  std::string node;  // its name, for the hello
  std::string version;
  std::function<std::string()> cluster_id;  // 16 bytes
  // Things worth a log line: bytes that are no request, a pause of accepting. Rate limiting is the
  // receiver's.
  std::function<void(const std::string&)> log;
  size_t max_connections = limits::kMaxConnections;
};

// Called on the io_context's thread; must not block.
using Handler = std::function<void(std::shared_ptr<Call>)>;

class Server {
 public:
  Server(boost::asio::io_context& io, ServerOptions options, Handler handler);
  ~Server();

  // kFailedPrecondition (address in use), kPermissionDenied, kInvalidArgument (no such host), each naming the
  // endpoint.
  Status listen(const Endpoint& endpoint);
  uint16_t port() const;
  size_t connections() const;
  // Closes everything. On the io_context's thread, or after it has stopped.
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace waypost::rpc
