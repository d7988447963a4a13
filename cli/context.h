// What one command has in hand: its options, where its words go, and the world around it. main() fills it
// with the real ones, tests with their twins.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "model/names.h"
#include "model/parse.h"

namespace waypost::cli {

// The machine that the command line runs on, behind functions so that tests can have another one.
struct Host {
  Environment environment;
  // Interface indexes and names, as if_nameindex() has them.
  std::function<std::vector<std::pair<uint32_t, std::string>>()> links;
  // A descriptor that was opened for reading, or -1 with errno; "-" is standard input.
  int standard_input = 0;
  std::string program_directory;  // where waypostd stands beside us
  std::string author;             // user@host
};

struct Context {
  const Options& options;
  const NameTables& names;
  const Host& host;
  Output& out;
  Output& err;
  Remote& remote;
  const RemoteFactory& remotes;

  ParseContext parse_context() const {
    return {.names = &names, .family = options.family, .cascade = options.cascade};
  }

  // Each prints its words and returns the exit code.
  int usage(std::string message, std::string hint = {}) const;
  int usage(const Error& error) const { return usage(error.message, error.hint); }
  int fail(const Error& error) const;  // of the server, or of a file: exit_code_of()
};

using Words = std::span<const std::string>;

// The words of one command as the parser takes them: columns count along the command line.
std::vector<Word> as_line(Words words);

// How ip takes abbreviations: `word` is a prefix of `full`.
inline bool matches(std::string_view word, std::string_view full) {
  return !word.empty() && full.starts_with(word);
}

}  // namespace waypost::cli
