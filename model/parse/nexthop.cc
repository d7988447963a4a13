// The words behind `nexthop add | replace | change | delete`.
#include <algorithm>

#include "model/limits.h"
#include "model/number.h"
#include "model/parse/lines.h"

namespace waypost::parse {
namespace {

enum class NexthopWord : uint8_t {
  kId,
  kVia,
  kDev,
  kOnlink,
  kBlackhole,
  kFdb,
  kEncap,
  kGroup,
  kType,
  kBuckets,
  kIdleTimer,
  kUnbalancedTimer,
  kProtocol,
  kScope,
  kHwStats
};

constexpr Keyword<NexthopWord> kNexthopWords[] = {
    {"id", true, NexthopWord::kId},
    {"dev", true, NexthopWord::kDev},
    {"via", true, NexthopWord::kVia},
    {"encap", true, NexthopWord::kEncap},
    {"blackhole", true, NexthopWord::kBlackhole},
    {"fdb", true, NexthopWord::kFdb},
    {"onlink", true, NexthopWord::kOnlink},
    {"group", true, NexthopWord::kGroup},
    {"type", true, NexthopWord::kType},
    {"protocol", false, NexthopWord::kProtocol},
    {"buckets", true, NexthopWord::kBuckets},
    {"idle_timer", true, NexthopWord::kIdleTimer},
    {"unbalanced_timer", true, NexthopWord::kUnbalancedTimer},
    {"scope", true, NexthopWord::kScope},
    {"hw_stats", true, NexthopWord::kHwStats},
};

constexpr uint64_t kLargestTimerSeconds = UINT32_MAX / 100 - 1;

// What the words of one line have said so far.
struct NexthopLine {
  std::optional<Family> family;
  NexthopId id;
  uint8_t protocol = 0;
  Nexthop single;
  const Word* single_word = nullptr;  // the first word that belongs to a single nexthop only
  NexthopGroup group;
  const Word* group_word = nullptr;
  const Word* type_word = nullptr;
  const Word* resilient_word = nullptr;  // the first of buckets and timers
  bool fdb = false;
};

bool read_member(Cursor& cursor, const Word& word, std::string_view text, NexthopGroup* group) {
  const size_t comma = text.find(',');
  const auto id = parse_number(text.substr(0, comma), UINT32_MAX);
  if (!id || *id == 0)
    return cursor.fail(word, quoted(text.substr(0, comma)) + " is not a nexthop id",
                       "a group is written ID[,WEIGHT]/ID[,WEIGHT]/...");
  uint64_t weight = 1;
  if (comma != std::string_view::npos) {
    const auto written = parse_number(text.substr(comma + 1), limits::kMaxWeight);
    if (!written || *written == 0)
      return cursor.fail(word, quoted(text.substr(comma + 1)) + " is not a weight (1 to 65535)");
    weight = *written;
  }
  if (group->members.size() == limits::kMaxGroupMembers)
    return cursor.fail(word, "a group has at most " + std::to_string(limits::kMaxGroupMembers) + " members");
  group->members.push_back(
      {.id = NexthopId(static_cast<uint32_t>(*id)), .weight = static_cast<uint16_t>(weight)});
  return true;
}

bool read_group(Cursor& cursor, const Word& keyword, NexthopLine& line) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  line.group_word = &keyword;
  line.group.members.clear();
  Word member = *word;
  for (std::string_view rest = word->text;;) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    member.column = word->column + static_cast<uint32_t>(rest.data() - word->text.data());
    if (!read_member(cursor, member, rest.substr(0, slash), &line.group)) return false;
    if (slash == rest.size()) return true;
    rest.remove_prefix(slash + 1);
  }
}

bool read_type(Cursor& cursor, const Word& keyword, NexthopLine& line) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  line.type_word = &keyword;
  if (word->text == "mpath" || word->text == "hash-threshold") {
    line.group.type = GroupType::kHashThreshold;
    return true;
  }
  if (word->text != "resilient")
    return cursor.fail(*word, quoted(word->text) + " is not a type of group",
                       "mpath (also called hash-threshold) and resilient are");
  line.group.type = GroupType::kResilient;
  return true;
}

// Whole seconds, as `ip` takes them, or with up to two decimals, as it prints them.
bool read_timer(Cursor& cursor, const Word& keyword, NexthopLine& line, uint32_t* centiseconds) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  if (line.resilient_word == nullptr) line.resilient_word = &keyword;
  const size_t point = std::min(word->text.find('.'), word->text.size());
  std::string decimals(word->text.substr(std::min(point + 1, word->text.size())));
  const bool digits =
      std::all_of(decimals.begin(), decimals.end(), [](char c) { return c >= '0' && c <= '9'; });
  const auto seconds = parse_number(word->text.substr(0, point), kLargestTimerSeconds);
  if (!seconds || !digits || decimals.size() > 2 || (point < word->text.size() && decimals.empty()))
    return cursor.fail(*word, quoted(word->text) + " is not a time in seconds (0 to " +
                                  std::to_string(kLargestTimerSeconds) + ")");
  decimals.resize(2, '0');
  const int hundredths = (decimals[0] - '0') * 10 + (decimals[1] - '0');
  *centiseconds = static_cast<uint32_t>(*seconds * 100) + static_cast<uint32_t>(hundredths);
  return true;
}

