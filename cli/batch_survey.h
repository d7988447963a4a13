// A first look at a batch file before anything of it is applied: how much there is to do, and which lines it
// cannot mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/input_file.h"
#include "model/parse.h"

namespace waypost::cli {

struct OtherLine {
  uint32_t line = 0;
  uint32_t column = 0;
  std::string object;  // "link", "address", "rule", ...
};

struct BatchSurvey {
  uint64_t lines = 0;             // that change a row
  uint64_t reading_lines = 0;     // that are run between transactions: show, get, flush
  uint64_t other_lines = 0;       // of objects that belong to each host
  std::vector<OtherLine> others;  // the first ones
};

// Pure but for the file. Malformed lines are left for the run itself: what stands before them is to be
// applied.
Result<BatchSurvey> survey_batch(InputFile& file);

}  // namespace waypost::cli
