// usage: history_check FILE...: are the clients' histories (JSON lines, tests/sim/history.h), taken together,
// linearizable? For what clients of a real cluster wrote down.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/sim/linearizability.h"

int main(int argc, char** argv) {
  using namespace waypost::sim;
  std::vector<Operation> operations;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i]);
    std::string line;
    for (size_t number = 1; std::getline(file, line); ++number) {
      const auto operation = parse_json_line(line);
      if (!operation.ok()) {
        std::fprintf(stderr, "error: %s:%zu: %s\n", argv[i], number, operation.error().message.c_str());
        return 1;
      }
      operations.push_back(*operation);
    }
  }
  if (operations.empty()) {
    std::fprintf(stderr, "error: there is no operation to check\n");
    return 1;
  }
  const Verdict verdict = check_linearizable(operations);
  std::printf("%zu operations, %lu windows, %lu undecided: %s\n", operations.size(),
              static_cast<unsigned long>(verdict.windows), static_cast<unsigned long>(verdict.undecided),
              verdict.of == Verdict::Of::kViolation ? verdict.words.c_str() : "no violation");
  // One that gives up is no proof, so it is red as well.
  return verdict.of == Verdict::Of::kLinearizable ? 0 : 1;
}
