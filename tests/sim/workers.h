// Seeds spread over processes: one that ends by a failed check is a red seed, and the others go on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace waypost::sim {

struct WorkOptions {
  uint64_t first = 1;
  uint64_t count = 100;
  uint64_t jobs = 2;
  bool twice = false;
  bool stop_at_first = false;
  std::set<std::string> without;
};

struct WorkResult {
  std::map<uint64_t, std::string> red;
  std::map<std::string, uint64_t> reached;
  uint64_t done = 0;
  uint64_t operations = 0;
  double virtual_seconds = 0;
  double seconds = 0;
};

WorkResult run_seeds(const WorkOptions& options);

// Bugs of tests/mutants' kind that the simulation must find (FAULTS.md A.2.6).
const std::vector<std::string>& planted_bugs();

}  // namespace waypost::sim
