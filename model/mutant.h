// Planted bugs: `if (mutant("name"))` takes the wrong way when the environment names it in WAYPOST_MUTANT, so
// that a test can show that the suite would notice. Only in builds with WAYPOST_MUTANTS; elsewhere it is
// false at compile time.
#pragma once

#include <string_view>

namespace waypost {

#ifdef WAYPOST_MUTANTS
// Reads the environment once.
bool mutant(std::string_view name);
#else
constexpr bool mutant(std::string_view) {
  return false;
}
#endif

}  // namespace waypost
