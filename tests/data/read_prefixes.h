// The real prefix sets of this folder, for tests and benches that link model.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "model/check.h"
#include "model/ip.h"

namespace waypost {

// In order, about 900,000 of IPv4 and 160,000 of IPv6. Needs xz in the path.
inline std::vector<Prefix> read_prefixes(const std::string& source_dir, Family family) {
  const std::string path =
      source_dir + "/tests/data/" + (family == Family::kIpv4 ? "ipv4" : "ipv6") + ".txt.xz";
  FILE* const pipe = popen(("xz -dc '" + path + "'").c_str(), "r");
  WAYPOST_CHECK(pipe != nullptr, "xz could not be started");
  std::vector<Prefix> prefixes;
  char line[80];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    line[std::strcspn(line, "\n")] = 0;
    const Result<Prefix> prefix = parse_prefix(line);
    WAYPOST_CHECK(prefix.ok(), "a line of the data is no prefix");
    prefixes.push_back(*prefix);
  }
  WAYPOST_CHECK(pclose(pipe) == 0 && !prefixes.empty(), "the data could not be unpacked");
  return prefixes;
}

}  // namespace waypost
