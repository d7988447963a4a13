#pragma once

namespace waypost::node {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace waypost::node
