// The requests that kernel_sync makes, as bytes: pure functions, each appends one whole message.
#pragma once

#include <optional>
#include <string_view>

#include "kernel_sync/kernel.h"
#include "kernel_sync/netlink/wire.h"

namespace waypost::kernel_sync::netlink {

// How IPv4 routes by nexthop id that have no metrics are put. The kernel lets such a route share the row data
// of any other that is equal in nexthop, protocol, scope, source, metric, type and table, and with it that
// one's RTAX metrics. An empty list of metrics stops that, at the price of the short cut.
enum class PlainMetrics { kShared, kSeparate };

// Failures are always answered; success only where request_acknowledgement asks for it.
void encode_step(const KernelStep& step, PlainMetrics plain, uint32_t sequence, std::vector<uint8_t>& out);
// Whether the step makes PlainMetrics matter: an IPv4 route by nexthop id that has metrics.
bool has_metrics_to_share(const KernelRoute& route);
// For the message that starts at this offset.
void request_acknowledgement(std::vector<uint8_t>& buffer, size_t message_start);

// Does nothing but be acknowledged.
void encode_noop(uint32_t sequence, std::vector<uint8_t>& out);

void encode_dump_nexthops(uint32_t sequence, std::vector<uint8_t>& out);
void encode_dump_routes(Family family, std::optional<TableId> table, uint32_t sequence,
                        std::vector<uint8_t>& out);
void encode_dump_addresses(uint32_t sequence, std::vector<uint8_t>& out);
void encode_dump_links(uint32_t sequence, std::vector<uint8_t>& out);

void encode_get_nexthop(NexthopId id, uint32_t sequence, std::vector<uint8_t>& out);
void encode_get_link(std::string_view name, uint32_t sequence, std::vector<uint8_t>& out);
void encode_get_link(uint32_t ifindex, uint32_t sequence, std::vector<uint8_t>& out);
// The FIB entry that the kernel's policy rules choose for this address (RTM_F_FIB_MATCH). IPv6 ignores tos.
void encode_match(const IpAddress& address, uint8_t tos, uint32_t sequence, std::vector<uint8_t>& out);

// Asks whether a key is taken without changing anything: a request to add it that is not allowed to create
// it. The answer is always an error: EEXIST for taken, ENOENT for free.
void encode_probe_key(const RouteKey& key, uint32_t sequence, std::vector<uint8_t>& out);
// Asks whether the kernel knows a light-weight tunnel type, by a delete that can match nothing: EOPNOTSUPP if
// not.
void encode_probe_encap(uint16_t type, uint32_t sequence, std::vector<uint8_t>& out);

}  // namespace waypost::kernel_sync::netlink
