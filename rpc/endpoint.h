// HOST:PORT, [V6]:PORT: where a waypostd listens. Pure text; nothing is resolved here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/result.h"

namespace waypost::rpc {

struct Endpoint {
  std::string host;   // a name or an address, without brackets
  uint16_t port = 0;  // 0 only where a listener may choose
};

// kInvalidArgument names the text and what is expected.
Result<Endpoint> parse_endpoint(std::string_view text);
std::string to_string(const Endpoint& endpoint);

}  // namespace waypost::rpc
