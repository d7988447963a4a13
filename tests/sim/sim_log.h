// The log as one simulated node sees it: the server's truth through delays and every misbehaviour that the
// contract of Log allows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "replication/log.h"
#include "tests/sim/sim_log_server.h"
#include "tests/sim/sim_world.h"

namespace waypost::sim {

// Probabilities in 0..1 per call; times in virtual microseconds.
struct SimLogFaults {
  uint64_t min_delay_us = 100;  // each way
  uint64_t max_delay_us = 2'000;
  uint64_t timeout_us = 300'000;  // after it a verb has no answer
  double request_lost = 0;        // append: unknown, did not happen
  double reply_lost = 0;          // append: unknown, did happen
  double late = 0;                // append: unknown, and happens up to late_us later, if it still can
  uint64_t late_us = 3'000'000;
  double refused = 0;  // never handed over: unreachable
  double read_fails = 0;
  double read_repeats = 0;  // a read begins with entries before `from`, as after a reconnect
  double read_single = 0;   // one entry at a time
  double tail_fails = 0;
};

class SimLog final : public replication::Log {
 public:
  SimLog(SimWorld& world, SimNode& node, SimLogServer& server)
      : shared_(std::make_shared<Shared>(world, node, server)) {}
  // Answers on their way are dropped, as with a process that ended.
  ~SimLog() override { shared_->gone = true; }

  SimLogFaults& faults() { return shared_->faults; }
  // Cut off: requests are refused, or, one way only, arrive without an answer.
  void set_cut(bool cut) { shared_->cut = cut; }
  void set_replies_cut(bool cut) { shared_->replies_cut = cut; }

  void append(Position position, const Hash128& previous, std::string bytes, AppendCallback done) override;
  void read(Position from, size_t max_bytes, ReadCallback done) override;
  void tail(TailCallback done) override;
  void trim(Position below, DoneCallback done) override;
  void first(std::function<void(Result<Position>)> done) override;
  void halt(std::string words, DoneCallback done) override;
  void publish(const replication::Presence& presence, DoneCallback done) override;
  void withdraw(const std::string& name, DoneCallback done) override;
  void presences(PresenceCallback done) override;
  void health(std::function<void(Result<Health>)> done) override;

 private:
  struct Shared {
    Shared(SimWorld& w, SimNode& n, SimLogServer& s) : world(w), node(n), server(s) {}
    SimWorld& world;
    SimNode& node;
    SimLogServer& server;
    SimLogFaults faults;
    bool cut = false;
    bool replies_cut = false;
    bool gone = false;
    bool append_in_flight = false;

    uint64_t delay_us() { return world.pick(Concern::kNetwork, faults.min_delay_us, faults.max_delay_us); }
  };
  // A verb with an answer of type T: `serve` runs at the server; no answer within the timeout is `failure`.
  template <typename T>
  void ask(double fails, std::function<T()> serve, std::function<void(T)> done);
  void wait_for_entries(Position asked, Position from, size_t max_bytes, ReadCallback done);

  std::shared_ptr<Shared> shared_;
};

}  // namespace waypost::sim
