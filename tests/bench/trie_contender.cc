#include "tests/bench/trie_contender.h"

#include "kernel_sync/trie/prefix_trie.h"

namespace waypost::bench {

namespace {

using kernel_sync::TrieForest;
using kernel_sync::TrieId;
using kernel_sync::TrieKey;

class Waypost : public Contender {
 public:
  explicit Waypost(Family family) : forest_(family), trie_(forest_.make_trie()) {}

  std::string name() const override { return "waypost"; }
  void insert(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) forest_.put(trie_, key_of(route), route.value);
  }
  void remove(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) forest_.erase(trie_, key_of(route));
  }
  void replace(std::span<const BenchRoute> routes) override { insert(routes); }
  void churn(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) {
      forest_.erase(trie_, key_of(route));
      forest_.put(trie_, key_of(route), route.value);
    }
  }
  uint64_t exact(std::span<const BenchRoute> routes) override {
    uint64_t sum = 0;
    for (const BenchRoute& route : routes) sum += forest_.find(trie_, key_of(route));
    return sum;
  }
  uint64_t longest(std::span<const IpAddress> addresses) override {
    uint64_t sum = 0;
    for (const IpAddress& address : addresses) sum += value_at(address);
    return sum;
  }
  uint64_t longest_chained(std::span<const IpAddress> addresses) override {
    uint64_t sum = 0;
    uint64_t value = 0;
    for (size_t i = 0; i < addresses.size(); ++i) {
      value = value_at(addresses[i + (value >> 40)]);
      sum += value;
    }
    return sum;
  }
  uint64_t longest_bulk(std::span<const IpAddress> addresses) override { return longest(addresses); }
  size_t iterate() override {
    size_t count = 0;
    forest_.walk(trie_, nullptr, [&](const Prefix&, const kernel_sync::TrieRoutes&) {
      ++count;
      return true;
    });
    return count;
  }
  BenchBytes bytes() override {
    const kernel_sync::TrieBytes bytes = forest_.bytes();
    return {static_cast<double>(bytes.live), static_cast<double>(bytes.spans)};
  }

 private:
  TrieKey key_of(const BenchRoute& route) const {
    return {route.prefix, 0, usual_metric(route.prefix.address.family)};
  }
  uint64_t value_at(const IpAddress& address) const {
    const auto match = forest_.longest_match(trie_, address);
    return match ? match->routes[0].value : 0;
  }

  TrieForest forest_;
  TrieId trie_;
};

}  // namespace

std::unique_ptr<Contender> make_waypost(Family family) {
  return std::make_unique<Waypost>(family);
}

}  // namespace waypost::bench
