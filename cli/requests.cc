#include "cli/requests_internal.h"

namespace waypost::cli {
namespace {

uint32_t family_number(const std::optional<Family>& family) {
  return family ? static_cast<uint32_t>(*family) : 0;
}

rpc::RouteFilter::Selector selector_of(RouteQuery::Selector selector) {
  switch (selector) {
    case RouteQuery::Selector::kMatch:
      return rpc::RouteFilter::MATCH;
    case RouteQuery::Selector::kRoot:
      return rpc::RouteFilter::ROOT;
    default:
      return rpc::RouteFilter::EXACT;
  }
}

}  // namespace

std::string address_bytes_of(const IpAddress& address) {
  const auto used = address.used();
  return {reinterpret_cast<const char*>(used.data()), used.size()};
}

void fill(rpc::NexthopFilter& filter, const NexthopQuery& query) {
  if (query.protocol) filter.set_protocol(*query.protocol);
  if (query.device) filter.set_device(*query.device);
  if (query.groups) filter.set_groups(true);
  if (query.fdb) filter.set_fdb(true);
  filter.set_family(family_number(query.family));
}

void fill(rpc::RouteFilter& filter, const RouteQuery& query) {
  filter.set_family(family_number(query.family));
  if (query.table) filter.set_table(query.table->value());
  if (query.protocol) filter.set_protocol(*query.protocol);
  if (query.nexthop) filter.set_nexthop(query.nexthop->value());
  if (query.type) filter.set_type(static_cast<uint32_t>(*query.type));
  if (query.scope) filter.set_scope(*query.scope);
  if (query.tos) filter.set_tos(*query.tos);
  if (query.metric) filter.set_metric(*query.metric);
  if (query.device) filter.set_device(*query.device);
  if (query.via) filter.set_via(address_bytes_of(*query.via));
  if (query.prefsrc) filter.set_prefsrc(address_bytes_of(*query.prefsrc));
  if (query.selector == RouteQuery::Selector::kAll) return;
  std::string key(1, static_cast<char>(query.prefix.family()));
  key += address_bytes_of(query.prefix.address);
  key += static_cast<char>(query.prefix.length);
  filter.set_prefix_key(key);
  filter.set_selector(selector_of(query.selector));
}

rpc::Request new_request(const Options& options) {
  rpc::Request request;
  if (options.timeout) request.set_deadline_ms(static_cast<uint32_t>(options.timeout->count()));
  return request;
}

}  // namespace waypost::cli
