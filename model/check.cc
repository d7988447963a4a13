#include "model/check.h"

#include <cstdio>
#include <cstdlib>

namespace waypost {

void check_failed(const char* file, int line, const char* condition, const char* words) {
  std::fprintf(stderr, "%s:%d: impossible state: %s (%s)\n", file, line, words, condition);
  std::abort();
}

}  // namespace waypost
