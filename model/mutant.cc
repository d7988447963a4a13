#include "model/mutant.h"

#ifdef WAYPOST_MUTANTS

#include <cstdlib>

namespace waypost {

bool mutant(std::string_view name) {
  static const std::string_view named = [] {
    const char* text = std::getenv("WAYPOST_MUTANT");
    return std::string_view(text == nullptr ? "" : text);
  }();
  return name == named;
}

}  // namespace waypost

#endif
