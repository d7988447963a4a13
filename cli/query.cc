#include "cli/query.h"

#include <algorithm>
#include <charconv>

#include "cli/context.h"
#include "model/parse/cursor.h"

namespace waypost::cli {
namespace {

Error query_error(std::string message, std::string hint = {}) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

// The words one by one; a keyword that lacks its value is an error at its name.
class WordReader {
 public:
  explicit WordReader(std::span<const Word> words) : words_(words) {}
  bool done() const { return at_ == words_.size(); }
  std::string_view take() { return words_[at_++].text; }
  std::string_view keyword() const { return words_[at_ - 1].text; }
  Result<std::string_view> value() {
    if (done()) return query_error("\"" + std::string(keyword()) + "\" needs a value");
    return take();
  }

 private:
  std::span<const Word> words_;
  size_t at_ = 0;
};

Result<uint32_t> parse_decimal(std::string_view text, std::string_view what) {
  uint32_t number = 0;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const char* first = text.data() + (hexadecimal ? 2 : 0);
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, number, hexadecimal ? 16 : 10);
  if (error == std::errc() && end == last && first != last) return number;
  return query_error("\"" + std::string(text) + "\" is not a " + std::string(what));
}

// Reads the value behind the keyword just taken into `field`.
template <typename Field, typename Parse>
Status read_value(WordReader& reader, Field& field, Parse parse) {
  const Result<std::string_view> text = reader.value();
  if (!text.ok()) return text.error();
  auto parsed = parse(*text);
  if (!parsed.ok()) return parsed.error();
  field = std::move(*parsed);
  return {};
}

Result<std::string> device_name(std::string_view text) {
  return std::string(text);
}

Error per_host(std::string_view word) {
  return query_error(
      "\"" + std::string(word) + "\" is decided on each host, so the store cannot filter by it",
      "ask the kernel of that host: ip route, or waypost fib");
}

Error unknown_filter(std::string_view object, std::string_view word,
                     std::span<const std::string_view> known) {
  return query_error(std::string(object) + ": \"" + std::string(word) + "\" is not a filter",
                     parse::did_you_mean(word, known));
}

constexpr std::string_view kNexthopFilters[] = {"id", "dev", "groups", "fdb", "proto", "protocol"};

Status read_nexthop_filter(WordReader& reader, NexthopQuery& query, const ParseContext& context) {
  const std::string_view word = reader.take();
  if (word == "id") {
    return read_value(reader, query.id, [](std::string_view text) -> Result<NexthopId> {
      const Result<uint32_t> id = parse_decimal(text, "nexthop id");
      if (!id.ok()) return id.error();
      if (*id == 0) return query_error("nexthop id 0 is never stored");
      return NexthopId(*id);
    });
  }
  if (matches(word, "dev") || word == "oif") return read_value(reader, query.device, device_name);
  if (matches(word, "groups")) return query.groups = true, Status();
  if (word == "fdb") return query.fdb = true, Status();
  if (matches(word, "protocol")) {
    return read_value(reader, query.protocol, [&](std::string_view text) {
      return parse_named(text, context.names->protocols, "protocol", 255);
    });
  }
  if (word == "vrf" || word == "master") return per_host(word);
  return unknown_filter("nexthop", word, kNexthopFilters);
}

Result<RouteType> parse_type(std::string_view text) {
  constexpr std::pair<std::string_view, RouteType> kTypes[] = {{"unicast", RouteType::kUnicast},
                                                               {"blackhole", RouteType::kBlackhole},
                                                               {"unreachable", RouteType::kUnreachable},
                                                               {"prohibit", RouteType::kProhibit},
                                                               {"throw", RouteType::kThrow}};
  for (const auto& [word, type] : kTypes)
    if (word == text) return type;
  return query_error("\"" + std::string(text) + "\" is not a type of stored routes",
                     "unicast, blackhole, unreachable, prohibit or throw");
}

// The prefix behind root, match, exact or nothing.
Status read_prefix(std::string_view text, RouteQuery::Selector selector, RouteQuery& query,
                   const ParseContext& context) {
  const Family hint = context.family.value_or(query.family.value_or(Family::kIpv4));
  const Result<Prefix> prefix = parse_prefix(text, &hint);
  if (!prefix.ok()) return prefix.error();
  if (context.family && prefix->family() != *context.family)
    return query_error("\"" + std::string(text) + "\" is not of the family that -4 or -6 asks for");
  query.prefix = *prefix;
  query.selector = selector;
  query.family = prefix->family();
  return {};
}

Status read_table(WordReader& reader, RouteQuery& query, const ParseContext& context) {
  const Result<std::string_view> text = reader.value();
  if (!text.ok()) return text.error();
  if (*text == "all" || *text == "0") return query.table.reset(), Status();
  if (*text == "cache") return query_error("a cache of routes is a kernel's own; none is stored");
  const Result<uint32_t> table = parse_named(*text, context.names->tables, "table", UINT32_MAX);
  if (!table.ok()) return table.error();
  query.table = TableId(*table);
  return {};
}

Status read_tos(WordReader& reader, RouteQuery& query, const ParseContext& context) {
  return read_value(reader, query.tos, [&](std::string_view text) -> Result<uint8_t> {
    if (const auto named = context.names->dsfields.number(text)) return static_cast<uint8_t>(*named);
    const std::string hexadecimal = text.starts_with("0x") ? std::string(text) : "0x" + std::string(text);
    const Result<uint32_t> tos = parse_decimal(hexadecimal, "tos");
    if (!tos.ok() || *tos > 255)
      return query_error("\"" + std::string(text) + "\" is not a tos (hexadecimal, or a name)");
    return static_cast<uint8_t>(*tos);
  });
}

// `via [inet|inet6] ADDRESS`
Status read_via(WordReader& reader, RouteQuery& query) {
  const auto address = [&](std::string_view text) { return parse_address(text); };
  Result<std::string_view> text = reader.value();
  if (text.ok() && (*text == "inet" || *text == "inet6")) return read_value(reader, query.via, address);
  if (!text.ok()) return text.error();
  const Result<IpAddress> parsed = parse_address(*text);
  if (!parsed.ok()) return parsed.error();
  query.via = *parsed;
  return {};
}

constexpr std::string_view kRouteFilters[] = {"root",     "match", "exact",  "table", "proto",
                                              "protocol", "nhid",  "type",   "scope", "tos",
                                              "dev",      "via",   "metric", "src",   "dsfield"};

// Keywords that `ip` knows and that mean nothing for stored rows.
bool is_per_host(std::string_view word) {
  for (const std::string_view known :
       {"vrf", "iif", "from", "mark", "realms", "cloned", "cached", "onlink", "uid"})
    if (word == known) return true;
  return false;
}

Status read_route_filter(WordReader& reader, RouteQuery& query, const ParseContext& context) {
  const std::string_view word = reader.take();
  const auto named = [&](const NumberNames& names, std::string_view what, uint32_t largest) {
    return [&names, what, largest](std::string_view text) { return parse_named(text, names, what, largest); };
  };
  const auto number = [](std::string_view what) {
    return [what](std::string_view text) { return parse_decimal(text, what); };
  };
  if (matches(word, "table")) return read_table(reader, query, context);
  if (matches(word, "protocol") && word.size() >= 2)
    return read_value(reader, query.protocol, named(context.names->protocols, "protocol", 255));
  if (matches(word, "scope") && word.size() >= 2)
    return read_value(reader, query.scope, named(context.names->scopes, "scope", 255));
  if (word == "tos" || matches(word, "dsfield")) return read_tos(reader, query, context);
  if (word == "type") return read_value(reader, query.type, parse_type);
  if (word == "dev" || word == "oif") return read_value(reader, query.device, device_name);
  if (word == "via") return read_via(reader, query);
  if (word == "src")
    return read_value(reader, query.prefsrc, [](std::string_view t) { return parse_address(t); });
  if (word == "metric" || word == "priority" || word == "preference")
    return read_value(reader, query.metric, number("metric"));
  if (word == "nhid") {
    return read_value(reader, query.nexthop, [](std::string_view text) -> Result<NexthopId> {
      const Result<uint32_t> id = parse_decimal(text, "nexthop id");
      if (!id.ok()) return id.error();
      return NexthopId(*id);
    });
  }
  if (is_per_host(word)) return per_host(word);
  auto selector = RouteQuery::Selector::kExact;
  if (word == "root") selector = RouteQuery::Selector::kRoot;
  if (word == "match") selector = RouteQuery::Selector::kMatch;
  std::string_view text = word;
  if (word == "root" || word == "match" || word == "exact" || word == "to") {
    const Result<std::string_view> value = reader.value();
    if (!value.ok()) return value.error();
    text = *value;
    // `to match P`: the keyword behind `to` says how.
    if (word == "to" && (text == "root" || text == "match" || text == "exact")) {
      if (text == "root") selector = RouteQuery::Selector::kRoot;
      if (text == "match") selector = RouteQuery::Selector::kMatch;
      const Result<std::string_view> behind = reader.value();
      if (!behind.ok()) return behind.error();
      text = *behind;
    }
  } else if (text.find_first_of("0123456789:") == std::string_view::npos && text != "default" &&
             text != "any" && text != "all") {
    return unknown_filter("route", word, kRouteFilters);
  }
  return read_prefix(text, selector, query, context);
}

}  // namespace

