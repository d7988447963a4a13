#include "cli/report.h"

#include <algorithm>

namespace waypost::cli {
namespace {

constexpr std::string_view kGap = "  ";

std::string text_of(const Value& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
  return std::get<std::string>(value);
}

void print_value(RowWriter& json, std::string_view key, const Value& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return json.number(key, "", *number);
  if (const auto* truth = std::get_if<bool>(&value)) return json.raw_value(key, *truth ? "true" : "false");
  json.json_string(key, std::get<std::string>(value));
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string blanks(width - std::min(width, text.size()), ' ');
  return right ? blanks + text : text + blanks;
}

}  // namespace

PrintOptions json_options(const Options& options) {
  return {.json = true, .pretty = options.print.pretty};
}

std::string Table::text(std::string_view indent) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.title.size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_of(row[i]).size());
  std::string out;
  const auto line = [&](const auto& cell, const auto& right) {
    std::string words(indent);
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) words += kGap;
      words += padded(cell(i), widths[i], right(i));
    }
    words.erase(words.find_last_not_of(' ') + 1);
    out += words + "\n";
  };
  const auto is_number = [&](size_t i) {
    return !rows_.empty() && std::holds_alternative<uint64_t>(rows_[0][i]);
  };
  line([&](size_t i) { return std::string(columns_[i].title); }, is_number);
  for (const auto& row : rows_)
    line([&](size_t i) { return text_of(row[i]); },
         [&](size_t i) { return std::holds_alternative<uint64_t>(row[i]); });
  return out;
}

void Table::print_json(RowWriter& json) const {
  for (const auto& row : rows_) {
    json.open_object();
    for (size_t i = 0; i < row.size(); ++i) print_value(json, columns_[i].key, row[i]);
    json.close_object();
  }
}

void Report::fact(std::string_view key, std::string_view title, Value value) {
  entries_.push_back({std::string(key), std::string(title), std::move(value)});
}

void Report::fact_if_any(std::string_view key, std::string_view title, const std::string& value) {
  entries_.push_back({std::string(key), std::string(title), Value(value), value.empty()});
}

void Report::words(std::string_view key, std::string_view title, const std::vector<std::string>& lines) {
  entries_.push_back({std::string(key), std::string(title), lines, lines.empty()});
}

void Report::table(std::string_view key, std::string_view title, Table table) {
  const bool empty = table.size() == 0;
  entries_.push_back({std::string(key), std::string(title), std::move(table), empty});
}

std::string Report::text() const {
  size_t width = 0;
  for (const Entry& entry : entries_)
    if (!entry.hidden_in_text && std::holds_alternative<Value>(entry.body))
      width = std::max(width, entry.title.size());
  std::string out;
  for (const Entry& entry : entries_) {
    if (entry.hidden_in_text) continue;
    if (const auto* value = std::get_if<Value>(&entry.body)) {
      out += padded(entry.title, width, false) + std::string(kGap) + text_of(*value) + "\n";
      continue;
    }
    if (!out.empty()) out += "\n";
    if (!entry.title.empty()) out += entry.title + "\n";
    if (const auto* lines = std::get_if<std::vector<std::string>>(&entry.body)) {
      for (const std::string& line : *lines) out += std::string(kGap) + line + "\n";
    } else {
      out += std::get<Table>(entry.body).text(entry.title.empty() ? "" : kGap);
    }
  }
  return out;
}

void Report::print() {
  if (!json_) {
    context_.out.put(text());
    return context_.out.flush();
  }
  RowWriter json(context_.out, json_options(context_.options));
  json.open_object();
  for (const Entry& entry : entries_) {
    if (const auto* value = std::get_if<Value>(&entry.body)) {
      print_value(json, entry.key, *value);
      continue;
    }
    json.open_array(entry.key);
    if (const auto* lines = std::get_if<std::vector<std::string>>(&entry.body))
      for (const std::string& line : *lines) json.element(line);
    if (const auto* table = std::get_if<Table>(&entry.body)) table->print_json(json);
    json.close_array();
  }
  json.close_object();
  json.end_document();
  context_.out.flush();
}

void print_table(const Context& context, const Table& table) {
  if (!Report::wants_json(context.options)) {
    context.out.put(table.text());
    return context.out.flush();
  }
  RowWriter json(context.out, json_options(context.options));
  json.open_array();
  table.print_json(json);
  json.close_array();
  json.end_document();
  context.out.flush();
}

}  // namespace waypost::cli
