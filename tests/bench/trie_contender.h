// What the trie bench asks of a routing table, ours or another's. Each call runs a whole loop, so that being
// virtual costs nothing that is measured; keys lie in the order in which they are used.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/ip.h"

namespace waypost::bench {

struct BenchRoute {
  Prefix prefix;
  uint32_t value = 0;
};

struct BenchBytes {
  double live = 0;   // 0: not known
  double total = 0;  // what is taken from the system for it
};

class Contender {
 public:
  virtual ~Contender() = default;

  virtual std::string name() const = 0;
  virtual void insert(std::span<const BenchRoute> routes) = 0;
  virtual void remove(std::span<const BenchRoute> routes) = 0;
  virtual void replace(std::span<const BenchRoute> routes) = 0;
  // Each route taken out and put back.
  virtual void churn(std::span<const BenchRoute> routes) = 0;
  // These return the sum of the values found, which all contenders must agree on.
  virtual uint64_t exact(std::span<const BenchRoute> routes) = 0;
  virtual uint64_t longest(std::span<const IpAddress> addresses) = 0;
  // The same, each address known only when the answer to the one before is.
  virtual uint64_t longest_chained(std::span<const IpAddress> addresses) = 0;
  // 64 at a time where the table has a call for it.
  virtual uint64_t longest_bulk(std::span<const IpAddress> addresses) = 0;
  // The number of routes read in order; 0: cannot.
  virtual size_t iterate() = 0;
  virtual BenchBytes bytes() = 0;
};

std::unique_ptr<Contender> make_waypost(Family family);
// DPDK's tables, with room for this many routes; empty in a build without DPDK. One set at a time may exist.
std::vector<std::unique_ptr<Contender>> make_rivals(Family family, size_t routes);

}  // namespace waypost::bench
