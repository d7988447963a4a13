// What the words of a route line come to: a put or a delete, or why they do not go together.
#include "model/parse/lines.h"
#include "model/parse/route_line.h"

namespace waypost::parse {
namespace {

constexpr uint8_t kEcnBits = 3;

// What does not depend on the verb: the family is known now.
bool settle(Cursor& cursor, RouteLine& line) {
  const Family family = line.family.value_or(Family::kIpv4);
  const bool ipv4 = family == Family::kIpv4;
  if (line.is_default) line.prefix = Prefix{.address = {.family = family}};
  if (!ipv4 && line.tos != 0) return cursor.fail(*line.tos_word, "IPv6 routes have no tos");
  if ((line.tos & kEcnBits) != 0)
    return cursor.fail(*line.tos_word, "the two low bits of tos belong to ECN",
                       "give a multiple of 4; tos is read as hexadecimal");
  if (!ipv4) line.scope.reset();                                       // the kernel ignores it
  if (ipv4) line.preference = 0;                                       // the kernel ignores it
  if (!ipv4 && line.metric == 0u) line.metric = usual_metric(family);  // KERNEL.md case 51
  if (line.nexthop_word != nullptr && line.single_word != nullptr)     // KERNEL.md case 40
    return cursor.fail(*line.single_word,
                       "nhid and " + quoted(line.single_word->text) + " exclude each other");
  if (line.nexthop_word != nullptr && line.paths_word != nullptr)
    return cursor.fail(*line.paths_word, "nhid and 'nexthop' exclude each other");
  if (line.single_word != nullptr && line.paths_word != nullptr)
    return cursor.fail(*line.paths_word,
                       "'nexthop' and " + quoted(line.single_word->text) + " exclude each other",
                       "write every path as `nexthop ...`");
  if (line.single_word != nullptr && goes_nowhere(line.single))
    return cursor.fail(*line.single_word, "the route needs a gateway or a device",
                       "add `via ADDRESS` or `dev NAME`");
  if (line.single_word != nullptr) line.paths.push_back({.nexthop = std::move(line.single), .weight = 1});
  for (InlinePath& path : line.paths)
    if (!path.nexthop.gateway) path.nexthop.family = family;
  return true;
}

bool finish_put(Cursor& cursor, CommandVerb verb, RouteLine& line, PutRoute* out) {
  const Family family = line.prefix.family();
  const bool ipv4 = family == Family::kIpv4;
  Route& route = out->route;
  route.type = line.type.value_or(RouteType::kUnicast);
  if (route.type != RouteType::kUnicast && !line.paths.empty()) {
    const Word& word = line.paths_word != nullptr ? *line.paths_word : *line.single_word;
    if (ipv4)
      return cursor.fail(word, "a route of this type has no gateway and no device",
                         "leave " + quoted(word.text) + " out");
    line.paths.clear();  // the kernel drops them from an IPv6 route, and `ip` prints dev lo
  }
  if (route.type == RouteType::kUnicast && line.paths.empty() && !line.nexthop)
    return cursor.fail_at_end("a unicast route needs a nexthop",
                              "add `nhid ID`, `via ADDRESS` or `dev NAME`");
  if (ipv4 && line.paths.size() == 1) line.paths[0].weight = 1;  // the weight of an only path means nothing
  const bool device_only = line.single_word != nullptr && !line.has_via;
  const bool on_link = ipv4 && device_only && route.type == RouteType::kUnicast;
  out->verb = put_verb(verb);
  route.key = {.table = TableId(line.table),
               .prefix = line.prefix,
               .tos = line.tos,
               .metric = line.metric.value_or(usual_metric(family))};
  route.nexthop = NexthopId(line.nexthop.value_or(0));
  route.protocol = line.protocol.value_or(kProtocolBoot);
  route.scope = line.scope.value_or(on_link ? kScopeLink : kScopeGlobal);
  route.preference = line.preference;
  route.prefsrc = line.prefsrc;
  route.metrics = std::move(line.metrics);
  out->paths = std::move(line.paths);
  return true;
}

bool finish_delete(Cursor& cursor, RouteLine& line, DeleteRoute* out) {
  // IPv6 ignores them, IPv4 compares them: a route that has others must not go by mistake.
  if (line.prefix.family() == Family::kIpv4 && line.metrics_word != nullptr)
    return cursor.fail(*line.metrics_word, "a route is not deleted by its " + quoted(line.metrics_word->text),
                       "leave it out");
  out->table = TableId(line.table);
  out->prefix = line.prefix;
  out->tos = line.tos;
  out->metric = line.metric;
  out->type = line.type;
  out->protocol = line.protocol;
  out->scope = line.scope;
  if (line.nexthop) out->nexthop = NexthopId(*line.nexthop);
  out->prefsrc = line.prefsrc;
  out->paths = std::move(line.paths);
  return true;
}

}  // namespace

bool read_route(Cursor& cursor, CommandVerb verb, const ParseContext& context, Command* out) {
  RouteLine line;
  if (!read_route_words(cursor, context, line) || !settle(cursor, line)) return false;
  if (verb == CommandVerb::kDelete) return finish_delete(cursor, line, &out->emplace<DeleteRoute>());
  return finish_put(cursor, verb, line, &out->emplace<PutRoute>());
}

}  // namespace waypost::parse
