// iproute2's words to commands: one line of an `ip -batch` file, or the words of one command. Pure; every
// refusal names the column of the word that is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/names.h"
#include "model/transaction.h"

namespace waypost {

struct Word {
  std::string text;
  uint32_t line = 1;    // 1-based, of the file (a continued line keeps each word's own)
  uint32_t column = 1;  // 1-based, in bytes
};

// Cuts `ip -batch` text into logical lines: `#` comments, `\` at the end continues, quotes "..." and '...' as
// iproute2's makeargs takes them. Feed it pieces of any size; complete logical lines come out as they end.
// Holds at most one logical line (64 KiB; longer is an error).
class BatchReader {
 public:
  struct Line {
    std::vector<Word> words;  // never empty
  };
  // Calls `line` for each logical line that ends within `piece`. kInvalidArgument: a line too long or a NUL
  // byte, with its line number in the message.
  template <typename Visitor>
  Status feed(std::string_view piece, Visitor&& line);
  template <typename Visitor>
  Status finish(Visitor&& line);  // the last line may lack its newline

 private:
  Status take_character(char c, bool* line_complete);
  Line line_;
  std::string word_;
  uint32_t line_number_ = 1;
  uint32_t column_ = 1;
  uint32_t word_line_ = 1;
  uint32_t word_column_ = 1;
  size_t line_bytes_ = 0;
  enum class State : uint8_t {
    kBetween,
    kWord,
    kSingleQuote,
    kDoubleQuote,
    kComment,
    kBackslash
  } state_ = State::kBetween;
};

struct ParseContext {
  const NameTables* names = nullptr;
  std::optional<Family> family;  // -4 / -6
  bool cascade = false;          // `nexthop del` takes its routes along
};

struct ParseError {
  Error error;
  uint32_t line = 1;
  uint32_t column = 1;
};

// What a line asks for. Verbs that only read are told apart here, but their filters belong to the CLI.
struct ObjectVerb {
  enum class Object : uint8_t { kNexthop, kRoute, kOther } object = Object::kOther;
  enum class Verb : uint8_t {
    kAdd,
    kReplace,
    kChange,
    kAppend,
    kPrepend,
    kTest,
    kDelete,
    kShow,
    kGet,
    kFlush,
    kSave,
    kRestore,
    kMonitor,
    kBucket,
    kHelp
  } verb = Verb::kShow;
  std::string other;     // the object's full name where it is kOther: "link", "address", "rule", ...
  size_t arguments = 0;  // index of the first word behind object and verb
};

// Resolves abbreviations the way `ip` does ("r a", "nex add", "ro", "chg", "lst"). An unknown object or verb
// is an error with "did you mean".
std::variant<ObjectVerb, ParseError> parse_object_verb(std::span<const Word> words);

// A changing line (add, replace, change, append, prepend, delete; test means "would add succeed": refused by
// name in batches).
std::variant<Command, ParseError> parse_command(std::span<const Word> words, const ParseContext& context);

// Text in iproute2's words that parse_command takes back: what `show` prints for the row and what errors
// echo. `routes` print inline where `paths` is not empty.
std::string nexthop_words(const NexthopObject& object, const NameTables& names);
std::string route_words(const Route& route, std::span<const InlinePath> paths, const NameTables& names);
// The whole line: "route add 10.0.0.0/8 nhid 7".
std::string command_words(const Command& command, const NameTables& names);

template <typename Visitor>
Status BatchReader::feed(std::string_view piece, Visitor&& line) {
  for (char c : piece) {
    bool complete = false;
    if (Status status = take_character(c, &complete); !status.ok()) return status;
    if (complete && !line_.words.empty()) {
      line(line_);
      line_.words.clear();
    }
  }
  return {};
}

template <typename Visitor>
Status BatchReader::finish(Visitor&& line) {
  return feed("\n", line);
}

}  // namespace waypost
