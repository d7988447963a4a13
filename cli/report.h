// What the cluster's commands print: facts (a name and a value a line) and tables, or JSON where -w json or
// -j asks for it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/context.h"

namespace waypost::cli {

using Value = std::variant<std::string, uint64_t, bool>;

struct Column {
  std::string_view key;    // of JSON
  std::string_view title;  // of the table
};

// Rows of the same columns. Text is aligned, numbers to the right; JSON is an array of objects.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Value> row) { rows_.push_back(std::move(row)); }
  size_t size() const { return rows_.size(); }

  // Aligned text, each line behind `indent`.
  std::string text(std::string_view indent = {}) const;
  void print_json(RowWriter& json) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Value>> rows_;
};

// One object: facts, lists of words and tables, in the order in which they were added.
class Report {
 public:
  explicit Report(const Context& context) : context_(context), json_(wants_json(context.options)) {}

  void fact(std::string_view key, std::string_view title, Value value);
  // Shown in text only where it says something.
  void fact_if_any(std::string_view key, std::string_view title, const std::string& value);
  void words(std::string_view key, std::string_view title, const std::vector<std::string>& lines);
  void table(std::string_view key, std::string_view title, Table table);
  void print();

  static bool wants_json(const Options& options) {
    return options.print.json || options.write == WriteFormat::kJson;
  }

 private:
  struct Entry {
    std::string key;
    std::string title;
    std::variant<Value, std::vector<std::string>, Table> body;
    bool hidden_in_text = false;
  };
  std::string text() const;

  const Context& context_;
  const bool json_;
  std::vector<Entry> entries_;
};

// A table on its own.
void print_table(const Context& context, const Table& table);

// JSON options for objects of the cluster.
PrintOptions json_options(const Options& options);

}  // namespace waypost::cli
