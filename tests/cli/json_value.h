// A small JSON reader for tests: unlike ordinary ones it keeps the order of keys and keys that stand twice in
// one object, as `ip` prints them (an encap's "id" beside the nexthop's).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waypost::cli {

struct JsonValue {
  enum class Kind { kNull, kTrue, kFalse, kNumber, kString, kArray, kObject } kind = Kind::kNull;
  std::string text;                                        // numbers and strings
  std::vector<JsonValue> items;                            // arrays
  std::vector<std::pair<std::string, JsonValue>> members;  // objects
  std::string_view source;                                 // the bytes it was read from

  // The n-th value of a key (0 the first), or null.
  const JsonValue* find(std::string_view key, int n = 0) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const std::string& string(std::string_view key, int n = 0) const;  // empty where absent
  unsigned long number(std::string_view key, int n = 0) const;       // 0 where absent
};

// One document; `text` must outlive the value. Throws std::runtime_error on anything malformed.
JsonValue read_json(std::string_view text);

}  // namespace waypost::cli
