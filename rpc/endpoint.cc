#include "rpc/endpoint.h"

#include <charconv>

namespace waypost::rpc {

namespace {

Error bad_endpoint(std::string_view text, const char* reason) {
  return {ErrorCode::kInvalidArgument, "endpoint \"" + std::string(text) + "\": " + reason,
          "write HOST:PORT, for example 127.0.0.1:4870 or [::1]:4870"};
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_endpoint(text, "the port is missing");
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad_endpoint(text, "an IPv6 address needs brackets");
  }
  if (host.empty()) return bad_endpoint(text, "the host is missing");
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (port_text.empty() || error != std::errc() || end != port_text.data() + port_text.size()) {
    return bad_endpoint(text, "the port is not a number of 0..65535");
  }
  return Endpoint{std::string(host), port};
}

std::string to_string(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return (brackets ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

}  // namespace waypost::rpc
