// BatchReader: `ip -batch` text to logical lines and words.
#include <algorithm>
#include <cstring>

#include "model/limits.h"
#include "model/parse.h"

namespace waypost {
namespace {

bool is_white(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

Error BatchReader::error_at(size_t offset, const char* words) const {
  const auto behind =
      std::upper_bound(starts_.begin(), starts_.end(), offset,
                       [](size_t wanted, const Start& start) { return wanted < start.offset; });
  const Start& start = *std::prev(behind);
  return {.code = ErrorCode::kInvalidArgument,
          .message = "line " + std::to_string(start.line) + ", column " +
                     std::to_string(offset - start.offset + 1) + ": " + words};
}

Status BatchReader::take_line(std::string_view& rest, bool* complete) {
  if (fresh_) {
    text_.clear();
    starts_.assign(1, Start{.offset = 0, .line = line_number_});
    fresh_ = false;
  }
  const size_t newline = rest.find('\n');
  const std::string_view part = rest.substr(0, newline);
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  if (text_.size() + part.size() > limits::kMaxBatchLineBytes)
    return error_at(0, "the line is longer than 64 KiB");
  text_.append(part);
  if (newline == std::string_view::npos) return {};
  return end_physical_line(true, complete);
}

Status BatchReader::take_end(bool* complete) {
  if (fresh_) return {};
  if (starts_.size() > 1 && starts_.back().offset == text_.size())
    return error_at(text_.size(), "the line that continues the one before is missing");
  return end_physical_line(false, complete);
}

Status BatchReader::end_physical_line(bool newline, bool* complete) {
  const size_t begin = starts_.back().offset;
  const size_t length = text_.size() - begin;
  if (const void* nul = std::memchr(text_.data() + begin, 0, length))
    return error_at(static_cast<size_t>(static_cast<const char*>(nul) - text_.data()), "a NUL byte");
  if (newline) ++line_number_;
  if (const void* comment = std::memchr(text_.data() + begin, '#', length)) {
    text_.resize(static_cast<size_t>(static_cast<const char*>(comment) - text_.data()));
  } else if (newline && length > 0 && text_.back() == '\\') {
    text_.pop_back();
    starts_.push_back({.offset = text_.size(), .line = line_number_});
    return {};
  }
  fresh_ = true;
  *complete = true;
  return cut_words();
}

Status BatchReader::cut_words() {
  words_.clear();
  const std::string_view text = text_;
  auto start = starts_.begin();
  for (size_t at = 0; at < text.size();) {
    if (is_white(text[at])) {
      ++at;
      continue;
    }
    const bool quoted = text[at] == '\'' || text[at] == '"';
    const size_t begin = quoted ? at + 1 : at;
    size_t end = begin;
    while (end < text.size() && (quoted ? text[end] != text[at] : !is_white(text[end]))) ++end;
    if (quoted && end == text.size()) return error_at(at, "a quote that does not end");
    while (std::next(start) != starts_.end() && std::next(start)->offset <= begin) ++start;
    words_.push_back({.text = text.substr(begin, end - begin),
                      .line = start->line,
                      .column = static_cast<uint32_t>(begin - start->offset + 1)});
    at = quoted ? end + 1 : end;
  }
  return {};
}

}  // namespace waypost
