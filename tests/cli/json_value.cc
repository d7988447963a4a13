#include "tests/cli/json_value.h"

#include <stdexcept>

namespace waypost::cli {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  JsonValue value() {
    skip_blanks();
    const size_t start = at_;
    JsonValue value;
    switch (peek()) {
      case '{':
        value = object();
        break;
      case '[':
        value = array();
        break;
      case '"':
        value.kind = JsonValue::Kind::kString;
        value.text = string();
        break;
      default:
        value = word();
    }
    value.source = text_.substr(start, at_ - start);
    return value;
  }

  void end() {
    skip_blanks();
    if (at_ != text_.size()) fail();
  }

 private:
  [[noreturn]] void fail() { throw std::runtime_error("malformed JSON at byte " + std::to_string(at_)); }
  char peek() {
    if (at_ >= text_.size()) fail();
    return text_[at_];
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  void take(char c) {
    skip_blanks();
    if (peek() != c) fail();
    ++at_;
  }
  bool more(char end) {
    skip_blanks();
    if (peek() == ',') return ++at_, true;
    take(end);
    return false;
  }

  JsonValue object() {
    JsonValue value{.kind = JsonValue::Kind::kObject, .text = {}, .items = {}, .members = {}, .source = {}};
    take('{');
    skip_blanks();
    if (peek() == '}') return ++at_, value;
    do {
      skip_blanks();
      std::string key = string();
      take(':');
      value.members.emplace_back(std::move(key), this->value());
    } while (more('}'));
    return value;
  }

  JsonValue array() {
    JsonValue value{.kind = JsonValue::Kind::kArray, .text = {}, .items = {}, .members = {}, .source = {}};
    take('[');
    skip_blanks();
    if (peek() == ']') return ++at_, value;
    do {
      value.items.push_back(this->value());
    } while (more(']'));
    return value;
  }

  std::string string() {
    take('"');
    std::string text;
    while (peek() != '"') {
      if (peek() == '\\') ++at_;
      text += peek();
      ++at_;
    }
    ++at_;
    return text;
  }

  JsonValue word() {
    JsonValue value;
    while (at_ < text_.size() && std::string_view(",]}: \n").find(text_[at_]) == std::string_view::npos)
      value.text += text_[at_++];
    if (value.text.empty()) fail();
    value.kind = value.text == "null"    ? JsonValue::Kind::kNull
                 : value.text == "true"  ? JsonValue::Kind::kTrue
                 : value.text == "false" ? JsonValue::Kind::kFalse
                                         : JsonValue::Kind::kNumber;
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key, int n) const {
  for (const auto& [name, value] : members)
    if (name == key && n-- == 0) return &value;
  return nullptr;
}

const std::string& JsonValue::string(std::string_view key, int n) const {
  static const std::string empty;
  const JsonValue* value = find(key, n);
  return value == nullptr ? empty : value->text;
}

unsigned long JsonValue::number(std::string_view key, int n) const {
  const JsonValue* value = find(key, n);
  return value == nullptr ? 0 : std::stoul(value->text);
}

JsonValue read_json(std::string_view text) {
  Reader reader(text);
  JsonValue value = reader.value();
  reader.end();
  return value;
}

}  // namespace waypost::cli
