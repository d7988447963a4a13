// Is there one order of the operations, each between its call and its return, that explains every answer? The
// search of Wing and Gong with Lowe's cache: it looks at answers and times alone, at no position or revision,
// and so does not trust what it checks. Pure; the store must have been empty at the start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/history.h"

namespace waypost::sim {

struct Verdict {
  enum class Of : uint8_t { kLinearizable, kViolation, kUndecided };
  Of of = Of::kLinearizable;
  std::string words;     // where no order was found: the operations around it
  uint64_t windows = 0;  // sets of keys that were checked apart from each other
  uint64_t undecided = 0;
};

// Operations that share a key, directly or through others, are checked together; one such set gives up
// (kUndecided) after `step_limit` steps.
Verdict check_linearizable(const std::vector<Operation>& operations, uint64_t step_limit = 2'000'000);

}  // namespace waypost::sim
