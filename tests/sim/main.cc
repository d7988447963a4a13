// The simulator as a program: ./dev sim [--seeds N] [--from SEED] [--seed SEED] ...
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "model/mutant.h"
#include "tests/sim/simulation.h"
#include "tests/sim/workers.h"

namespace waypost::sim {
namespace {

constexpr const char* kUsage =
    R"(usage: ./dev sim [--seeds N] [--from SEED] [--jobs N] [--twice] [--counters]
       ./dev sim --seed SEED [--without FAULT]...
       ./dev sim --plant NAME [--seeds N]      a planted bug must be found
       ./dev sim --planted [--seeds N]         all of them, with how many seeds each took

  --seeds N      how many seeds (100)            --from SEED   the first of them (1)
  --jobs N       processes (2)                   --twice       run each seed twice, the traces must be equal
  --counters     say how often each thing happened; from 1,000 seeds on each must have
  --without F    keep a fault of the seed off; ./dev sim --seed SEED names those that it has
Exit code 0: green. 1: a red seed, a counter that was not reached, or a planted bug that was not found.
)";

struct Options {
  WorkOptions work;
  bool single = false;
  bool counters = false;
  std::string plant;
  bool planted = false;
};

[[noreturn]] void wrong_usage(const std::string& words) {
  std::fprintf(stderr, "%serror: %s\n", kUsage, words.c_str());
  std::exit(1);
}

uint64_t number(const char* text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') wrong_usage(std::string("not a number: ") + text);
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> const char* {
      if (i + 1 >= argc) wrong_usage(name + " needs a value");
      return argv[++i];
    };
    if (name == "--seeds") {
      options.work.count = number(value());
    } else if (name == "--from") {
      options.work.first = number(value());
    } else if (name == "--seed") {
      options.single = true;
      options.work.first = number(value());
    } else if (name == "--jobs") {
      options.work.jobs = number(value());
    } else if (name == "--twice") {
      options.work.twice = true;
    } else if (name == "--counters") {
      options.counters = true;
    } else if (name == "--without") {
      options.work.without.insert(value());
    } else if (name == "--plant") {
      options.plant = value();
    } else if (name == "--planted") {
      options.planted = true;
    } else if (name == "--help" || name == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else {
      wrong_usage("unknown option " + name);
    }
  }
  return options;
}

int run_single(const Options& options) {
  const SeedResult result = run_seed(options.work.first, options.work.without);
  std::printf("seed %lu: %s\ntrace %s, %.1f virtual s, %lu operations\nfaults:",
              static_cast<unsigned long>(options.work.first),
              result.wrong.empty() ? "green" : result.wrong.c_str(), to_string(result.trace).c_str(),
              static_cast<double>(result.virtual_us) / 1e6, static_cast<unsigned long>(result.operations));
  for (const std::string& fault : result.faults) std::printf(" %s", fault.c_str());
  std::printf("\n");
  return result.wrong.empty() ? 0 : 1;
}

// Without each fault in turn: what is still red without it does not need it.
void say_needed_faults(uint64_t seed) {
  std::set<std::string> without;
  const SeedResult result = run_seed(seed);
  if (result.wrong.empty()) return;
  for (const std::string& fault : result.faults) {
    without.insert(fault);
    if (run_seed(seed, without).wrong.empty()) without.erase(fault);
  }
  std::string line = "./dev sim --seed " + std::to_string(seed);
  std::string needed;
  for (const std::string& fault : result.faults) {
    if (without.contains(fault)) {
      line += " --without " + fault;
    } else {
      needed += " " + fault;
    }
  }
  std::printf("  it needs:%s\n  smallest: %s\n", needed.empty() ? " no fault" : needed.c_str(), line.c_str());
}

int run_many(const Options& options) {
  const WorkResult result = run_seeds(options.work);
  for (const auto& [seed, words] : result.red) {
    std::printf("seed %lu is red: %s\n  repeat: ./dev sim --seed %lu\n", static_cast<unsigned long>(seed),
                words.c_str(), static_cast<unsigned long>(seed));
  }
  const bool died = !result.red.empty() && result.red.begin()->second.starts_with("the process");
  if (!result.red.empty() && !died) say_needed_faults(result.red.begin()->first);
  size_t blind = 0;
  const bool enough = options.work.count >= 1'000;
  for (const std::string_view name : must_be_reached()) {
    const auto found = result.reached.find(std::string(name));
    const uint64_t times = found == result.reached.end() ? 0 : found->second;
    if (options.counters) std::printf("%10lu  %s\n", static_cast<unsigned long>(times), name.data());
    if (!enough || times >= 20) continue;
    ++blind;
    std::printf("error: happened %lu times, wanted 20: %s\n", static_cast<unsigned long>(times), name.data());
  }
  std::printf("%lu seeds, %zu red, %lu operations, %.0f virtual s in %.1f s%s\n",
              static_cast<unsigned long>(result.done), result.red.size(),
              static_cast<unsigned long>(result.operations), result.virtual_seconds, result.seconds,
              options.work.twice ? ", each twice with the same trace" : "");
  return result.red.empty() && blind == 0 && result.done == options.work.count ? 0 : 1;
}

int run_planted(Options options, const std::vector<std::string>& names) {
#ifndef WAYPOST_MUTANTS
  (void)options;
  (void)names;
  std::fprintf(stderr, "error: this build has no planted bugs; ./dev sim --planted builds one that has\n");
  return 1;
#else
  int missed = 0;
  options.work.stop_at_first = true;
  for (const std::string& name : names) {
    // Read once in each worker, after the fork.
    setenv("WAYPOST_MUTANT", name.c_str(), 1);
    const WorkResult result = run_seeds(options.work);
    if (result.red.empty()) {
      ++missed;
      std::printf("missed: %s in %lu seeds\n", name.c_str(), static_cast<unsigned long>(result.done));
      continue;
    }
    const auto& [seed, words] = *result.red.begin();
    std::printf("caught: %-26s after %lu seeds: %s\n", name.c_str(),
                static_cast<unsigned long>(seed - options.work.first + 1),
                words.substr(0, words.find('\n')).substr(0, 150).c_str());
    std::fflush(stdout);
  }
  std::printf("%zu planted, %d missed\n", names.size(), missed);
  return missed == 0 ? 0 : 1;
#endif
}

}  // namespace
}  // namespace waypost::sim

int main(int argc, char** argv) {
  using namespace waypost::sim;
  Options options = parse(argc, argv);
  if (!options.plant.empty()) return run_planted(options, {options.plant});
  if (options.planted) return run_planted(options, planted_bugs());
  return options.single ? run_single(options) : run_many(options);
}
