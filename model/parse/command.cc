// One line to one command: parse_command.
#include "model/check.h"
#include "model/parse/lines.h"

namespace waypost {
namespace parse {

const NameTables& names_of(const ParseContext& context) {
  static const NameTables built_in = NameTables::defaults();
  return context.names != nullptr ? *context.names : built_in;
}

Verb put_verb(CommandVerb verb) {
  switch (verb) {
    case CommandVerb::kAdd:
      return Verb::kAdd;
    case CommandVerb::kReplace:
      return Verb::kReplace;
    case CommandVerb::kChange:
      return Verb::kChange;
    case CommandVerb::kAppend:
      return Verb::kAppend;
    case CommandVerb::kPrepend:
      return Verb::kPrepend;
    default:
      check_failed(__FILE__, __LINE__, "verb", "not a verb that puts a row");
  }
}

namespace {

bool read_line(Cursor& cursor, const ObjectVerb& line, const Word& verb, const ParseContext& context,
               Command* out) {
  switch (line.verb) {
    case ObjectVerb::Verb::kAdd:
    case ObjectVerb::Verb::kReplace:
    case ObjectVerb::Verb::kChange:
    case ObjectVerb::Verb::kAppend:
    case ObjectVerb::Verb::kPrepend:
    case ObjectVerb::Verb::kDelete:
      break;
    case ObjectVerb::Verb::kTest:
      return cursor.fail(verb, "test is not done here: it asks one host's kernel",
                         "use `add` with --dry-run");
    default:
      return cursor.fail(verb, quoted(verb.text) + " is a command of its own: it can not stand in a batch");
  }
  return line.object == ObjectVerb::Object::kNexthop ? read_nexthop(cursor, line.verb, context, out)
                                                     : read_route(cursor, line.verb, context, out);
}

}  // namespace
}  // namespace parse

std::variant<Command, ParseError> parse_command(std::span<const Word> words, const ParseContext& context) {
  auto parsed = parse_object_verb(words);
  if (auto* error = std::get_if<ParseError>(&parsed)) return std::move(*error);
  const ObjectVerb& line = std::get<ObjectVerb>(parsed);
  if (line.object == ObjectVerb::Object::kOther)
    return ParseError{
        .error = {.code = ErrorCode::kInvalidArgument,
                  .message = line.other + ": per-host object, not stored",
                  .hint = "`route` and `nexthop` lines are stored; --skip-other passes over the others"},
        .line = words[0].line,
        .column = words[0].column};
  parse::Cursor cursor(line.object == ObjectVerb::Object::kNexthop ? "nexthop" : "route", words,
                       line.arguments);
  std::variant<Command, ParseError> result;
  if (!parse::read_line(cursor, line, words[line.arguments - 1], context, &std::get<Command>(result)))
    result = cursor.error();
  return result;
}

}  // namespace waypost
