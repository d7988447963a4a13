// WAYPOST_CHECK: impossible states end the process, in release builds too (STYLE.md's habit of a
// replicated state machine: a wrong answer is worse than none). Expected failures are Result<T>.
#pragma once

namespace waypost {

// Prints the place and the words to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* words);

}  // namespace waypost

#define WAYPOST_CHECK(condition, words)                               \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::waypost::check_failed(__FILE__, __LINE__, #condition, words); \
  } while (false)
