// One seed: a few members and clients in a world whose faults the seed chooses, then healed, then held
// against everything that must be so. Deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/hash128.h"

namespace waypost::sim {

struct SeedResult {
  std::string wrong;  // empty: green
  Hash128 trace;
  std::map<std::string, uint64_t> reached;
  std::vector<std::string> faults;  // that the seed switched on
  uint64_t operations = 0;          // that clients asked
  uint64_t virtual_us = 0;
};

// `without`: names of faults that stay off, for finding which ones a red seed needs.
SeedResult run_seed(uint64_t seed, const std::set<std::string>& without = {});

// What must happen somewhere among many seeds, or the simulator is blind.
const std::vector<std::string_view>& must_be_reached();

}  // namespace waypost::sim
