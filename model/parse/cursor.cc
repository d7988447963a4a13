#include "model/parse/cursor.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "model/number.h"

namespace waypost::parse {
namespace {

constexpr size_t kMostEdits = 2;
constexpr size_t kLongestSuggested = 24;

// How many letters must be changed, added, left out or swapped with the next one. Both at most
// kLongestSuggested long.
size_t edit_distance(std::string_view from, std::string_view to) {
  size_t rows[3][kLongestSuggested + 1];
  size_t *before = rows[0], *above = rows[1], *row = rows[2];
  std::iota(above, above + to.size() + 1, size_t{0});
  for (size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      const bool same = from[i - 1] == to[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    size_t* const free_row = before;
    before = above;
    above = row;
    row = free_row;
  }
  return above[to.size()];
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  out.append(text);
  out += '\'';
  return out;
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> candidates) {
  std::string_view best;
  if (text.size() > kLongestSuggested) return {};
  // A short word has little to be recognised by.
  size_t bound = std::min(kMostEdits, text.size() / 2) + 1;
  for (std::string_view candidate : candidates) {
    WAYPOST_CHECK(candidate.size() <= kLongestSuggested, "a word of the grammar is longer than a suggestion");
    const size_t longer = std::max(text.size(), candidate.size());
    if (longer - std::min(text.size(), candidate.size()) >= bound) continue;
    const size_t distance = edit_distance(text, candidate);
    if (distance >= bound) continue;
    bound = distance;
    best = candidate;
  }
  return best.empty() ? std::string() : "did you mean " + quoted(best) + "?";
}

const Word* Cursor::value(const Word& keyword) {
  if (!at_end()) return &take();
  fail_at_end(quoted(keyword.text) + " needs a value, and the line ends here");
  return nullptr;
}

bool Cursor::fail_at_end(std::string message, std::string hint) {
  Word end = words_.back();
  end.column += static_cast<uint32_t>(end.text.size());
  return fail(end, std::move(message), std::move(hint));
}

bool Cursor::fail(const Word& at, std::string message, std::string hint) {
  if (error_) return false;
  std::string words(object_);
  words += ": ";
  words += message;
  error_ = ParseError{
      .error = {.code = ErrorCode::kInvalidArgument, .message = std::move(words), .hint = std::move(hint)},
      .line = at.line,
      .column = at.column};
  return false;
}

ParseError Cursor::error() const {
  WAYPOST_CHECK(error_.has_value(), "a reader failed without a reason");
  return *error_;
}

bool Cursor::number(const Word& keyword, const char* what, uint64_t first, uint64_t last, uint64_t* out) {
  const Word* word = value(keyword);
  if (word == nullptr) return false;
  const auto number = parse_number(word->text, last);
  if (!number || *number < first)
    return fail(*word, quoted(word->text) + " is not " + what + " (" + std::to_string(first) + " to " +
                           std::to_string(last) + ")");
  *out = *number;
  return true;
}

bool Cursor::named(const Word& keyword, const char* what, const NumberNames& names, uint64_t last,
                   uint32_t* out) {
  const Word* word = value(keyword);
  if (word == nullptr) return false;
  if (const auto known = names.number(word->text); known && *known <= last) {
    *out = *known;
    return true;
  }
  const auto number = parse_number(word->text, last);
  if (!number)
    return fail(*word,
                quoted(word->text) + " is not " + what + " (a name, or 0 to " + std::to_string(last) + ")",
                "names are read from this host's iproute2 files");
  *out = static_cast<uint32_t>(*number);
  return true;
}

bool Cursor::dsfield(const Word& keyword, const NumberNames& names, uint8_t* out) {
  const Word* word = value(keyword);
  if (word == nullptr) return false;
  if (const auto known = names.number(word->text); known && *known <= UINT8_MAX) {
    *out = static_cast<uint8_t>(*known);
    return true;
  }
  std::string_view digits = word->text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  unsigned number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, 16);
  if (error != std::errc() || stop != end || number > UINT8_MAX)
    return fail(*word, quoted(word->text) + " is not a tos",
                "a name, or 00 to ff: tos is read as hexadecimal");
  *out = static_cast<uint8_t>(number);
  return true;
}

bool Cursor::address(const Word& word, std::optional<Family> family, IpAddress* out) {
  auto parsed = parse_address(word.text);
  if (!parsed.ok() && word.text.find('/') == std::string_view::npos)
    if (const auto short_form = parse_prefix(word.text); short_form.ok()) parsed = short_form->address;
  if (!parsed.ok()) return fail(word, parsed.error());
  if (family && parsed->family != *family)
    return fail(word, quoted(word.text) +
                          (*family == Family::kIpv4 ? " is not an IPv4 address" : " is not an IPv6 address"));
  *out = *parsed;
  return true;
}

bool Cursor::take_lock() {
  if (at_end() || peek().text != "lock") return false;
  take();
  return true;
}

}  // namespace waypost::parse
