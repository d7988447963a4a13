// Which object and verb a line begins with. The tables stand in the order in which iproute2 asks, because
// that decides what an abbreviation means.
#include "model/parse/cursor.h"

namespace waypost {
namespace {

using parse::find_keyword;
using parse::Keyword;
using parse::quoted;
using Object = ObjectVerb::Object;
using LineVerb = ObjectVerb::Verb;

constexpr Keyword<Object> kObjects[] = {
    {.word = "address", .id = Object::kOther},     {.word = "addrlabel", .id = Object::kOther},
    {.word = "maddress", .id = Object::kOther},    {.word = "route", .id = Object::kRoute},
    {.word = "rule", .id = Object::kOther},        {.word = "neighbor", .id = Object::kOther},
    {.word = "neighbour", .id = Object::kOther},   {.word = "ntable", .id = Object::kOther},
    {.word = "ntbl", .id = Object::kOther},        {.word = "link", .id = Object::kOther},
    {.word = "l2tp", .id = Object::kOther},        {.word = "fou", .id = Object::kOther},
    {.word = "ila", .id = Object::kOther},         {.word = "macsec", .id = Object::kOther},
    {.word = "tunnel", .id = Object::kOther},      {.word = "tunl", .id = Object::kOther},
    {.word = "tuntap", .id = Object::kOther},      {.word = "tap", .id = Object::kOther},
    {.word = "token", .id = Object::kOther},       {.word = "tcpmetrics", .id = Object::kOther},
    {.word = "tcp_metrics", .id = Object::kOther}, {.word = "monitor", .id = Object::kOther},
    {.word = "xfrm", .id = Object::kOther},        {.word = "mroute", .id = Object::kOther},
    {.word = "mrule", .id = Object::kOther},       {.word = "netns", .id = Object::kOther},
    {.word = "netconf", .id = Object::kOther},     {.word = "vrf", .id = Object::kOther},
    {.word = "sr", .id = Object::kOther},          {.word = "nexthop", .id = Object::kNexthop},
    {.word = "mptcp", .id = Object::kOther},       {.word = "ioam", .id = Object::kOther},
    {.word = "help", .id = Object::kOther},        {.word = "stats", .id = Object::kOther}};

constexpr Keyword<LineVerb> kRouteVerbs[] = {{.word = "list", .id = LineVerb::kShow},
                                             {.word = "show", .id = LineVerb::kShow},
                                             {.word = "lst", .id = LineVerb::kShow},
                                             {.word = "get", .id = LineVerb::kGet},
                                             {.word = "add", .id = LineVerb::kAdd},
                                             {.word = "change", .id = LineVerb::kChange},
                                             {.word = "chg", .exact = true, .id = LineVerb::kChange},
                                             {.word = "replace", .id = LineVerb::kReplace},
                                             {.word = "prepend", .id = LineVerb::kPrepend},
                                             {.word = "append", .id = LineVerb::kAppend},
                                             {.word = "test", .id = LineVerb::kTest},
                                             {.word = "delete", .id = LineVerb::kDelete},
                                             {.word = "flush", .id = LineVerb::kFlush},
                                             {.word = "save", .id = LineVerb::kSave},
                                             {.word = "restore", .id = LineVerb::kRestore},
                                             {.word = "monitor", .id = LineVerb::kMonitor},
                                             {.word = "help", .id = LineVerb::kHelp}};

constexpr Keyword<LineVerb> kNexthopVerbs[] = {{.word = "add", .id = LineVerb::kAdd},
                                               {.word = "replace", .id = LineVerb::kReplace},
                                               {.word = "delete", .id = LineVerb::kDelete},
                                               {.word = "change", .id = LineVerb::kChange},
                                               {.word = "chg", .exact = true, .id = LineVerb::kChange},
                                               {.word = "list", .id = LineVerb::kShow},
                                               {.word = "show", .id = LineVerb::kShow},
                                               {.word = "lst", .id = LineVerb::kShow},
                                               {.word = "get", .id = LineVerb::kGet},
                                               {.word = "flush", .id = LineVerb::kFlush},
                                               {.word = "bucket", .id = LineVerb::kBucket},
                                               {.word = "monitor", .id = LineVerb::kMonitor},
                                               {.word = "help", .id = LineVerb::kHelp}};

ParseError error_at(const Word& word, std::string message, std::string hint) {
  return {
      .error = {.code = ErrorCode::kInvalidArgument, .message = std::move(message), .hint = std::move(hint)},
      .line = word.line,
      .column = word.column};
}

ParseError unknown_object(const Word& word) {
  if (word.text == "ip")
    return error_at(word, "'ip' is not an object", "leave `ip` out: a line begins with `route` or `nexthop`");
  if (word.text.starts_with("-"))
    return error_at(word, quoted(word.text) + " is an option of the command, not of a line",
                    "give it before the object");
  static constexpr std::string_view kStored[] = {"route", "nexthop"};
  std::string hint = parse::did_you_mean(word.text, kStored);
  return error_at(word, quoted(word.text) + " is not an object",
                  hint.empty() ? "`route` and `nexthop` are" : hint);
}

template <size_t count>
std::optional<ParseError> read_verb(const Keyword<LineVerb> (&verbs)[count], std::span<const Word> words,
                                    std::string_view object, ObjectVerb* out) {
  if (words.size() == 1) {
    out->arguments = 1;  // `ip route` alone shows
    return std::nullopt;
  }
  const Keyword<LineVerb>* verb = find_keyword(verbs, words[1].text);
  if (verb == nullptr) {
    std::string message(object);
    message += ": " + quoted(words[1].text) + " is not a verb";
    return error_at(words[1], std::move(message), parse::did_you_mean(words[1].text, verbs));
  }
  out->verb = verb->id;
  out->arguments = 2;
  return std::nullopt;
}

}  // namespace

std::variant<ObjectVerb, ParseError> parse_object_verb(std::span<const Word> words) {
  WAYPOST_CHECK(!words.empty(), "a line without words");
  const Keyword<Object>* object = find_keyword(kObjects, words[0].text);
  if (object == nullptr) return unknown_object(words[0]);
  ObjectVerb result{.object = object->id, .verb = LineVerb::kShow, .other = {}, .arguments = 1};
  std::optional<ParseError> error;
  if (object->id == Object::kRoute) error = read_verb(kRouteVerbs, words, "route", &result);
  if (object->id == Object::kNexthop) error = read_verb(kNexthopVerbs, words, "nexthop", &result);
  if (object->id == Object::kOther) result.other = object->word;
  if (error) return *error;
  return result;
}

}  // namespace waypost
