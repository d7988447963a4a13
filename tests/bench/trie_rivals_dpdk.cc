// DPDK's rte_rib, rte_fib (DIR24_8 or trie, 4-byte next hops) and their IPv6 twins as contenders.
// DPDK runs without huge pages, within this process.
#include <rte_eal.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_malloc.h>
#include <rte_rib.h>
#include <rte_rib6.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/check.h"
#include "tests/bench/trie_contender.h"

namespace waypost::bench {

namespace {

// More than the tables need at once; without huge pages it is only address space until used.
char kMegabytes[] = "6144";

void start_dpdk() {
  static bool started = false;
  if (started) return;
  static char words[][24] = {"trie_bench",     "--no-huge",     "-m", "", "--no-pci", "--no-shconf",
                             "--no-telemetry", "--log-level=3", "-l", "0"};
  std::strcpy(words[3], kMegabytes);
  static char* arguments[std::size(words)];
  for (size_t i = 0; i < std::size(words); ++i) arguments[i] = words[i];
  WAYPOST_CHECK(rte_eal_init(static_cast<int>(std::size(words)), arguments) >= 0, "DPDK did not start");
  started = true;
}

double heap_bytes() {
  rte_malloc_socket_stats stats;
  return rte_malloc_get_socket_stats(0, &stats) == 0 ? static_cast<double>(stats.heap_allocsz_bytes) : 0;
}

uint32_t host_order(const IpAddress& address) {
  uint32_t word;
  std::memcpy(&word, address.bytes.data(), sizeof word);
  return __builtin_bswap32(word);
}

// The calls of the two families under one name.
struct Rib4 {
  using Table = rte_rib;
  using Node = rte_rib_node;
  static constexpr const char* kName = "rte_rib";
  static Table* make(int nodes) {
    rte_rib_conf conf = {};
    conf.max_nodes = nodes;
    return rte_rib_create("bench4", 0, &conf);
  }
  static void free(Table* table) { rte_rib_free(table); }
  static Node* insert(Table* t, const Prefix& p) {
    return rte_rib_insert(t, host_order(p.address), p.length);
  }
  static void remove(Table* t, const Prefix& p) { rte_rib_remove(t, host_order(p.address), p.length); }
  static Node* exact(Table* t, const Prefix& p) {
    return rte_rib_lookup_exact(t, host_order(p.address), p.length);
  }
  static Node* longest(Table* t, const IpAddress& a) { return rte_rib_lookup(t, host_order(a)); }
  static Node* next(Table* t, Node* last) { return rte_rib_get_nxt(t, 0, 0, last, RTE_RIB_GET_NXT_ALL); }
  static void set(Node* node, uint64_t value) { rte_rib_set_nh(node, value); }
  static uint64_t get(Node* node) {
    uint64_t value = 0;
    rte_rib_get_nh(node, &value);
    return value;
  }
};

struct Rib6 {
  using Table = rte_rib6;
  using Node = rte_rib6_node;
  static constexpr const char* kName = "rte_rib6";
  static Table* make(int nodes) {
    rte_rib6_conf conf = {};
    conf.max_nodes = nodes;
    return rte_rib6_create("bench6", 0, &conf);
  }
  static void free(Table* table) { rte_rib6_free(table); }
  static Node* insert(Table* t, const Prefix& p) {
    return rte_rib6_insert(t, p.address.bytes.data(), p.length);
  }
  static void remove(Table* t, const Prefix& p) { rte_rib6_remove(t, p.address.bytes.data(), p.length); }
  static Node* exact(Table* t, const Prefix& p) {
    return rte_rib6_lookup_exact(t, p.address.bytes.data(), p.length);
  }
  static Node* longest(Table* t, const IpAddress& a) { return rte_rib6_lookup(t, a.bytes.data()); }
  static Node* next(Table* t, Node* last) {
    static const uint8_t kZero[16] = {};
    return rte_rib6_get_nxt(t, kZero, 0, last, RTE_RIB6_GET_NXT_ALL);
  }
  static void set(Node* node, uint64_t value) { rte_rib6_set_nh(node, value); }
  static uint64_t get(Node* node) {
    uint64_t value = 0;
    rte_rib6_get_nh(node, &value);
    return value;
  }
};

struct Fib4 {
  using Table = rte_fib;
  using Rib = Rib4;
  using Key = uint32_t;
  static constexpr const char* kName = "rte_fib";
  static Table* make(int nodes) {
    rte_fib_conf conf = {};
    conf.type = RTE_FIB_DIR24_8;
    conf.default_nh = 0;
    conf.max_routes = nodes;
    conf.dir24_8.nh_sz = RTE_FIB_DIR24_8_4B;
    conf.dir24_8.num_tbl8 = 32'768;
    return rte_fib_create("bench4fib", 0, &conf);
  }
  static void free(Table* table) { rte_fib_free(table); }
  static int add(Table* t, const Prefix& p, uint64_t v) {
    return rte_fib_add(t, host_order(p.address), p.length, v);
  }
  static void remove(Table* t, const Prefix& p) { rte_fib_delete(t, host_order(p.address), p.length); }
  static Rib4::Table* rib(Table* t) { return rte_fib_get_rib(t); }
  static Key key(const IpAddress& address) { return host_order(address); }
  static void lookup(Table* t, Key* keys, uint64_t* values, unsigned count) {
    rte_fib_lookup_bulk(t, keys, values, static_cast<int>(count));
  }
};

struct Fib6 {
  using Table = rte_fib6;
  using Rib = Rib6;
  struct Key {
    uint8_t bytes[16];
  };
  static constexpr const char* kName = "rte_fib6";
  static Table* make(int nodes) {
    rte_fib6_conf conf = {};
    conf.type = RTE_FIB6_TRIE;
    conf.default_nh = 0;
    conf.max_routes = nodes;
    conf.trie.nh_sz = RTE_FIB6_TRIE_4B;
    conf.trie.num_tbl8 = 262'144;
    return rte_fib6_create("bench6fib", 0, &conf);
  }
  static void free(Table* table) { rte_fib6_free(table); }
  static int add(Table* t, const Prefix& p, uint64_t v) {
    return rte_fib6_add(t, p.address.bytes.data(), p.length, v);
  }
  static void remove(Table* t, const Prefix& p) { rte_fib6_delete(t, p.address.bytes.data(), p.length); }
  static Rib6::Table* rib(Table* t) { return rte_fib6_get_rib(t); }
  static Key key(const IpAddress& address) {
    Key key;
    std::memcpy(key.bytes, address.bytes.data(), sizeof key.bytes);
    return key;
  }
  static void lookup(Table* t, Key* keys, uint64_t* values, unsigned count) {
    rte_fib6_lookup_bulk(t, reinterpret_cast<uint8_t(*)[16]>(keys), values, static_cast<int>(count));
  }
};

template <class Rib>
class RibContender : public Contender {
 public:
  explicit RibContender(size_t routes) {
    const double before = heap_bytes();
    table_ = Rib::make(static_cast<int>(2 * routes));
    taken_ = heap_bytes() - before;
    WAYPOST_CHECK(table_ != nullptr, "DPDK made no rib");
  }
  ~RibContender() override { Rib::free(table_); }

