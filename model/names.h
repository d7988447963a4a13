// Names of tables, protocols and scopes, both ways. The defaults are iproute2's built-in ones; the CLI adds
// its own host's files (SEMANTICS.md A6). Only numbers are stored and sent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace waypost {

class NumberNames {
 public:
  void add(uint32_t number, std::string name);  // a later name of a number wins, as in iproute2
  std::optional<uint32_t> number(std::string_view name) const;
  // The name, or the number in decimal.
  std::string text(uint32_t number) const;

 private:
  std::map<uint32_t, std::string> names_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

struct NameTables {
  NumberNames tables;     // rt_tables: main 254, local 255, default 253
  NumberNames protocols;  // rt_protos: kernel 2, boot 3, static 4, ...; waypost 87
  NumberNames scopes;     // rt_scopes: global 0, link 253, host 254, site 200, nowhere 255
  NumberNames dsfields;   // rt_dsfield

  static NameTables defaults();
};

// Reads lines "NUMBER NAME" with # comments into `names`, as iproute2's files have them. Returns the first
// bad line's number, or 0.
int read_names(std::string_view text, NumberNames& names);

}  // namespace waypost
