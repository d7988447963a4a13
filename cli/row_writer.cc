#include "cli/row_writer.h"

namespace waypost::cli {
namespace {

// The colours of `ip -c`, by Colour, for light and for dark backgrounds.
constexpr std::string_view kLightColours[] = {"", "\033[36m", "\033[35m", "\033[34m"};
constexpr std::string_view kDarkColours[] = {"", "\033[1;36m", "\033[1;35m", "\033[1;34m"};
constexpr std::string_view kColourEnd = "\033[0m";

constexpr bool needs_escape(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

void put_escaped(Output& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.put('\\');
  switch (c) {
    case '"':
    case '\\':
      return out.put(c);
    case '\n':
      return out.put('n');
    case '\r':
      return out.put('r');
    case '\t':
      return out.put('t');
    default:
      out.put("u00");
      out.put(kHex[static_cast<unsigned char>(c) >> 4]);
      return out.put(kHex[c & 15]);
  }
}

}  // namespace

void RowWriter::string(std::string_view key, std::string_view word, std::string_view value, Colour colour) {
  if (options_.json) {
    name(key);
    return quoted(value);
  }
  if (!word.empty()) {
    out_.put(word);
    out_.put(' ');
  }
  colour_on(colour);
  out_.put(value);
  out_.put(' ');
  colour_off(colour);
}

void RowWriter::address(std::string_view key, std::string_view word, const IpAddress& value) {
  char text[48];
  const char* end = write_address(value, text);
  string(key, word, {text, static_cast<size_t>(end - text)}, colour_of(value.family));
}

void RowWriter::number(std::string_view key, std::string_view word, uint64_t value) {
  if (options_.json) {
    name(key);
    return out_.put_number(value);
  }
  if (!word.empty()) {
    out_.put(word);
    out_.put(' ');
  }
  out_.put_number(value);
  out_.put(' ');
}

void RowWriter::null(std::string_view key, std::string_view words) {
  if (!options_.json) return out_.put(words);
  name(key);
  out_.put("null");
}

void RowWriter::truth(std::string_view key, std::string_view words) {
  if (!options_.json) return out_.put(words);
  name(key);
  out_.put("true");
}

void RowWriter::coloured(Colour colour, std::string_view words) {
  colour_on(colour);
  out_.put(words);
  colour_off(colour);
}

void RowWriter::json_string(std::string_view key, std::string_view value) {
  if (!options_.json) return;
  name(key);
  quoted(value);
}

void RowWriter::name_next(std::string_view key) {
  if (!options_.json) return;
  name(key);
  separator_ = '\0';
}

void RowWriter::raw_value(std::string_view key, std::string_view value) {
  name(key);
  out_.put(value);
}

void RowWriter::element(std::string_view value) {
  if (separator_ != '\0') out_.put(separator_);
  separator_ = ',';
  quoted(value);
}

// `ip`'s pretty form: names on lines of their own, an array's bracket followed and preceded by a space.
void RowWriter::open(char bracket, std::string_view key) {
  if (!options_.json) return;
  if (!key.empty()) {
    name(key);
  } else if (separator_ != '\0') {
    out_.put(separator_);
  }
  out_.put(bracket);
  if (bracket == '[' && options_.pretty) out_.put(' ');
  ++depth_;
  separator_ = '\0';
}

void RowWriter::close(char bracket) {
  if (!options_.json) return;
  --depth_;
  if (options_.pretty && bracket == ']') {
    if (separator_ != '\0') out_.put(' ');
  } else if (options_.pretty && separator_ != '\0') {
    indent();
  }
  out_.put(bracket);
  separator_ = ',';
}

void RowWriter::name(std::string_view key) {
  if (separator_ != '\0') out_.put(separator_);
  if (options_.pretty) indent();
  out_.put('"');
  out_.put(key);
  out_.put(options_.pretty ? std::string_view("\": ") : std::string_view("\":"));
  separator_ = ',';
}

void RowWriter::quoted(std::string_view value) {
  out_.put('"');
  size_t plain = 0;
  for (size_t at = 0; at < value.size(); ++at) {
    if (!needs_escape(value[at])) continue;
    out_.put(value.substr(plain, at - plain));
    put_escaped(out_, value[at]);
    plain = at + 1;
  }
  out_.put(value.substr(plain));
  out_.put('"');
}

void RowWriter::indent() {
  out_.put('\n');
  for (uint32_t level = 0; level < depth_; ++level) out_.put("    ");
}

void RowWriter::colour_on(Colour colour) {
  if (options_.colour == ColourScheme::kOff || colour == Colour::kNone) return;
  const auto at = static_cast<size_t>(colour);
  out_.put(options_.colour == ColourScheme::kDark ? kDarkColours[at] : kLightColours[at]);
}

void RowWriter::colour_off(Colour colour) {
  if (options_.colour != ColourScheme::kOff && colour != Colour::kNone) out_.put(kColourEnd);
}

}  // namespace waypost::cli