bool read_nexthop_word(Cursor& cursor, const Word& word, NexthopWord id, const ParseContext& context,
                       NexthopLine& line) {
  const auto single = [&] {
    if (line.single_word == nullptr) line.single_word = &word;
  };
  uint64_t number = 0;
  uint32_t named = 0;
  bool unspecified = false;
  switch (id) {
    case NexthopWord::kId:
      if (!cursor.number(word, "a nexthop id", 0, UINT32_MAX, &number)) return false;
      line.id = NexthopId(static_cast<uint32_t>(number));
      return true;
    case NexthopWord::kVia:
      single();
      return read_via(cursor, word, GatewayFamily::kOfTheLine, &line.family, &line.single, &unspecified);
    case NexthopWord::kDev:
      single();
      return read_device(cursor, word, &line.single.device);
    case NexthopWord::kOnlink:
      single();
      return line.single.onlink = true;
    case NexthopWord::kBlackhole:
      single();
      return line.single.blackhole = true;
    case NexthopWord::kEncap:
      single();
      return read_encap(cursor, word, names_of(context), &line.single.encap);
    case NexthopWord::kFdb:
      return line.fdb = true;
    case NexthopWord::kGroup:
      return read_group(cursor, word, line);
    case NexthopWord::kType:
      return read_type(cursor, word, line);
    case NexthopWord::kBuckets:
      if (line.resilient_word == nullptr) line.resilient_word = &word;
      if (!cursor.number(word, "a number of buckets", 1, UINT16_MAX, &number)) return false;
      line.group.resilient.buckets = static_cast<uint16_t>(number);
      return true;
    case NexthopWord::kIdleTimer:
      return read_timer(cursor, word, line, &line.group.resilient.idle_timer_cs);
    case NexthopWord::kUnbalancedTimer:
      return read_timer(cursor, word, line, &line.group.resilient.unbalanced_timer_cs);
    case NexthopWord::kProtocol:
      if (!cursor.named(word, "a protocol", names_of(context).protocols, UINT8_MAX, &named)) return false;
      line.protocol = static_cast<uint8_t>(named);
      return true;
    case NexthopWord::kScope:  // `show` prints what each kernel derives; taken so that its output can be fed
                               // back
      return cursor.named(word, "a scope", names_of(context).scopes, UINT8_MAX, &named);
    case NexthopWord::kHwStats:
      return cursor.fail(word, "hw_stats belongs to the driver of each host and is not stored");
  }
  return false;
}

bool read_words(Cursor& cursor, const ParseContext& context, NexthopLine& line) {
  line.family = context.family;
  while (!cursor.at_end()) {
    const Word& word = cursor.take();
    const Keyword<NexthopWord>* keyword = find_keyword(kNexthopWords, word.text);
    if (keyword == nullptr)
      return cursor.fail(word, quoted(word.text) + " is not known here",
                         did_you_mean(word.text, kNexthopWords));
    if (!read_nexthop_word(cursor, word, keyword->id, context, line)) return false;
  }
  return true;
}

bool finish_put(Cursor& cursor, NexthopLine& line, PutNexthop* out) {
  out->object.id = line.id;
  out->object.protocol = line.protocol;
  if (line.group_word == nullptr) {
    const Word* misplaced = line.type_word != nullptr ? line.type_word : line.resilient_word;
    if (misplaced != nullptr)
      return cursor.fail(*misplaced, quoted(misplaced->text) + " belongs to a group", "add `group ID/ID`");
    line.single.fdb = line.fdb;
    if (!line.single.gateway) line.single.family = line.family.value_or(Family::kIpv4);
    out->object.body = std::move(line.single);
    return true;
  }
  if (line.single_word != nullptr)  // KERNEL.md case 30
    return cursor.fail(*line.single_word, "a group has members, so it can not have " +
                                              quoted(line.single_word->text) + " of its own");
  if (line.resilient_word != nullptr && line.group.type != GroupType::kResilient)
    return cursor.fail(*line.resilient_word,
                       quoted(line.resilient_word->text) + " belongs to a resilient group",
                       "add `type resilient`");
  line.group.fdb = line.fdb;
  out->object.body = std::move(line.group);
  return true;
}

bool read_delete(Cursor& cursor, const ParseContext& context, Command* out) {
  DeleteNexthop& command = out->emplace<DeleteNexthop>();
  command.cascade = context.cascade;
  while (!cursor.at_end()) {
    const Word& word = cursor.take();
    uint64_t id = 0;
    if (word.text != "id")
      return cursor.fail(word, quoted(word.text) + " is not known here",
                         "a nexthop is deleted by `id ID` alone");
    if (!cursor.number(word, "a nexthop id", 1, UINT32_MAX, &id)) return false;
    command.id = NexthopId(static_cast<uint32_t>(id));
  }
  if (command.id.value() == 0)
    return cursor.fail_at_end("which nexthop is to be deleted is not said", "add `id ID`");
  return true;
}

}  // namespace

bool read_nexthop(Cursor& cursor, CommandVerb verb, const ParseContext& context, Command* out) {
  if (verb == CommandVerb::kDelete) return read_delete(cursor, context, out);
  NexthopLine line;
  if (!read_words(cursor, context, line)) return false;
  PutNexthop& put = out->emplace<PutNexthop>();
  put.verb = put_verb(verb);
  return finish_put(cursor, line, &put);
}

}  // namespace waypost::parse
