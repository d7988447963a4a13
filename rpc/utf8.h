// Text that goes into a protobuf string must be UTF-8, or the other side cannot read the whole message.
#pragma once

#include <string>
#include <string_view>

namespace waypost::rpc {

// Bytes that are no UTF-8 become '?'.
std::string valid_utf8(std::string_view text);

}  // namespace waypost::rpc
