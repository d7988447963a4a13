#include "tests/cli/live_cli.h"

#include <algorithm>
#include <cstdio>

namespace waypost::cli {

LiveCli::Printed LiveCli::waypost(std::vector<std::string> words, const std::string& input) {
  words.insert(words.begin(), {"--endpoints", daemon_.endpoint()});
  std::FILE* file = std::tmpfile();
  std::fwrite(input.data(), 1, input.size(), file);
  std::fflush(file);
  std::rewind(file);
  const Host host{.environment = [](const char*) { return std::string(); },
                  .links = [] { return std::vector<std::pair<uint32_t, std::string>>(); },
                  .standard_input = ::fileno(file),
                  .program_directory = {},
                  .author = "operator@host"};
  Output out, err;
  Printed printed;
  printed.code = run(words, host, NameTables::defaults(), real_remotes(), out, err);
  printed.out = out.text();
  printed.err = err.text();
  std::fclose(file);
  return printed;
}

long LiveCli::count(const std::string& object) {
  const Printed printed = waypost({object, "list"});
  return std::count(printed.out.begin(), printed.out.end(), '\n');
}

}  // namespace waypost::cli
