#include <algorithm>

#include "model/bytes.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "node/row_filter_internal.h"

namespace waypost::node {

namespace {

std::optional<Prefix> prefix_from_key(std::string_view key) {
  if (key.size() < 2) return std::nullopt;
  const std::optional<IpAddress> address = address_from_bytes(key.substr(1, key.size() - 2));
  const uint8_t length = static_cast<uint8_t>(key.back());
  if (!address || static_cast<uint8_t>(address->family) != static_cast<uint8_t>(key[0])) return std::nullopt;
  if (length > address_bits(address->family)) return std::nullopt;
  return Prefix{masked(*address, length), length};
}

// table family address: what the keys of all routes at this address begin with.
std::string key_of_address(TableId table, const IpAddress& address) {
  std::string key;
  append_u32(key, table.value());
  append_u8(key, static_cast<uint8_t>(address.family));
  key.append(reinterpret_cast<const char*>(address.used().data()), address.used().size());
  return key;
}

KeyRange of_prefix(TableId table, const Prefix& prefix) {
  std::string key = key_of_address(table, prefix.address);
  append_u8(key, prefix.length);
  return {key, end_of_prefix(key)};
}

IpAddress last_address(const Prefix& prefix) {
  IpAddress last = prefix.address;
  for (int bit = prefix.length; bit < address_bits(prefix.family()); ++bit) {
    last.bytes[static_cast<size_t>(bit / 8)] |= static_cast<uint8_t>(0x80 >> (bit % 8));
  }
  return last;
}

// Shorter prefixes at the first address of the range are above the root, not under it.
KeyRange under_prefix(TableId table, const Prefix& prefix) {
  return {of_prefix(table, prefix).first, end_of_prefix(key_of_address(table, last_address(prefix)))};
}

}  // namespace

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
  return prefix;
}

std::optional<IpAddress> address_from_bytes(std::string_view bytes) {
  IpAddress address;
  if (bytes.size() == 16) {
    address.family = Family::kIpv6;
  } else if (bytes.size() != 4) {
    return std::nullopt;
  }
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  return address;
}

NexthopMatcher::NexthopMatcher(const rpc::NexthopFilter& filter, bool with_interned)
    : filter_(filter), with_interned_(with_interned) {
  takes_all_ = !filter.has_protocol() && !filter.has_device() && !filter.has_groups() && !filter.has_fdb() &&
               filter.family() == 0;
}

bool NexthopMatcher::matches(std::string_view key, std::string_view value) const {
  if (takes_all_) return true;
  const std::optional<NexthopId> id = decode_nexthop_key(key);
  if (!id) return false;
  const Result<NexthopObject> object = decode_nexthop_value(*id, value);
  return object.ok() && matches(*object);
}

bool NexthopMatcher::matches(const NexthopObject& object) const {
  if (filter_.has_protocol() && object.protocol != filter_.protocol()) return false;
  if (filter_.has_groups() && object.is_group() != filter_.groups()) return false;
  const bool fdb = object.is_group() ? object.group().fdb : object.nexthop().fdb;
  if (filter_.has_fdb() && fdb != filter_.fdb()) return false;
  if (object.is_group()) return !filter_.has_device() && filter_.family() == 0;
  const Nexthop& nexthop = object.nexthop();
  if (filter_.has_device() && nexthop.device != filter_.device()) return false;
  return filter_.family() == 0 || static_cast<uint32_t>(nexthop.family) == filter_.family();
}