  std::string name() const override { return Rib::kName; }
  void insert(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) put(route);
  }
  void remove(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) Rib::remove(table_, route.prefix);
  }
  void replace(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) Rib::set(Rib::exact(table_, route.prefix), route.value);
  }
  void churn(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) {
      Rib::remove(table_, route.prefix);
      put(route);
    }
  }
  uint64_t exact(std::span<const BenchRoute> routes) override {
    uint64_t sum = 0;
    for (const BenchRoute& route : routes) sum += Rib::get(Rib::exact(table_, route.prefix));
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
    // Without the default route, which starts the walk: the data has none.
    size_t count = 0;
    for (typename Rib::Node* node = Rib::next(table_, nullptr); node != nullptr;
         node = Rib::next(table_, node))
      ++count;
    return count;
  }
  BenchBytes bytes() override { return {0, taken_}; }

 private:
  void put(const BenchRoute& route) {
    typename Rib::Node* const node = Rib::insert(table_, route.prefix);
    WAYPOST_CHECK(node != nullptr, "DPDK's rib refused a route");
    Rib::set(node, route.value);
  }
  uint64_t value_at(const IpAddress& address) {
    typename Rib::Node* const node = Rib::longest(table_, address);
    return node == nullptr ? 0 : Rib::get(node);
  }

  typename Rib::Table* table_ = nullptr;
  double taken_ = 0;  // DPDK takes what it will need when the table is made
};

