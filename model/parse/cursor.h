// Walks the words of one line and keeps the first thing that is wrong with them. The readers of model/parse
// use it; they return false as soon as something is, and the caller returns error().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/parse.h"

namespace waypost::parse {

// A word of the grammar. Abbreviations are taken unless `exact`; where several fit, the first in its table is
// meant, so the tables of one initial letter stand in iproute2's order.
template <typename Id>
struct Keyword {
  std::string_view word;
  bool exact = false;
  Id id = {};
};

template <typename Id, size_t count>
const Keyword<Id>* find_keyword(const Keyword<Id> (&table)[count], std::string_view text) {
  if (text.empty()) return nullptr;
  for (const Keyword<Id>& keyword : table)
    if (keyword.word[0] == text[0] && (keyword.exact ? keyword.word == text : keyword.word.starts_with(text)))
      return &keyword;
  return nullptr;
}

// "did you mean ...?" for the candidate at most two edits away, else nothing.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> candidates);

template <typename Id, size_t count>
std::string did_you_mean(std::string_view text, const Keyword<Id> (&table)[count]) {
  std::string_view words[count];
  for (size_t i = 0; i < count; ++i) words[i] = table[i].word;
  return did_you_mean(text, words);
}

class Cursor {
 public:
  // `object` opens every message: "route", "nexthop".
  Cursor(std::string_view object, std::span<const Word> words, size_t at)
      : object_(object), words_(words), at_(at) {}

  bool at_end() const { return at_ == words_.size(); }
  const Word& peek() const { return words_[at_]; }
  const Word& take() { return words_[at_++]; }
  // The word behind `keyword`; null and an error at the end of the line.
  const Word* value(const Word& keyword);

  // All return false: `return cursor.fail(...)`.
  bool fail(const Word& at, std::string message, std::string hint = {});
  bool fail(const Word& at, const Error& error) { return fail(at, error.message, error.hint); }
  // Behind the last word: something is missing.
  bool fail_at_end(std::string message, std::string hint = {});
  ParseError error() const;

  // `what` is "a metric": "'x' is not a metric (0 to 4294967295)".
  bool number(const Word& keyword, const char* what, uint64_t first, uint64_t last, uint64_t* out);
  // A number, or a name of the table.
  bool named(const Word& keyword, const char* what, const NumberNames& names, uint64_t last, uint32_t* out);
  // A tos: a name, or hexadecimal with or without 0x.
  bool dsfield(const Word& keyword, const NumberNames& names, uint8_t* out);
  // An address as `ip` takes it: IPv4 also in its short forms. `family` where it must be of one.
  bool address(const Word& word, std::optional<Family> family, IpAddress* out);
  // `lock` where it stands next.
  bool take_lock();

 private:
  std::string_view object_;
  std::span<const Word> words_;
  size_t at_;
  std::optional<ParseError> error_;
};

std::string quoted(std::string_view text);

}  // namespace waypost::parse
