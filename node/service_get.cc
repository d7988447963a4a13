// One row: a nexthop, a route, or the longest match in the store.
#include "model/row_codec.h"
#include "node/carried_internal.h"
#include "node/parts_internal.h"
#include "node/walk_internal.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

// From the longest prefix down; the lowest tos and metric of a prefix come first in key order.
std::optional<Route> longest_match(const store::ReadView& view, const IpAddress& address, TableId table) {
  for (int length = address_bits(address.family); length >= 0; --length) {
    const uint8_t bits = static_cast<uint8_t>(length);
    std::string from;
    append_route_key(from, RouteKey{table, Prefix{masked(address, bits), bits}, 0, 0});
    from.resize(from.size() - 5);  // without tos and metric: in front of every route of the prefix
    std::optional<Route> found;
    view.scan_routes(from, [&](std::string_view key, std::string_view value) {
      const std::optional<RouteKey> decoded = key.starts_with(from) ? decode_route_key(key) : std::nullopt;
      if (!decoded) return false;
      Result<Route> route = decode_route_value(*decoded, value);
      if (route.ok()) found = std::move(*route);
      return false;
    });
    if (found) return found;
  }
  return std::nullopt;
}

Result<std::optional<Route>> find_route(const store::ReadView& view, const rpc::Get& get) {
  if (get.has_route_key()) {
    const std::optional<RouteKey> key = decode_route_key(get.route_key());
    if (!key) return Error{ErrorCode::kInvalidArgument, "the route key is malformed", ""};
    return view.route(*key);
  }
  const std::optional<IpAddress> address = address_from_bytes(get.lookup().address());
  if (!address)
    return Error{ErrorCode::kInvalidArgument, "the address to look up has neither 4 nor 16 bytes", ""};
  return longest_match(view, *address, TableId(get.lookup().table()));
}

void answer(const SharedCall& call, const store::ReadView& view) {
  const rpc::Get& get = call->request().get();
  rpc::End end;
  end.mutable_get()->set_revision(view.stamp().revision.value());
  rpc::RowBlock& block = *end.mutable_get()->mutable_block();
  if (get.has_nexthop()) {
    if (const std::optional<NexthopObject> object = view.nexthop(NexthopId(get.nexthop()))) {
      append_nexthop_row(*block.mutable_rows(), *object);
    }
    return call->finish(std::move(end));
  }
  if (!get.has_route_key() && !get.has_lookup()) {
    return call->fail({ErrorCode::kInvalidArgument, "a get names a nexthop, a route or an address", ""});
  }
  const Result<std::optional<Route>> route = find_route(view, get);
  if (!route.ok()) return call->fail(route.error());
  if (*route) {
    std::string key;
    append_route_key(key, (*route)->key);
    const std::string value = encode_route_value(**route);
    append_row(*block.mutable_rows(), key, value);
    CarriedNexthops(get.with_nexthops()).carry(view, key, value, *block.mutable_nexthops());
  }
  call->finish(std::move(end));
}

}  // namespace

void serve_get(Parts& parts, SharedCall call) {
  read(parts, call, call->request().get().stale(), [call](store::ReadView view) { answer(call, view); });
}

}  // namespace waypost::node
