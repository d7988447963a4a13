// The exit codes of `waypost` (documented in its help) and how an error becomes one, and its words on
// standard error.
#pragma once

#include "cli/options.h"
#include "cli/output.h"
#include "model/result.h"

namespace waypost::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 1,        // usage or syntax
  kExitRefused = 2,      // validation, conflict, not found
  kExitDifferences = 3,  // `diff` or `check` found some, `status` is not healthy
  kExitNotAuthorised = 4,
  kExitNoConnection = 5,
  kExitUnknown = 6,         // timeout, or the outcome is not known
  kExitPartly = 7,          // `-force`: some lines were refused
  kExitNotInstallable = 8,  // stored, but not installable on some node
  kExitInterrupted = 130,
};

// Of what a server answered. kInvalidArgument of a server is a refusal; of our own parsers it is kExitUsage,
// which the caller knows.
ExitCode exit_code_of(const Error& error);

// Where in a file; line 0: nowhere.
struct Place {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

// `error: ...` and `hint: ...`, or with -j one object on a line.
void print_error(Output& err, const Options& options, const Error& error, ExitCode code,
                 const Place& place = {});
// `note: ...`; nothing with -j.
void print_note(Output& err, const Options& options, std::string_view words);

// 1062046 -> "1,062,046"
std::string grouped(uint64_t number);

}  // namespace waypost::cli
