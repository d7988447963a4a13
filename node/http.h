// /livez, /readyz and /metrics, on a thread of its own, so that they answer also while everything else hangs.
// Bounded: few connections, small requests, short deadlines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/result.h"
#include "rpc/endpoint.h"

namespace waypost::node {

struct HttpAnswer {
  unsigned status = 200;
  std::string body;
};

struct HttpHandlers {
  std::function<HttpAnswer()> livez;
  std::function<HttpAnswer(bool verbose)> readyz;
  std::function<std::string()> metrics;
  std::function<void(const std::string&)> log;
};

class HttpServer {
 public:
  // The handlers run on the server's thread.
  explicit HttpServer(HttpHandlers handlers);
  ~HttpServer();

  Status listen(const rpc::Endpoint& endpoint);
  uint16_t port() const;
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace waypost::node