Result<RouteMatcher> RouteMatcher::make(const rpc::RouteFilter& filter) {
  RouteMatcher matcher(filter);
  if (!filter.prefix_key().empty()) {
    matcher.prefix_ = prefix_from_key(filter.prefix_key());
    if (!matcher.prefix_) return Error{ErrorCode::kInvalidArgument, "the filter's prefix is malformed", ""};
  }
  if (!filter.via().empty()) {
    matcher.via_ = address_from_bytes(filter.via());
    if (!matcher.via_) return Error{ErrorCode::kInvalidArgument, "the filter's gateway is no address", ""};
  }
  if (!filter.prefsrc().empty()) {
    matcher.prefsrc_ = address_from_bytes(filter.prefsrc());
    if (!matcher.prefsrc_) return Error{ErrorCode::kInvalidArgument, "the filter's source is no address", ""};
  }
  if (filter.family() != 0 && filter.family() != 4 && filter.family() != 6) {
    return Error{ErrorCode::kInvalidArgument, "the filter's family is neither 4 nor 6", ""};
  }
  if (filter.has_table() && filter.table() == 0) {
    return Error{ErrorCode::kInvalidArgument, "there is no table 0", "leave the table out for all tables"};
  }
  matcher.takes_all_ = !filter.has_protocol() && !filter.has_nexthop() && !filter.has_type() &&
                       !filter.has_scope() && !filter.has_tos() && !filter.has_metric() &&
                       !filter.has_device() && !matcher.via_ && !matcher.prefsrc_;
  return matcher;
}

std::optional<TableId> RouteMatcher::table() const {
  return filter_.has_table() ? std::optional(TableId(filter_.table())) : std::nullopt;
}

std::optional<NexthopId> RouteMatcher::nexthop() const {
  return filter_.has_nexthop() ? std::optional(NexthopId(filter_.nexthop())) : std::nullopt;
}

std::vector<KeyRange> RouteMatcher::ranges(TableId table) const {
  if (!prefix_) {
    std::string key;
    append_u32(key, table.value());
    if (filter_.family() != 0) append_u8(key, static_cast<uint8_t>(filter_.family()));
    return {{key, end_of_prefix(key)}};
  }
  if (filter_.family() != 0 && filter_.family() != static_cast<uint32_t>(prefix_->family())) return {};
  switch (filter_.selector()) {
    case rpc::RouteFilter::ROOT:
      return {under_prefix(table, *prefix_)};
    case rpc::RouteFilter::MATCH: {
      std::vector<KeyRange> ranges;
      for (int length = 0; length <= prefix_->length; ++length) {
        const uint8_t bits = static_cast<uint8_t>(length);
        ranges.push_back(of_prefix(table, Prefix{masked(prefix_->address, bits), bits}));
      }
      return ranges;
    }
    default:
      return {of_prefix(table, *prefix_)};
  }
}

bool RouteMatcher::path_matches(const Nexthop& nexthop) const {
  if (filter_.has_device() && nexthop.device != filter_.device()) return false;
  return !via_ || nexthop.gateway == via_;
}

bool RouteMatcher::uses_path(NexthopId id, const NexthopLookup& lookup) {
  if (const auto known = uses_path_.find(id.value()); known != uses_path_.end()) return known->second;
  bool found = false;
  if (const std::optional<NexthopObject> object = lookup(id)) {
    if (!object->is_group()) {
      found = path_matches(object->nexthop());
    } else {
      for (const GroupMember& member : object->group().members) {
        const std::optional<NexthopObject> single = lookup(member.id);
        found = found || (single && !single->is_group() && path_matches(single->nexthop()));
      }
    }
  }
  if (uses_path_.size() >= limits::kMaxCarriedNexthops) uses_path_.clear();
  uses_path_.emplace(id.value(), found);
  return found;
}

bool RouteMatcher::matches(std::string_view key, std::string_view value, const NexthopLookup& lookup) {
  if (takes_all_) return true;
  const std::optional<RouteKey> decoded = decode_route_key(key);
  if (!decoded) return false;
  if (filter_.has_tos() && decoded->tos != filter_.tos()) return false;
  if (filter_.has_metric() && decoded->metric != filter_.metric()) return false;
  const Result<Route> route = decode_route_value(*decoded, value);
  if (!route.ok()) return false;
  if (filter_.has_protocol() && route->protocol != filter_.protocol()) return false;
  if (filter_.has_nexthop() && route->nexthop.value() != filter_.nexthop()) return false;
  if (filter_.has_type() && static_cast<uint32_t>(route->type) != filter_.type()) return false;
  if (filter_.has_scope() && route->scope != filter_.scope()) return false;
  if (prefsrc_ && route->prefsrc != prefsrc_) return false;
  if (!filter_.has_device() && !via_) return true;
  return route->nexthop.value() != 0 && uses_path(route->nexthop, lookup);
}

}  // namespace waypost::node
