#include "tests/sim/workers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "model/check.h"
#include "tests/sim/simulation.h"

namespace waypost::sim {
namespace {

// A worker's lines: "begin SEED", "red SEED WORDS" (line ends as \x01), "done OPERATIONS VIRTUAL_US", and
// "reached TIMES NAME" after each seed.
void work(int out, const WorkOptions& options, uint64_t from, uint64_t until, uint64_t step) {
  FILE* pipe = fdopen(out, "w");
  for (uint64_t seed = from; seed < until; seed += step) {
    std::fprintf(pipe, "begin %lu\n", static_cast<unsigned long>(seed));
    std::fflush(pipe);
    SeedResult result = run_seed(seed, options.without);
    if (options.twice && result.wrong.empty() && run_seed(seed, options.without).trace != result.trace)
      result.wrong = "the same seed ran otherwise the second time";
    for (char& byte : result.wrong)
      if (byte == '\n') byte = '\1';
    if (!result.wrong.empty())
      std::fprintf(pipe, "red %lu %s\n", static_cast<unsigned long>(seed), result.wrong.c_str());
    for (const auto& [name, times] : result.reached)
      std::fprintf(pipe, "reached %lu %s\n", static_cast<unsigned long>(times), name.c_str());
    std::fprintf(pipe, "done %lu %lu\n", static_cast<unsigned long>(result.operations),
                 static_cast<unsigned long>(result.virtual_us));
    if (options.stop_at_first && !result.wrong.empty()) break;
  }
  std::fflush(pipe);
  _exit(0);
}

struct Worker {
  pid_t process = 0;
  FILE* lines = nullptr;
  uint64_t seed = 0;  // under way
  bool under_way = false;
};

Worker spawn(const WorkOptions& options, uint64_t from, uint64_t until, uint64_t step) {
  int ends[2];
  WAYPOST_CHECK(::pipe(ends) == 0, "a pipe to a worker");
  std::fflush(nullptr);
  Worker worker;
  worker.process = ::fork();
  WAYPOST_CHECK(worker.process >= 0, "a worker process");
  if (worker.process == 0) {
    ::close(ends[0]);
    work(ends[1], options, from, until, step);
  }
  ::close(ends[1]);
  worker.lines = fdopen(ends[0], "r");
  return worker;
}

void take_line(const std::string& line, Worker& worker, WorkResult& result) {
  std::istringstream words(line);
  std::string kind;
  uint64_t value = 0;
  words >> kind >> value;
  std::string rest;
  std::getline(words >> std::ws, rest);
  if (kind == "begin") {
    worker.seed = value;
    worker.under_way = true;
  } else if (kind == "red") {
    for (char& byte : rest)
      if (byte == '\1') byte = '\n';
    result.red[value] = rest;
  } else if (kind == "reached") {
    result.reached[rest] += value;
  } else if (kind == "done") {
    worker.under_way = false;
    ++result.done;
    result.operations += value;
    result.virtual_seconds += std::strtod(rest.c_str(), nullptr) / 1e6;
  }
}

// One share of the seeds, through as many processes as it takes.
void run_share(const WorkOptions& options, std::vector<Worker>& workers, uint64_t share, WorkResult& result) {
  const uint64_t until = options.first + options.count;
  for (;;) {
    Worker& worker = workers[share];
    char* line = nullptr;
    size_t capacity = 0;
    while (::getline(&line, &capacity, worker.lines) > 0) {
      std::string text(line);
      if (!text.empty() && text.back() == '\n') text.pop_back();
      take_line(text, worker, result);
    }
    std::free(line);
    std::fclose(worker.lines);
    int status = 0;
    ::waitpid(worker.process, &status, 0);
    const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (clean || !worker.under_way) return;
    result.red[worker.seed] = "the process ended by a failed check (see above)";
    ++result.done;
    const uint64_t next = worker.seed + options.jobs;
    if (options.stop_at_first || next >= until) return;
    worker = spawn(options, next, until, options.jobs);
  }
}

}  // namespace

WorkResult run_seeds(const WorkOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  WorkResult result;
  std::vector<Worker> workers;
  for (uint64_t share = 0; share < options.jobs; ++share)
    workers.push_back(spawn(options, options.first + share, options.first + options.count, options.jobs));
  for (uint64_t share = 0; share < options.jobs; ++share) run_share(options, workers, share, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

const std::vector<std::string>& planted_bugs() {
  static const std::vector<std::string> names = {
      "answer_before_apply",      "unknown_is_failed", "snapshot_without_sessions", "read_without_asking",
      "join_ask_under_way",       "append_not_fenced", "tail_without_hash",         "session_gap_accepted",
      "session_expiry_by_time",   "half_applied",      "digest_forgets_nexthops",   "sim_trim_above_durable",
      "sim_switch_before_synced", "chain_not_checked"};
  return names;
}

}  // namespace waypost::sim
