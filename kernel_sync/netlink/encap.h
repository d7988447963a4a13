// The light-weight tunnel attributes of a nexthop (NHA_ENCAP), both ways.
#pragma once

#include "kernel_sync/netlink/decode.h"
#include "kernel_sync/netlink/wire.h"
#include "model/nexthop.h"

namespace waypost::kernel_sync::netlink {

// Writes NHA_ENCAP_TYPE and NHA_ENCAP; nothing for no encap.
void encode_encap(const Encap& encap, MessageWriter& writer);

// type is LWTUNNEL_ENCAP_*, nested the payload of NHA_ENCAP. kSkipped for a type the model has no word for.
Decoded decode_encap(uint16_t type, Bytes nested, Encap& out);

}  // namespace waypost::kernel_sync::netlink
