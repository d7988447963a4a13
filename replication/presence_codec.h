// A member's presence as bytes, for engines that store it. Pure.
//
//   presence := version:1 name:sized incarnation:8 address:sized applied:8 durable:8 revision:8
//               history:16 data_digest:16 control_digest:16 rules_level:4 status:sized
#pragma once

#include <string>
#include <string_view>

#include "replication/log.h"

namespace waypost::replication {

std::string encode_presence(const Presence& presence);
Result<Presence> decode_presence(std::string_view bytes);

}  // namespace waypost::replication