Result<uint32_t> parse_named(std::string_view text, const NumberNames& names, std::string_view what,
                             uint32_t largest) {
  if (const auto number = names.number(text)) return *number;
  const Result<uint32_t> number = parse_decimal(text, what);
  if (!number.ok() || *number > largest)
    return query_error(
        "\"" + std::string(text) + "\" is neither the name nor the number of a " + std::string(what),
        "names come from /etc/iproute2 on this host");
  return *number;
}

HiddenFields RouteQuery::hidden() const {
  return {.tos = tos.has_value(),
          .gateway = via.has_value(),
          .device = device.has_value(),
          .table = table.has_value(),
          .protocol = protocol.has_value(),
          .scope = scope.has_value(),
          .prefsrc = prefsrc.has_value(),
          .metric = metric.has_value()};
}

Result<NexthopQuery> parse_nexthop_query(std::span<const Word> words, const ParseContext& context) {
  NexthopQuery query;
  query.family = context.family;
  WordReader reader(words);
  while (!reader.done())
    if (Status status = read_nexthop_filter(reader, query, context); !status.ok()) return status.error();
  return query;
}

Result<RouteQuery> parse_route_query(std::span<const Word> words, const ParseContext& context) {
  RouteQuery query;
  query.table = kMainTable;
  query.family = context.family;
  WordReader reader(words);
  while (!reader.done())
    if (Status status = read_route_filter(reader, query, context); !status.ok()) return status.error();
  if (!query.family && query.table) query.family = Family::kIpv4;
  return query;
}