template <class Fib>
class FibContender : public Contender {
 public:
  explicit FibContender(size_t routes) {
    const double before = heap_bytes();
    table_ = Fib::make(static_cast<int>(2 * routes));
    taken_ = heap_bytes() - before;
    WAYPOST_CHECK(table_ != nullptr, "DPDK made no fib");
  }
  ~FibContender() override { Fib::free(table_); }

  std::string name() const override { return Fib::kName; }
  void insert(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) put(route);
  }
  void remove(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) Fib::remove(table_, route.prefix);
  }
  void replace(std::span<const BenchRoute> routes) override { insert(routes); }
  void churn(std::span<const BenchRoute> routes) override {
    for (const BenchRoute& route : routes) {
      Fib::remove(table_, route.prefix);
      put(route);
    }
  }
  uint64_t exact(std::span<const BenchRoute> routes) override {
    uint64_t sum = 0;
    for (const BenchRoute& route : routes)
      sum += Fib::Rib::get(Fib::Rib::exact(Fib::rib(table_), route.prefix));
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
  uint64_t longest_bulk(std::span<const IpAddress> addresses) override {
    constexpr size_t kBulk = 64;
    typename Fib::Key keys[kBulk];
    uint64_t values[kBulk];
    uint64_t sum = 0;
    for (size_t i = 0; i < addresses.size(); i += kBulk) {
      const size_t count = std::min(kBulk, addresses.size() - i);
      for (size_t j = 0; j < count; ++j) keys[j] = Fib::key(addresses[i + j]);
      Fib::lookup(table_, keys, values, static_cast<unsigned>(count));
      for (size_t j = 0; j < count; ++j) sum += values[j];
    }
    return sum;
  }
  size_t iterate() override { return 0; }
  BenchBytes bytes() override { return {0, taken_}; }

 private:
  void put(const BenchRoute& route) {
    if (Fib::add(table_, route.prefix, route.value) != 0) ++refused_;
    WAYPOST_CHECK(refused_ == 0 || std::string_view(Fib::kName) == "rte_fib6", "DPDK's fib refused a route");
  }
  uint64_t value_at(const IpAddress& address) {
    typename Fib::Key key = Fib::key(address);
    uint64_t value = 0;
    Fib::lookup(table_, &key, &value, 1);
    return value;
  }

  typename Fib::Table* table_ = nullptr;
  double taken_ = 0;  // DPDK takes what it will need when the table is made
  // rte_fib6 of DPDK 22.11 loses room on every delete and begins to refuse after enough of them.
  size_t refused_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Contender>> make_rivals(Family family, size_t routes) {
  start_dpdk();
  std::vector<std::unique_ptr<Contender>> rivals;
  if (family == Family::kIpv4) {
    rivals.push_back(std::make_unique<RibContender<Rib4>>(routes));
    rivals.push_back(std::make_unique<FibContender<Fib4>>(routes));
  } else {
    rivals.push_back(std::make_unique<RibContender<Rib6>>(routes));
    rivals.push_back(std::make_unique<FibContender<Fib6>>(routes));
  }
  return rivals;
}

}  // namespace waypost::bench
