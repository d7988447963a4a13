// Virtual time: one heap of events, ordered by (microsecond, order of posting), and one random source for
// each concern, all from one seed. The same seed runs the same events; trace_hash() proves it. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/hash128.h"
#include "replication/replica.h"

namespace waypost::sim {

// A source of its own for each, so that one more draw in one place does not shift the others.
enum class Concern { kNetwork, kDisk, kClients, kFaults };

class SimWorld final : public replication::Clock {
 public:
  explicit SimWorld(uint64_t seed);

  uint64_t monotonic_us() const override { return now_us_; }
  uint64_t wall_us() const override { return kStartOfTimeUs + now_us_; }
  void after(uint64_t delay_us, std::function<void()> work) override;

  // Runs the next event; false where there is none.
  bool step();
  void run_for(uint64_t us);
  // Runs until `done` holds; false where it does not within limit_us.
  bool run_until(const std::function<bool()>& done, uint64_t limit_us);

  std::mt19937_64& random(Concern concern) { return sources_[static_cast<size_t>(concern)]; }
  bool chance(Concern concern, double probability);
  // From low to high, both included.
  uint64_t pick(Concern concern, uint64_t low, uint64_t high);

  // Something that must happen somewhere among the seeds, or the test is blind ("sometimes").
  void reach(std::string_view what) { ++reached_[std::string(what)]; }
  const std::map<std::string, uint64_t>& reached() const { return reached_; }

  void trace(std::string_view event);
  Hash128 trace_hash() const { return trace_hash_; }

 private:
  static constexpr uint64_t kStartOfTimeUs = 1'700'000'000'000'000;

  uint64_t now_us_ = 0;
  uint64_t next_event_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, std::function<void()>> events_;
  std::array<std::mt19937_64, 4> sources_;
  std::map<std::string, uint64_t> reached_;
  Hash128 trace_hash_;
};

// One node's share of the world: its executor and clock. A paused node runs nothing, then everything at once;
// what was posted before a crash never runs.
class SimNode final : public replication::Clock {
 public:
  explicit SimNode(SimWorld& world) : world_(world), state_(std::make_shared<State>()) {}

  uint64_t monotonic_us() const override { return world_.monotonic_us(); }
  uint64_t wall_us() const override { return world_.wall_us() + wall_offset_us_; }
  // What an operator or a time server does to the wall clock; nothing but written times may follow it.
  void shift_wall_us(uint64_t offset_us) { wall_offset_us_ += offset_us; }
  void after(uint64_t delay_us, std::function<void()> work) override;
  replication::Executor executor() {
    return [this](std::function<void()> work) { after(0, std::move(work)); };
  }

  void pause() { state_->paused = true; }
  void resume();
  void crash();
  bool paused() const { return state_->paused; }

 private:
  struct State {
    uint64_t life = 0;
    bool paused = false;
    std::vector<std::function<void()>> held;
  };
  SimWorld& world_;
  uint64_t wall_offset_us_ = 0;
  std::shared_ptr<State> state_;
};

}  // namespace waypost::sim
