// One row as `ip` prints it, in both of its forms: words for people, or JSON (compact or pretty). The
// printers call the same functions for both, so the two can never differ in what they say, only in form.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/output.h"
#include "model/ip.h"

namespace waypost::cli {

enum class Colour : uint8_t { kNone, kInterface, kIpv4, kIpv6 };
enum class ColourScheme : uint8_t {
  kOff,
  kLight,
  kDark
};  // dark: for terminals with a dark background (COLORFGBG)

struct PrintOptions {
  bool json = false;      // -j
  bool pretty = false;    // -p
  bool details = false;   // -d
  bool one_line = false;  // -o
  bool numeric = false;   // -N: numbers instead of names
  ColourScheme colour = ColourScheme::kOff;
};

constexpr Colour colour_of(Family family) {
  return family == Family::kIpv4 ? Colour::kIpv4 : Colour::kIpv6;
}

class RowWriter {
 public:
  RowWriter(Output& out, const PrintOptions& options) : out_(out), options_(options) {}

  bool json() const { return options_.json; }
  const PrintOptions& options() const { return options_; }

  // `"key":"value"`, or `word value ` (only `value ` where word is empty).
  void string(std::string_view key, std::string_view word, std::string_view value,
              Colour colour = Colour::kNone);
  void address(std::string_view key, std::string_view word, const IpAddress& value);
  void number(std::string_view key, std::string_view word, uint64_t value);
  // `"key":null`, or the words as they are.
  void null(std::string_view key, std::string_view words);
  void truth(std::string_view key, std::string_view words);
  // Words that only people see: separators, brackets.
  void text(std::string_view words) {
    if (!options_.json) out_.put(words);
  }
  void coloured(Colour colour, std::string_view words);
  // What only JSON says: a string, or a value that is written as it is.
  void json_string(std::string_view key, std::string_view value);
  void raw_value(std::string_view key, std::string_view value);

  void open_object(std::string_view key = {}) { open('{', key); }
  void close_object() { close('}'); }
  // The next open_object() is the value of this key.
  void name_next(std::string_view key);
  void open_array(std::string_view key = {}) { open('[', key); }
  void close_array() { close(']'); }
  // An element of an array of strings.
  void element(std::string_view value);

  // The line break before a continued line; `\` where everything stands in one line.
  void new_line() { text(options_.one_line ? "\\" : "\n"); }
  // Behind a row of the text form.
  void end_row() {
    text("\n");
    out_.end_row();
  }
  // Ends a JSON document.
  void end_document() {
    if (options_.json) out_.put('\n');
  }

 private:
  void open(char bracket, std::string_view key);
  void close(char bracket);
  void name(std::string_view key);
  void quoted(std::string_view value);
  void indent();
  void colour_on(Colour colour);
  void colour_off(Colour colour);

  Output& out_;
  const PrintOptions options_;
  uint32_t depth_ = 0;
  char separator_ = '\0';  // what stands before the next name or value
};

}  // namespace waypost::cli
