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

// Views into a line buffer or argv: valid as long as that is.
struct Word {
  std::string_view text;
  uint32_t line = 1;    // 1-based, of the file (a continued line keeps each word's own)
  uint32_t column = 1;  // 1-based, in bytes
};

// Cuts `ip -batch` text into logical lines as iproute2 does: `#` cuts a line wherever it stands, a backslash
// at the end joins the next line without a space, a word that begins with ' or " goes to the next such quote.
// Feed it pieces of any size; logical lines come out as they end. Holds at most one logical line (64 KiB;
// longer is an error).
class BatchReader {
 public:
  struct Line {
    std::span<const Word> words;  // never empty; valid only during the visit
  };
  // Calls `line` for each logical line that ends within `piece`. kInvalidArgument, with line and column in
  // the message: a line too long, a NUL byte, a quote that does not end. No more may be fed after an error.
  template <typename Visitor>
  Status feed(std::string_view piece, Visitor&& line);
  // The last line may lack its newline.
  template <typename Visitor>
  Status finish(Visitor&& line);

  // The physical line that the next byte belongs to.
  uint32_t line_number() const { return line_number_; }

 private:
  // Takes from the front of `rest` up to the next newline. True in `complete`: words_ holds a logical line,
  // maybe empty.
  Status take_line(std::string_view& rest, bool* complete);
  Status take_end(bool* complete);
  Status end_physical_line(bool newline, bool* complete);
  Status cut_words();
  Error error_at(size_t offset, const char* words) const;

  // Where a physical line begins in text_.
  struct Start {
    size_t offset = 0;
    uint32_t line = 1;
  };
  std::string text_;
  std::vector<Start> starts_ = {Start{}};
  std::vector<Word> words_;
  uint32_t line_number_ = 1;
  bool fresh_ = true;  // the next byte begins a logical line
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

// The text that `show` prints for a row, as `ip` does: without `-4/-6` a device-only or blackhole nexthop
// says no family, and an IPv6 default route is "default". parse_command takes it back behind object and verb
// (with the family in the context). A route prints inline where `paths` is not empty.
std::string nexthop_words(const NexthopObject& object, const NameTables& names);
std::string route_words(const Route& route, std::span<const InlinePath> paths, const NameTables& names);
// The whole line, such that `ip` takes it too wherever it can say it: "route add 10.0.0.0/8 nhid 7". Guarded
// commands print as the replace or delete that they are.
std::string command_words(const Command& command, const NameTables& names);

// iproute2's word for RTAX number 2..17 ("mtu", "rto_min"); empty for others.
std::string_view route_metric_name(uint8_t number);

template <typename Visitor>
Status BatchReader::feed(std::string_view piece, Visitor&& line) {
  while (!piece.empty()) {
    bool complete = false;
    if (Status status = take_line(piece, &complete); !status.ok()) return status;
    if (complete && !words_.empty()) line(Line{words_});
  }
  return {};
}

template <typename Visitor>
Status BatchReader::finish(Visitor&& line) {
  bool complete = false;
  if (Status status = take_end(&complete); !status.ok()) return status;
  if (complete && !words_.empty()) line(Line{words_});
  return {};
}

}  // namespace waypost
