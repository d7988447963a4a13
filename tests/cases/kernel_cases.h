// KERNEL.md's seventy cases as lines and outcomes, for the parser, the rules of the store and the fake
// kernel.
//
// Each case is decided at commit (a function of the state: the same answer on every node), by the host
// (stored; there it is installed, pending or refused with that kernel's text), or it says something that no
// line can say here.
#pragma once

#include <string_view>
#include <vector>

#include "model/refusal.h"

namespace waypost::test {

enum class DecidedBy : char { kCommit = 'C', kHost = 'H', kNobody = '-' };

enum class LineOutcome {
  kApplied,
  kRefused,     // by apply, with the code of the line
  kNotWritten,  // by the parser: no transaction is made
};

struct KernelCaseLine {
  std::string_view line;
  LineOutcome outcome = LineOutcome::kApplied;
  RefusalCode code = {};  // of kRefused
  bool cascade = false;
};

struct KernelCase {
  int number = 0;
  DecidedBy decided_by = DecidedBy::kCommit;
  std::string_view story;
  std::vector<KernelCaseLine> lines;  // applied in order over the base; nothing of another case is there
};

// 1 = IPv4 via e0, 2 = IPv4 via e1, 3 = IPv6 via e0, 4 = IPv6 via e1, 10 = blackhole.
const std::vector<std::string_view>& kernel_case_base();
const std::vector<KernelCase>& kernel_cases();

}  // namespace waypost::test
