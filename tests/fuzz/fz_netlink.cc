// Any bytes as what the kernel might answer: every decoder, as answer, notification and error. No crash, no
// loop, no step beyond the bytes, and never more objects than the bytes have room for.
#include <cstdint>
#include <vector>

#include "kernel_sync/netlink/decode.h"
#include "kernel_sync/netlink/monitor.h"
#include "model/check.h"

using namespace waypost::kernel_sync;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const netlink::Bytes bytes(data, size);
  netlink::MessageReader reader(bytes);
  netlink::Message message;
  KernelNexthop nexthop;
  KernelRoute route;
  KernelLink link;
  KernelAddress address;
  netlink::ErrorReply error;
  while (reader.next(message)) {
    if (netlink::decode_nexthop(message, nexthop) == netlink::Decoded::kOk && nexthop.object.is_group()) {
      WAYPOST_CHECK(nexthop.object.group().members.size() <= size / 8, "more members than bytes");
    }
    if (netlink::decode_route(message, route) == netlink::Decoded::kOk) {
      WAYPOST_CHECK(route.paths.size() <= size / 8, "more paths than bytes");
      const waypost::Prefix& prefix = route.route.key.prefix;
      WAYPOST_CHECK(waypost::masked(prefix.address, prefix.length) == prefix.address,
                    "bits behind the length");
    }
    (void)netlink::decode_link(message, link);
    (void)netlink::decode_address(message, address);
    (void)netlink::decode_error(message, error);
    (void)netlink::decode_done(message);
  }
  std::vector<KernelEvent> events;
  (void)netlink::decode_events(bytes, events);
  WAYPOST_CHECK(events.size() <= size / netlink::kMessageHeaderBytes, "more events than messages");
  return 0;
}
