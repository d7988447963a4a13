// waypostd: flags in, a node up, signals out.
#include <signal.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "node/config.h"
#include "node/kernel.h"
#include "node/logging.h"
#include "node/node.h"
#include "node/snapshot_fetch.h"

namespace {

using namespace waypost;
using namespace waypost::node;

// A clean stop takes well under this; a reader deep in a check of the whole store is cut, which the store
// bears.
constexpr unsigned kStopSeconds = 2;

int fail(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return error.code == ErrorCode::kInvalidArgument ? 1 : 2;
}

void stop_at_once(int) {
  _exit(0);
}

// Waits for SIGTERM or SIGINT on a thread of its own, so that no code of ours runs inside a handler.
class Signals {
 public:
  // Ends the waiting when it goes; a signal that came in between is found by the next.
  class Watching {
   public:
    Watching(sigset_t set, Node& node) : thread_([set, &node] { wait(set, node); }) {}
    Watching(Watching&&) = default;
    ~Watching() {
      if (!thread_.joinable()) return;
      pthread_kill(thread_.native_handle(), SIGUSR1);
      thread_.join();
    }

   private:
    static void wait(sigset_t set, Node& node) {
      int number = 0;
      sigwait(&set, &number);
      if (number == SIGUSR1) return;
      log_info(number == SIGTERM ? "stopping (SIGTERM)" : "stopping (SIGINT)");
      sd_notify(0, "STOPPING=1");
      signal(SIGALRM, stop_at_once);
      alarm(kStopSeconds);
      node.quit();
    }
    std::thread thread_;
  };

  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGUSR1);  // ends the waiting
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    signal(SIGPIPE, SIG_IGN);
  }
  Watching watch(Node& node) { return Watching(set_, node); }

 private:
  sigset_t set_;
};

// Tells systemd that we are alive for as long as the order thread goes round.
class Watchdog {
 public:
  explicit Watchdog(const Node& node) {
    uint64_t period_us = 0;
    if (sd_watchdog_enabled(0, &period_us) <= 0) return;
    thread_ = std::thread([this, &node, period_us] {
      uint64_t last = 0;
      while (!ending_) {
        if (const uint64_t now = node.heartbeats(); now != std::exchange(last, now))
          sd_notify(0, "WATCHDOG=1");
        std::this_thread::sleep_for(std::chrono::microseconds(std::min<uint64_t>(period_us / 4, 500'000)));
      }
    });
  }
  ~Watchdog() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

int release(const NodeConfig& config) {
  const Result<uint64_t> objects = release_kernel(config);
  if (!objects.ok()) return fail(objects.error());
  std::printf("took %llu objects out of the kernel\n", static_cast<unsigned long long>(*objects));
  return 0;
}

int serve(const NodeConfig& config) {
  Signals signals;
  while (true) {
    Node node(config);
    const Signals::Watching watching = signals.watch(node);
    if (const Status status = node.start(); !status.ok()) {
      return node.was_told_to_quit() ? 0 : fail(status.error());
    }
    const Watchdog watchdog(node);
    const Status ended = node.run([&] {
      log_info("node " + config.name + " serves clients on " + config.listen +
               (config.http.empty() ? "" : ", HTTP on " + config.http) + ", data in " + config.data_dir);
      sd_notify(0, "READY=1");
    });
    if (node.wants_restart() && !node.was_told_to_quit()) {
      log_warning(ended.error().message);
      continue;
    }
    if (!ended.ok()) return fail(ended.error());
    log_info("stopped");
    return 0;
  }
}

int print(const Result<std::string>& words) {
  if (!words.ok()) return fail(words.error());
  return std::printf("%s\n", words->c_str()) < 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Result<ParsedFlags> parsed = parse_flags(argc, argv);
  if (!parsed.ok()) return fail(parsed.error());
  if (!parsed->text.empty()) return std::fputs(parsed->text.c_str(), stdout) < 0;
  const NodeConfig& config = parsed->config;
  start_logging(config.log_level);
  if (config.check_only) return std::puts("the configuration is good") < 0;
  if (!config.verify_snapshot.empty()) return print(verify_snapshot_file(config.verify_snapshot));
  if (!config.restore_snapshot.empty())
    return print(restore_snapshot_file(config.restore_snapshot, config.data_dir));
  if (config.release) return release(config);
  return serve(config);
}
