// The build without DPDK.
#include "tests/bench/trie_contender.h"

namespace waypost::bench {

std::vector<std::unique_ptr<Contender>> make_rivals(Family, size_t) {
  return {};
}

}  // namespace waypost::bench