Result<NexthopId> parse_nexthop_after(std::string_view text) {
  const Result<uint32_t> id = parse_decimal(text, "nexthop id");
  if (!id.ok())
    return query_error("--after: " + id.error().message, "--after takes the id of the last nexthop seen");
  return NexthopId(*id);
}

Result<RouteKey> parse_route_after(std::string_view text, const RouteQuery& query,
                                   const ParseContext& context) {
  std::vector<Word> words;
  for (size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at)) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.push_back({.text = text.substr(at, end - at)});
    at = end;
  }
  const std::string hint = "--after takes the key of the last route seen: \"10.0.0.0/8 table 100 metric 20\"";
  ParseContext of_list = context;
  of_list.family = query.family;
  const Result<RouteQuery> row = parse_route_query(words, of_list);
  if (!row.ok()) return query_error("--after: " + row.error().message, hint);
  if (row->selector != RouteQuery::Selector::kExact) return query_error("--after names no prefix", hint);
  const bool names_table =
      std::any_of(words.begin(), words.end(), [](const Word& word) { return matches(word.text, "table"); });
  RouteKey key;
  key.table = names_table ? row->table.value_or(kMainTable) : query.table.value_or(kMainTable);
  key.prefix = row->prefix;
  if (query.table && key.table != *query.table)
    return query_error("--after names a row of table " + std::to_string(key.table.value()) +
                           ", and the list is of table " + std::to_string(query.table->value()),
                       "list that table, or `table all`");
  key.tos = row->tos.value_or(query.tos.value_or(0));
  key.metric = row->metric.value_or(query.metric.value_or(usual_metric(key.prefix.family())));
  return key;
}

Result<RouteLookup> parse_route_lookup(std::span<const Word> words, const ParseContext& context) {
  RouteLookup lookup;
  bool has_address = false;
  WordReader reader(words);
  while (!reader.done()) {
    const std::string_view word = reader.take();
    if (word == "to" || word == "fibmatch") continue;
    if (matches(word, "table")) {
      Status status = read_value(reader, lookup.table, [&](std::string_view text) -> Result<TableId> {
        const Result<uint32_t> table = parse_named(text, context.names->tables, "table", UINT32_MAX);
        if (!table.ok()) return table.error();
        return TableId(*table);
      });
      if (!status.ok()) return status.error();
      continue;
    }
    if (word == "from" || is_per_host(word) || word == "oif" || word == "dev")
      return query_error("\"" + std::string(word) + "\" matters only to the kernel of a host",
                         "`waypost fib get ADDRESS` asks this node's kernel");
    const Result<IpAddress> address = parse_address(word);
    if (!address.ok()) return address.error();
    if (has_address)
      return query_error("route get takes one address; \"" + std::string(word) + "\" is a second one");
    lookup.address = *address;
    has_address = true;
  }
  if (!has_address) return query_error("route get needs an address", "waypost route get 192.0.2.1");
  return lookup;
}

}  // namespace waypost::cli
