// usage: trie_bench [--rounds N] [--no-rivals] [--only ipv4|ipv6|seed|shapes]
// The trie beside DPDK's rte_rib and rte_fib on real prefixes, in one run, interleaved: CPU time per
// operation, the median of the rounds (3), and at the end what was aimed at and what was reached.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "kernel_sync/trie/prefix_trie.h"
#include "model/check.h"
#include "tests/bench/trie_contender.h"
#include "tests/data/read_prefixes.h"

namespace waypost::bench {

namespace {

struct Options {
  int rounds = 3;
  bool rivals = true;
  std::string only;
};

double cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Results by section, row and contender; the median of the rounds.
class Results {
 public:
  void add(const std::string& row, const std::string& contender, double value) {
    if (std::find(rows_.begin(), rows_.end(), row) == rows_.end()) rows_.push_back(row);
    values_[row][contender].push_back(value);
  }
  void time(const std::string& row, const std::string& contender, size_t operations,
            const std::function<void()>& run) {
    const double before = cpu_ns();
    run();
    add(row, contender, (cpu_ns() - before) / static_cast<double>(operations));
  }
  // 0: not measured.
  double median(const std::string& row, const std::string& contender) const {
    const auto found = values_.find(row);
    if (found == values_.end() || !found->second.contains(contender)) return 0;
    std::vector<double> sorted = found->second.at(contender);
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  void print(const std::string& title, const std::vector<std::string>& contenders) const {
    std::printf("\n%-36s", title.c_str());
    for (const std::string& contender : contenders) std::printf("%12s", contender.c_str());
    std::printf("\n");
    for (const std::string& row : rows_) {
      std::printf("%-36s", row.c_str());
      for (const std::string& contender : contenders) {
        const double value = median(row, contender);
        value == 0 ? std::printf("%12s", "-") : std::printf("%12.*f", value < 20 ? 2 : 0, value);
      }
      std::printf("\n");
    }
    std::fflush(stdout);
  }

 private:
  std::vector<std::string> rows_;
  std::map<std::string, std::map<std::string, std::vector<double>>> values_;
};

// What was aimed at. A ratio is rival / ours; a bound is ours alone.
class Targets {
 public:
  void ratio(const std::string& what, const Results& results, const std::string& row,
             const std::string& rival, double at_least) {
    const double ours = results.median(row, "waypost");
    const double theirs = results.median(row, rival);
    if (ours == 0 || theirs == 0) return;
    print(what + " / " + rival, theirs / ours, at_least, theirs / ours >= at_least, ">=");
  }
  void bound(const std::string& what, double value, double at_most) {
    if (value != 0) print(what, value, at_most, value <= at_most, "<=");
  }
  int missed() const { return missed_; }
  int met() const { return met_; }

