#include "kernel_sync/netlink/route_query.h"

#include <linux/rtnetlink.h>

#include <cerrno>
#include <string>
#include <utility>

#include "kernel_sync/netlink/encode.h"

namespace waypost::kernel_sync::netlink {

namespace {

constexpr int kDumpTries = 3;

struct Chosen {
  std::optional<KernelRoute> route;
  // The row is one that the address takes. IPv6 remembers its choices per nexthop object and processor, and
  // answers with whichever route over that nexthop was asked for first: the way is right, and the row exists,
  // but it may be another prefix's.
  bool exact = true;
  ErrorReply failure;  // where the kernel refused to choose
};

Result<Chosen> choose(Query& query, const IpAddress& address, uint8_t tos) {
  auto answer = query.get([&](auto sequence, auto& out) { encode_match(address, tos, sequence, out); });
  if (!answer) return answer.error();
  if (!answer->message) return Chosen{std::nullopt, true, std::move(answer->failure)};
  KernelRoute route;
  const Decoded decoded = decode_route(*answer->message, route);
  if (decoded == Decoded::kMalformed) {
    return Error{
        ErrorCode::kIo, "route to " + to_string(address) + ": the kernel's answer makes no sense", {}};
  }
  if (decoded == Decoded::kSkipped) return Chosen{};
  // As long as nobody added a policy rule, IPv4 keeps the local table inside main's trie and answers "main"
  // for both.
  const auto type = static_cast<uint8_t>(route.route.type);
  if (type == RTN_LOCAL || type == RTN_BROADCAST) route.route.key.table = kLocalTable;
  const bool exact = address.family == Family::kIpv4 || route.route.nexthop.value() == 0;
  return Chosen{std::move(route), exact, {}};
}

// Walks one table until `wanted` has seen all of it; an interrupted walk is repeated.
Status walk_table(Query& query, Family family, TableId table, const std::function<void()>& begin,
                  const std::function<void(const KernelRoute&)>& wanted) {
  for (int attempt = 0; attempt < kDumpTries; ++attempt) {
    begin();
    const DumpOutcome outcome = dump_routes(query, family, table, wanted);
    if (outcome == DumpOutcome::kComplete) return {};
    if (outcome == DumpOutcome::kFailed) break;
  }
  return Error{ErrorCode::kIo, "cannot read table " + std::to_string(table.value()), "try again"};
}

Result<std::optional<KernelRoute>> match_in_table(Query& query, const IpAddress& address, TableId table) {
  std::optional<KernelRoute> best;
  const auto better = [&](const KernelRoute& candidate) {
    const RouteKey& key = candidate.route.key;
    if (key.tos != 0 || !key.prefix.contains(address)) return false;
    if (!best) return true;
    const RouteKey& known = best->route.key;
    if (key.prefix.length != known.prefix.length) return key.prefix.length > known.prefix.length;
    return key.metric < known.metric;
  };
  const Status status = walk_table(
      query, address.family, table, [&] { best.reset(); },
      [&](const KernelRoute& route) {
        if (better(route)) best = route;
      });
  if (!status) return status.error();
  return best;
}

std::optional<RouteType> refusal_type(int error) {
  switch (error) {
    case EINVAL:
      return RouteType::kBlackhole;
    case EHOSTUNREACH:
      return RouteType::kUnreachable;
    case EACCES:
      return RouteType::kProhibit;
    default:
      return std::nullopt;
  }
}

}  // namespace

DumpOutcome dump_routes(Query& query, Family family, std::optional<TableId> table,
                        const std::function<void(const KernelRoute&)>& visit) {
  KernelRoute route;
  const auto report =
      query.dump([&](auto sequence, auto& out) { encode_dump_routes(family, table, sequence, out); },
                 [&](const Message& message) {
                   const Decoded decoded = decode_route(message, route);
                   if (decoded == Decoded::kOk) visit(route);
                   return decoded != Decoded::kMalformed;
                 });
  // A table without routes does not exist.
  if (table && report.outcome == DumpOutcome::kFailed && report.error == ENOENT)
    return DumpOutcome::kComplete;
  return report.outcome;
}

Result<std::optional<KernelRoute>> match_route(Query& query, const IpAddress& address, TableId table) {
  auto chosen = choose(query, address, 0);
  if (!chosen) return chosen.error();
  if (chosen->exact && chosen->route && chosen->route->route.key.table == table)
    return std::move(chosen->route);
  return match_in_table(query, address, table);
}

Result<std::optional<KernelRoute>> lookup(Query& query, const IpAddress& address) {
  auto chosen = choose(query, address, 0);
  if (!chosen) return chosen.error();
  if (!chosen->exact) return match_in_table(query, address, chosen->route->route.key.table);
  if (chosen->route || chosen->failure.error == ENETUNREACH || chosen->failure.error == 0) {
    return std::move(chosen->route);
  }
  if (const auto type = refusal_type(chosen->failure.error)) {
    auto row = match_in_table(query, address, kMainTable);
    if (row && *row && (*row)->route.type == *type) return row;
  }
  return Error{ErrorCode::kIo, "route to " + to_string(address) + ": " + chosen->failure.words, {}};
}

Result<bool> has_route(Query& query, const RouteKey& key) {
  auto taken = query.get([&](auto sequence, auto& out) { encode_probe_key(key, sequence, out); });
  if (!taken) return taken.error();
  if (taken->failure.error == ENOENT) return false;
  if (taken->failure.error == EEXIST) return true;
  return Error{ErrorCode::kIo, "route " + to_string(key) + ": " + taken->failure.words, {}};
}

Result<std::optional<KernelRoute>> get_route(Query& query, const RouteKey& wanted) {
  RouteKey key = wanted;
  const Family family = key.prefix.family();
  if (family == Family::kIpv6 && key.metric == 0) key.metric = usual_metric(family);
  auto chosen = choose(query, key.prefix.address, key.tos);
  if (!chosen) return chosen.error();
  if (chosen->route && chosen->route->route.key == key) return std::move(chosen->route);

  const Result<bool> taken = has_route(query, key);
  if (!taken.ok()) return taken.error();
  if (!*taken) return std::optional<KernelRoute>();
  std::optional<KernelRoute> found;
  const Status status = walk_table(
      query, family, key.table, [&] { found.reset(); },
      [&](const KernelRoute& route) {
        if (!found && route.route.key == key) found = route;
      });
  if (!status) return status.error();
  return found;
}

}  // namespace waypost::kernel_sync::netlink
