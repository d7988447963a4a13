#include "cli/context.h"

namespace waypost::cli {

int Context::usage(std::string message, std::string hint) const {
  print_error(err, options, {ErrorCode::kInvalidArgument, std::move(message), std::move(hint)}, kExitUsage);
  return kExitUsage;
}

int Context::fail(const Error& error) const {
  const ExitCode code = exit_code_of(error);
  print_error(err, options, error, code);
  return code;
}

std::vector<Word> as_line(Words words) {
  std::vector<Word> line;
  line.reserve(words.size());
  uint32_t column = 1;
  for (const std::string& word : words) {
    line.push_back({.text = word, .line = 1, .column = column});
    column += static_cast<uint32_t>(word.size()) + 1;
  }
  return line;
}

}  // namespace waypost::cli