 private:
  void print(const std::string& what, double value, double aim, bool met, const char* sign) {
    std::printf("%-52s %8.2f  %s %-7.4g %s\n", what.c_str(), value, sign, aim, met ? "met" : "MISSED");
    ++(met ? met_ : missed_);
  }
  int met_ = 0;
  int missed_ = 0;
};

std::vector<BenchRoute> read_routes(Family family) {
  std::vector<BenchRoute> routes;
  for (const Prefix& prefix : read_prefixes(WAYPOST_SOURCE_DIR, family)) {
    routes.push_back({prefix, static_cast<uint32_t>(routes.size() * 7919 % 1000 + 1)});
  }
  return routes;
}

IpAddress random_address(Family family, std::mt19937_64& random) {
  IpAddress address;
  address.family = family;
  for (int i = 0; i < address_bytes(family); ++i)
    address.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(random());
  // IPv6 in 2000::/3, where the routes are.
  if (family == Family::kIpv6) address.bytes[0] = static_cast<uint8_t>((address.bytes[0] & 0x1f) | 0x20);
  return address;
}

IpAddress address_within(const Prefix& prefix, std::mt19937_64& random) {
  IpAddress address = prefix.address;
  for (int bit = prefix.length; bit < address_bits(prefix.family()); ++bit) {
    if ((random() & 1) != 0)
      address.bytes[static_cast<size_t>(bit) / 8] |= static_cast<uint8_t>(0x80 >> bit % 8);
  }
  return address;
}

// What every contender is measured with.
struct Workload {
  Family family;
  std::vector<BenchRoute> sorted;
  std::vector<BenchRoute> shuffled;
  std::vector<BenchRoute> sample;  // of shuffled, for what rivals are slow at
  std::vector<IpAddress> random;
  std::vector<IpAddress> within;  // one in a random prefix of the table
};

Workload make_workload(Family family) {
  Workload work{family, read_routes(family), {}, {}, {}, {}};
  std::mt19937_64 random(7);
  work.shuffled = work.sorted;
  std::shuffle(work.shuffled.begin(), work.shuffled.end(), random);
  work.sample.assign(work.shuffled.begin(),
                     work.shuffled.begin() + std::min<ptrdiff_t>(300'000, std::ssize(work.shuffled)));
  std::shuffle(work.sample.begin(), work.sample.end(), random);
  constexpr int kAddresses = 1 << 20;
  for (int i = 0; i < kAddresses; ++i) {
    work.random.push_back(random_address(family, random));
    work.within.push_back(address_within(work.sorted[random() % work.sorted.size()].prefix, random));
  }
  return work;
}

// Ours first.
std::vector<std::unique_ptr<Contender>> make_contenders(Family family, size_t routes,
                                                        const Options& options) {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(make_waypost(family));
  if (!options.rivals) return contenders;
  for (auto& rival : make_rivals(family, routes)) contenders.push_back(std::move(rival));
  return contenders;
}

std::vector<std::string> names_of(const std::vector<std::unique_ptr<Contender>>& contenders) {
  std::vector<std::string> names;
  for (const auto& contender : contenders) names.push_back(contender->name());
  return names;
}

// The answers of the round's first contender, which the others must give too.
class Agreement {
 public:
  void same(const std::string& question, uint64_t answer) {
    const auto [place, is_new] = answers_.try_emplace(question, answer);
    if (is_new || place->second == answer) return;
    std::fprintf(stderr, "error: the contenders do not agree: %s\n", question.c_str());
    std::exit(1);
  }

 private:
  std::map<std::string, uint64_t> answers_;
};

void measure_updates_sorted(Contender& table, const Workload& work, Results& results) {
  const size_t n = work.sorted.size();
  const std::string name = table.name();
  results.time("insert sorted", name, n, [&] { table.insert(work.sorted); });
  size_t count = 0;
  const double before = cpu_ns();
  count = table.iterate();
  if (count != 0)
    results.add("iterate in order, a route", name, (cpu_ns() - before) / static_cast<double>(n));
  WAYPOST_CHECK(count == 0 || count == n, "an iteration missed routes");
  const BenchBytes bytes = table.bytes();
  if (bytes.live != 0) results.add("bytes a route, live", name, bytes.live / static_cast<double>(n));
  results.add("bytes a route, taken", name, bytes.total / static_cast<double>(n));
  results.time("delete sorted", name, n, [&] { table.remove(work.sorted); });
}

void measure_random(Contender& table, const Workload& work, Results& results, Agreement& agreement) {
  const std::string name = table.name();
  const size_t sample = work.sample.size();
  const size_t addresses = work.random.size();
  results.time("insert random", name, work.shuffled.size(), [&] { table.insert(work.shuffled); });
  results.time("exact hit", name, sample, [&] { agreement.same("exact", table.exact(work.sample)); });
  results.time("replace value", name, sample, [&] { table.replace(work.sample); });
  const auto longest = [&](const std::string& row, const std::vector<IpAddress>& asked, auto method) {
    results.time(row, name, addresses, [&] { agreement.same(row, (table.*method)(asked)); });
  };
  longest("longest, random, independent", work.random, &Contender::longest);
  longest("longest, random, dependent", work.random, &Contender::longest_chained);
  longest("longest, from table, independent", work.within, &Contender::longest);
  longest("longest, from table, dependent", work.within, &Contender::longest_chained);
  longest("longest, random, bulk of 64", work.random, &Contender::longest_bulk);
  longest("longest, from table, bulk of 64", work.within, &Contender::longest_bulk);
  const size_t churned = std::min<size_t>(sample, 50'000);
  const std::span<const BenchRoute> churn(work.sample.data(), churned);
  results.time("churn: delete and insert", name, churned, [&] { table.churn(churn); });
  results.time("delete random", name, work.shuffled.size(), [&] { table.remove(work.shuffled); });
}

Results measure_family(Family family, const Options& options) {
  const Workload work = make_workload(family);
  Results results;
  std::vector<std::string> names;
  for (int round = 0; round < options.rounds; ++round) {
    names.clear();
    Agreement agreement;
    // New tables for the second half: rte_fib6 does not get back all that deletions free.
    for (auto& table : make_contenders(family, work.sorted.size(), options)) {
      names.push_back(table->name());
      measure_updates_sorted(*table, work, results);
    }
    for (auto& table : make_contenders(family, work.sorted.size(), options)) {
      measure_random(*table, work, results, agreement);
    }
  }
  const std::string title = std::string(family == Family::kIpv4 ? "IPv4" : "IPv6") + ", " +
                            std::to_string(work.sorted.size()) + " routes, ns";
  results.print(title, names);
  return results;
}

// The case that hurts tries which look at their neighbours: a short prefix, then 232,144 /24 one behind the
// other around it. Per eighth of the run, so that growth shows.
constexpr size_t kSeedRoutes = 232'144;
constexpr size_t kEighth = kSeedRoutes / 8;

std::vector<BenchRoute> seed_routes(bool descending) {
  std::vector<BenchRoute> routes;
  for (uint32_t i = 0; i < kSeedRoutes; ++i) {
    routes.push_back({{IpAddress::v4((8u << 24) + (i << 8)), 24}, i % 1000 + 1});
  }
  if (descending) std::reverse(routes.begin(), routes.end());
  return routes;
}

const BenchRoute kSeedCover = {{IpAddress::v4(10u << 24 | 37u << 16 | 96u << 8), 20}, 7};

void measure_seed_run(Contender& table, std::span<const BenchRoute> routes, const std::string& kind,
                      Results& results) {
  const std::string name = table.name();
  double insert_ns = 0;
  for (size_t eighth = 0; eighth < 8; ++eighth) {
    const auto part = routes.subspan(eighth * kEighth, kEighth);
    const double before = cpu_ns();
    table.insert(part);
    const double spent = cpu_ns() - before;
    insert_ns += spent;
    results.add(kind + " insert, eighth " + std::to_string(eighth + 1), name, spent / kEighth);
  }
  results.add(kind + " insert", name, insert_ns / kSeedRoutes);
  results.time(kind + " delete", name, kSeedRoutes, [&] { table.remove(routes); });
}

Results measure_seed(const Options& options) {
  const std::vector<BenchRoute> full = read_routes(Family::kIpv4);
  const std::vector<BenchRoute> ascending = seed_routes(false);
  const std::vector<BenchRoute> descending = seed_routes(true);
  Results results;
  std::vector<std::string> names;
  for (int round = 0; round < options.rounds; ++round) {
    auto contenders = make_contenders(Family::kIpv4, full.size() + kSeedRoutes, options);
    names = names_of(contenders);
    for (auto& table : contenders) {
      table->insert({&kSeedCover, 1});
      table->insert(ascending);
      const BenchBytes bytes = table->bytes();
      if (bytes.live != 0) results.add("bytes a route, live", table->name(), bytes.live / kSeedRoutes);
      results.add("bytes a route, taken", table->name(), bytes.total / kSeedRoutes);
      table->remove(ascending);
      measure_seed_run(*table, ascending, "ascending", results);
      measure_seed_run(*table, descending, "descending", results);
      table->insert(full);
      // Those of the full table among the seed's are deleted with it: they go first.
      table->remove(ascending);
      measure_seed_run(*table, ascending, "on the full table", results);
    }
  }
  results.print("the seed case: 232,144 /24, ns", names);
  return results;
}

// Ours alone: the shapes that spoil a trie's memory, and comparing two tries.
Results measure_shapes(const Options& options) {
  using namespace kernel_sync;
  const std::vector<BenchRoute> v4 = read_routes(Family::kIpv4);
  Results results;
  for (int round = 0; round < options.rounds; ++round) {
    {
      TrieForest forest(Family::kIpv4);
      const TrieId trie = forest.make_trie();
      constexpr uint32_t kDense = 1'000'000;
      results.time("dense /32, insert", "waypost", kDense, [&] {
        // All nodes grow in step: each size of block is wanted by all of them, and then by none.
        for (uint32_t last = 0; last < 256; ++last) {
          for (uint32_t node = 0; node < kDense / 256; ++node) {
            forest.put(trie, {{IpAddress::v4(10u << 24 | node << 8 | last), 32}, 0, 0}, last + 1);
          }
        }
      });
      const double routes = static_cast<double>(forest.route_count(trie));
      results.add("dense /32, bytes a route, live", "waypost",
                  static_cast<double>(forest.bytes().live) / routes);
      results.add("dense /32, bytes a route, taken", "waypost",
                  static_cast<double>(forest.bytes().spans) / routes);
    }
    TrieForest forest(Family::kIpv4);
    const TrieId left = forest.make_trie();
    const TrieId right = forest.make_trie();
    for (const BenchRoute& route : v4) {
      forest.put(left, {route.prefix, 0, 0}, route.value);
      forest.put(right, {route.prefix, 0, 0}, route.value);
    }
    size_t different = 0;
    const auto count = [&](const TrieDifference&) {
      ++different;
      return true;
    };
    results.time("diff of equal tries, a route", "waypost", v4.size(),
                 [&] { forest.diff(left, right, nullptr, count); });
    WAYPOST_CHECK(different == 0, "equal tries differ");
    for (size_t i = 0; i < v4.size(); i += 67) forest.put(right, {v4[i].prefix, 0, 0}, v4[i].value + 1);
    results.time("diff, 1.5 % changed, a route", "waypost", v4.size(),
                 [&] { forest.diff(left, right, nullptr, count); });
    WAYPOST_CHECK(different == (v4.size() + 66) / 67, "a diff missed changes");
    results.time("drop a trie, a route", "waypost", v4.size(), [&] { forest.drop_trie(right); });
  }
  results.print("shapes and differences", {"waypost"});
  return results;
}

void judge_ipv4(const Results& r, Targets& targets) {
  for (const char* rival : {"rte_rib", "rte_fib"}) {
    const bool rib = std::string(rival) == "rte_rib";
    targets.ratio("IPv4 memory", r, "bytes a route, taken", rival, rib ? 60 : 140);
    targets.ratio("IPv4 insert random", r, "insert random", rival, 20);
    targets.ratio("IPv4 insert sorted", r, "insert sorted", rival, rib ? 2 : 4.5);
    targets.ratio("IPv4 delete random", r, "delete random", rival, 20);
    targets.ratio("IPv4 exact", r, "exact hit", rival, 20);
  }
  targets.ratio("IPv4 longest match, random", r, "longest, random, independent", "rte_rib", 10);
  targets.ratio("IPv4 longest match, from table", r, "longest, from table, independent", "rte_rib", 10);
  targets.bound("IPv4 bytes a route", r.median("bytes a route, taken", "waypost"), 7);
  targets.bound("IPv4 iteration, ns a route", r.median("iterate in order, a route", "waypost"), 6);
}

void judge_ipv6(const Results& r, Targets& targets) {
  targets.ratio("IPv6 memory", r, "bytes a route, taken", "rte_rib6", 33);
  targets.ratio("IPv6 memory", r, "bytes a route, taken", "rte_fib6", 250);
  targets.ratio("IPv6 insert random", r, "insert random", "rte_rib6", 20);
  targets.ratio("IPv6 insert random", r, "insert random", "rte_fib6", 20);
  targets.ratio("IPv6 longest match, from table", r, "longest, from table, independent", "rte_fib6", 1);
  targets.bound("IPv6 bytes a route", r.median("bytes a route, taken", "waypost"), 13);
  targets.bound("IPv6 iteration, ns a route", r.median("iterate in order, a route", "waypost"), 12);
}

void judge_seed(const Results& r, Targets& targets) {
  for (const char* kind : {"ascending", "descending", "on the full table"}) {
    const std::string name = kind;
    targets.bound(
        "seed " + name + ", last eighth / first",
        r.median(name + " insert, eighth 8", "waypost") / r.median(name + " insert, eighth 1", "waypost"),
        1.5);
  }
  targets.bound("seed insert, ns", r.median("ascending insert", "waypost"), 35);
  targets.bound("seed delete, ns", r.median("ascending delete", "waypost"), 40);
  targets.ratio("seed insert", r, "ascending insert", "rte_rib", 3);
  targets.ratio("seed insert", r, "ascending insert", "rte_fib", 7);
}

void judge_shapes(const Results& r, Targets& targets) {
  targets.bound("dense /32, bytes a route", r.median("dense /32, bytes a route, taken", "waypost"), 5.5);
  targets.bound("diff of equal tries, ns a route", r.median("diff of equal tries, a route", "waypost"), 3);
  targets.bound("diff, 1.5 % changed, ns a route", r.median("diff, 1.5 % changed, a route", "waypost"), 10);
}

int run(const Options& options) {
  const auto wanted = [&](const char* part) { return options.only.empty() || options.only == part; };
  Results ipv4, ipv6, seed, shapes;
  if (wanted("ipv4")) ipv4 = measure_family(Family::kIpv4, options);
  if (wanted("ipv6")) ipv6 = measure_family(Family::kIpv6, options);
  if (wanted("seed")) seed = measure_seed(options);
  if (wanted("shapes")) shapes = measure_shapes(options);
  std::printf("\naimed at: rival / ours at least, or ours at most\n");
  Targets targets;
  judge_ipv4(ipv4, targets);
  judge_ipv6(ipv6, targets);
  if (wanted("seed")) judge_seed(seed, targets);
  judge_shapes(shapes, targets);
  std::printf("%d met, %d missed\n", targets.met(), targets.missed());
  return 0;
}

}  // namespace

}  // namespace waypost::bench

int main(int argc, char** argv) {
  waypost::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--no-rivals") {
      options.rivals = false;
    } else if (word == "--rounds" && i + 1 < argc) {
      options.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else {
      std::fprintf(stderr, "usage: trie_bench [--rounds N] [--no-rivals] [--only ipv4|ipv6|seed|shapes]\n");
      return 1;
    }
  }
  return waypost::bench::run(options);
}
