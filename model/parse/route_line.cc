// The words of route lines, one by one.
#include "model/parse/route_line.h"

#include <algorithm>

#include "model/limits.h"
#include "model/parse/lines.h"

namespace waypost::parse {
namespace {

enum class RouteWord : uint8_t {
  kDev,
  kDsfield,
  kEncap,
  kMetric,
  kMetricValue,
  kNexthop,
  kNhid,
  kOnlink,
  kPref,
  kProtocol,
  kScope,
  kSrc,
  kTable,
  kTo,
  kVia,
  kNotStored
};

struct RouteMeaning {
  RouteWord word;
  MetricWord metric = {};
  std::string_view reason = {};  // of kNotStored
};

constexpr RouteMeaning metric(uint8_t number, MetricForm form = MetricForm::kNumber) {
  return {.word = RouteWord::kMetricValue, .metric = {number, form}, .reason = {}};
}
constexpr RouteMeaning not_stored(std::string_view reason) {
  return {.word = RouteWord::kNotStored, .metric = {}, .reason = reason};
}
constexpr RouteMeaning plain(RouteWord word) {
  return {.word = word, .metric = {}, .reason = {}};
}

constexpr std::string_view kLiveState = "is a state that `show` prints; leave it out";

constexpr Keyword<RouteMeaning> kRouteWords[] = {
    {"via", true, plain(RouteWord::kVia)},
    {"dev", true, plain(RouteWord::kDev)},
    {"oif", true, plain(RouteWord::kDev)},
    {"nhid", true, plain(RouteWord::kNhid)},
    {"nexthop", true, plain(RouteWord::kNexthop)},
    {"src", true, plain(RouteWord::kSrc)},
    {"as", true, not_stored("is for MPLS and not stored")},
    {"from", true, not_stored("is not stored: routes here have no source prefix")},
    {"tos", true, plain(RouteWord::kDsfield)},
    {"dsfield", false, plain(RouteWord::kDsfield)},
    {"expires", true, not_stored("is not stored: a route here stays until it is deleted")},
    {"metric", false, plain(RouteWord::kMetric)},
    {"priority", false, plain(RouteWord::kMetric)},
    {"preference", true, plain(RouteWord::kMetric)},
    {"scope", true, plain(RouteWord::kScope)},
    {"mtu", true, metric(2)},
    {"hoplimit", true, metric(10, MetricForm::kHoplimit)},
    {"advmss", true, metric(8)},
    {"reordering", false, metric(9)},
    {"rtt", true, metric(4, MetricForm::kTime8)},
    {"rto_min", true, metric(13, MetricForm::kTime)},
    {"window", false, metric(3)},
    {"cwnd", false, metric(7)},
    {"initcwnd", false, metric(11)},
    {"initrwnd", false, metric(14)},
    {"features", false, metric(12, MetricForm::kFeatures)},
    {"quickack", false, metric(15, MetricForm::kSwitch)},
    {"congctl", false, metric(16, MetricForm::kName)},
    {"rttvar", false, metric(5, MetricForm::kTime4)},
    {"ssthresh", false, metric(6)},
    {"realms", false, not_stored("is not stored")},
    {"onlink", true, plain(RouteWord::kOnlink)},
    {"protocol", false, plain(RouteWord::kProtocol)},
    {"table", false, plain(RouteWord::kTable)},
    {"vrf", true, not_stored("is a device of one host and not stored; give the number of its table")},
    {"pref", false, plain(RouteWord::kPref)},
    {"encap", true, plain(RouteWord::kEncap)},
    {"ttl-propagate", true, not_stored("is for MPLS and not stored")},
    {"fastopen_no_cookie", false, metric(17, MetricForm::kSwitch)},
    {"to", true, plain(RouteWord::kTo)},
    {"dead", true, not_stored(kLiveState)},
    {"linkdown", true, not_stored(kLiveState)},
    {"offload", true, not_stored(kLiveState)},
    {"trap", true, not_stored(kLiveState)},
    {"pervasive", true, not_stored(kLiveState)},
    {"cache", true, not_stored(kLiveState)},
};

struct TypeWord {
  std::optional<RouteType> type;  // none: not a type that is stored
};
constexpr Keyword<TypeWord> kTypes[] = {
    {"local", true, {}},
    {"nat", true, {}},
    {"broadcast", false, {}},
    {"brd", true, {}},
    {"anycast", false, {}},
    {"multicast", false, {}},
    {"prohibit", false, {RouteType::kProhibit}},
    {"unreachable", false, {RouteType::kUnreachable}},
    {"blackhole", false, {RouteType::kBlackhole}},
    {"xresolve", false, {}},
    {"unicast", false, {RouteType::kUnicast}},
    {"throw", true, {RouteType::kThrow}},
};

enum class PathWord : uint8_t { kVia, kDev, kWeight, kOnlink, kEncap, kRealms };
constexpr Keyword<PathWord> kPathWords[] = {
    {"via", true, PathWord::kVia},       {"dev", true, PathWord::kDev},
    {"weight", true, PathWord::kWeight}, {"onlink", true, PathWord::kOnlink},
    {"encap", true, PathWord::kEncap},   {"realms", false, PathWord::kRealms}};

constexpr uint8_t kPreferenceHigh = 1;
constexpr uint8_t kPreferenceLow = 3;

bool read_gateway(Cursor& cursor, const Word& word, RouteLine& line, Nexthop* out) {
  bool unspecified = false;
  if (!read_via(cursor, word, GatewayFamily::kAny, &line.family, out, &unspecified)) return false;
  if (*line.family == Family::kIpv6 && out->family == Family::kIpv4)
    return cursor.fail(word, "an IPv6 route can not go through an IPv4 gateway");
  if (unspecified && out->family == Family::kIpv6)
    return cursor.fail(word, "the gateway can not be the unspecified address", "leave `via` out");
  return true;
}

bool read_weight(Cursor& cursor, const Word& word, InlinePath* path) {
  uint64_t weight = 0;
  if (!cursor.number(word, "a weight", 1, limits::kMaxWeight, &weight)) return false;
  path->weight = static_cast<uint16_t>(weight);
  return true;
}

bool read_path_word(Cursor& cursor, const Word& word, PathWord id, const NameTables& names, RouteLine& line,
                    InlinePath* path) {
  switch (id) {
    case PathWord::kVia:
      return read_gateway(cursor, word, line, &path->nexthop);
    case PathWord::kDev:
      return read_device(cursor, word, &path->nexthop.device);
    case PathWord::kWeight:
      return read_weight(cursor, word, path);
    case PathWord::kOnlink:
      return path->nexthop.onlink = true;
    case PathWord::kEncap:
      return read_encap(cursor, word, names, &path->nexthop.encap);
    case PathWord::kRealms:
      return cursor.fail(word, quoted(word.text) + " is not stored");
  }
  return false;
}

// `nexthop PATH nexthop PATH ...` to the end of the line; the first `nexthop` is taken.
bool read_paths(Cursor& cursor, const Word& keyword, const NameTables& names, RouteLine& line) {
  line.paths_word = &keyword;
  line.paths.reserve(2);
  for (const Word* begin = &keyword;;) {
    if (line.paths.size() == limits::kMaxGroupMembers)
      return cursor.fail(*begin,
                         "a route has at most " + std::to_string(limits::kMaxGroupMembers) + " paths");
    InlinePath& path = line.paths.emplace_back();
    while (!cursor.at_end() && cursor.peek().text != "nexthop") {
      const Word& word = cursor.take();
      const Keyword<PathWord>* found = find_keyword(kPathWords, word.text);
      if (found == nullptr) {
        std::string hint = did_you_mean(word.text, kPathWords);
        if (hint.empty() && find_keyword(kRouteWords, word.text) != nullptr)
          hint = "words of the whole route stand before its first `nexthop`";
        return cursor.fail(word, quoted(word.text) + " is not known in a path", std::move(hint));
      }
      if (!read_path_word(cursor, word, found->id, names, line, &path)) return false;
    }
    if (goes_nowhere(path.nexthop))
      return cursor.fail(*begin, "a path needs a gateway or a device", "add `via ADDRESS` or `dev NAME`");
    if (cursor.at_end()) return true;
    begin = &cursor.take();
  }
}

// `any` is an abbreviation of anycast here, as in `ip`.
bool is_default_word(std::string_view text) {
  return text == "default" || text == "all";
}

// [to] [TYPE] PREFIX: what stands where no other keyword does.
bool read_prefix(Cursor& cursor, const Word& first, RouteLine& line) {
  const Word* word = &first;
  const bool begins_with_digit = !word->text.empty() && word->text[0] >= '0' && word->text[0] <= '9';
  if (const auto* type = begins_with_digit ? nullptr : find_keyword(kTypes, word->text)) {
    if (!type->id.type)
      return cursor.fail(*word,
                         std::string(type->word) + " routes belong to each host's kernel and are not stored",
                         "unicast, blackhole, unreachable, prohibit and throw are");
    line.type = type->id.type;
    word = cursor.value(*word);
    if (word == nullptr) return false;
  }
  if (line.prefix_word != nullptr) {
    std::string hint = did_you_mean(word->text, kRouteWords);
    if (hint.empty()) hint = "the prefix was " + quoted(line.prefix_word->text);
    return cursor.fail(*word, quoted(word->text) + " is not known here", std::move(hint));
  }
  line.prefix_word = word;
  if (is_default_word(word->text)) return line.is_default = true;
  auto prefix = parse_prefix(word->text, line.family ? &*line.family : nullptr);
  if (!prefix.ok()) {
    const bool looks_like_one =
        word->text.find_first_of(".:/") != std::string_view::npos || begins_with_digit;
    if (looks_like_one) return cursor.fail(*word, prefix.error());
    std::string hint = did_you_mean(word->text, kRouteWords);
    if (hint.empty()) hint = did_you_mean(word->text, kTypes);
    return cursor.fail(*word, quoted(word->text) + " is not known here", std::move(hint));
  }
  line.prefix = *prefix;
  line.family = prefix->family();
  return true;
}

bool read_source(Cursor& cursor, const Word& keyword, RouteLine& line) {
  const Word* word = cursor.value(keyword);
  IpAddress address;
  if (word == nullptr || !cursor.address(*word, line.family, &address)) return false;
  line.family = address.family;
  line.prefsrc = address;
  line.prefsrc_word = word;
  return true;
}

bool read_table(Cursor& cursor, const Word& keyword, const NameTables& names, RouteLine& line) {
  if (!cursor.named(keyword, "a table", names.tables, UINT32_MAX, &line.table)) return false;
  if (line.table == 0) line.table = kMainTable.value();  // KERNEL.md case 53
  if (line.table == kLocalTable.value())
    return cursor.fail(keyword, "table 255 (local) belongs to each host's kernel and is not stored");
  return true;
}

bool read_preference(Cursor& cursor, const Word& keyword, RouteLine& line) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  if (word->text == "high" || word->text == "1")
    line.preference = kPreferenceHigh;
  else if (word->text == "low" || word->text == "3")
    line.preference = kPreferenceLow;
  else if (word->text == "medium" || word->text == "0")
    line.preference = 0;
  else
    return cursor.fail(*word, quoted(word->text) + " is not a router preference", "low, medium and high are");
  return true;
}

// `number` is filled while `read` is computed: a reference, because arguments have no order.
template <typename Number, typename Integer>
bool keep(bool read, const Number& number, std::optional<Integer>* out) {
  if (read) *out = static_cast<Integer>(number);
  return read;
}

// The words of `via`, `dev`, `onlink`, `encap` and `nexthop`: how the route goes on.
bool read_way(Cursor& cursor, const Word& word, RouteWord id, const NameTables& names, RouteLine& line) {
  if (id == RouteWord::kNexthop) return read_paths(cursor, word, names, line);
  if (line.single_word == nullptr) line.single_word = &word;
  if (id == RouteWord::kVia) return line.has_via = read_gateway(cursor, word, line, &line.single);
  if (id == RouteWord::kDev) return read_device(cursor, word, &line.single.device);
  if (id == RouteWord::kEncap) return read_encap(cursor, word, names, &line.single.encap);
  return line.single.onlink = true;
}

bool read_route_word(Cursor& cursor, const Word& word, const RouteMeaning& meaning, const NameTables& names,
                     RouteLine& line) {
  uint64_t number = 0;
  uint32_t named = 0;
  switch (meaning.word) {
    case RouteWord::kVia:
    case RouteWord::kDev:
    case RouteWord::kOnlink:
    case RouteWord::kEncap:
    case RouteWord::kNexthop:
      return read_way(cursor, word, meaning.word, names, line);
    case RouteWord::kNhid:
      line.nexthop_word = &word;
      return keep(cursor.number(word, "a nexthop id", 1, UINT32_MAX, &number), number, &line.nexthop);
    case RouteWord::kMetric:
      return keep(cursor.number(word, "a metric", 0, UINT32_MAX, &number), number, &line.metric);
    case RouteWord::kMetricValue:
      line.metrics_word = &word;
      return read_metric(cursor, word, meaning.metric, &line.metrics);
    case RouteWord::kProtocol:
      return keep(cursor.named(word, "a protocol", names.protocols, UINT8_MAX, &named), named,
                  &line.protocol);
    case RouteWord::kScope:
      return keep(cursor.named(word, "a scope", names.scopes, UINT8_MAX, &named), named, &line.scope);
    case RouteWord::kDsfield:
      line.tos_word = &word;
      return cursor.dsfield(word, names.dsfields, &line.tos);
    case RouteWord::kTable:
      return read_table(cursor, word, names, line);
    case RouteWord::kSrc:
      return read_source(cursor, word, line);
    case RouteWord::kPref:
      return read_preference(cursor, word, line);
    case RouteWord::kTo: {
      const Word* prefix = cursor.value(word);
      return prefix != nullptr && read_prefix(cursor, *prefix, line);
    }
    case RouteWord::kNotStored:
      return cursor.fail(word, quoted(word.text) + " " + std::string(meaning.reason));
  }
  return false;
}

}  // namespace

bool read_route_words(Cursor& cursor, const ParseContext& context, RouteLine& line) {
  const NameTables& names = names_of(context);
  line.family = context.family;
  while (!cursor.at_end()) {
    const Word& word = cursor.take();
    const bool digit = !word.text.empty() && word.text[0] <= '9' && word.text[0] >= '0';
    const auto* keyword = digit ? nullptr : find_keyword(kRouteWords, word.text);
    if (keyword == nullptr ? !read_prefix(cursor, word, line)
                           : !read_route_word(cursor, word, keyword->id, names, line))
      return false;
  }
  if (line.prefix_word == nullptr)
    return cursor.fail_at_end("the prefix is missing", "add `ADDRESS/LENGTH` or `default`");
  return true;
}

}  // namespace waypost::parse
