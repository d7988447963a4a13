#include "tests/sim/sim_world.h"

#include "replication/entry.h"

namespace waypost::sim {

SimWorld::SimWorld(uint64_t seed) {
  for (uint64_t i = 0; i < sources_.size(); ++i) sources_[i].seed(seed * sources_.size() + i);
}

void SimWorld::after(uint64_t delay_us, std::function<void()> work) {
  events_.emplace(std::pair(now_us_ + delay_us, next_event_++), std::move(work));
}

bool SimWorld::step() {
  if (events_.empty()) return false;
  const auto event = events_.begin();
  now_us_ = event->first.first;
  const auto work = std::move(event->second);
  events_.erase(event);
  work();
  return true;
}

void SimWorld::run_for(uint64_t us) {
  const uint64_t end_us = now_us_ + us;
  while (!events_.empty() && events_.begin()->first.first <= end_us) step();
  now_us_ = end_us;
}

bool SimWorld::run_until(const std::function<bool()>& done, uint64_t limit_us) {
  const uint64_t end_us = now_us_ + limit_us;
  while (!done()) {
    if (events_.empty() || events_.begin()->first.first > end_us) return false;
    step();
  }
  return true;
}

bool SimWorld::chance(Concern concern, double probability) {
  // Always one draw, so that a probability of zero does not shift what follows.
  return static_cast<double>(random(concern)() >> 11) * 0x1.0p-53 < probability;
}

uint64_t SimWorld::pick(Concern concern, uint64_t low, uint64_t high) {
  return low + random(concern)() % (high - low + 1);
}

void SimWorld::trace(std::string_view event) {
  std::string bytes = std::to_string(now_us_) + " ";
  bytes += event;
  replication::append_hash(bytes, trace_hash_);
  trace_hash_ = hash128(bytes);
}

void SimNode::after(uint64_t delay_us, std::function<void()> work) {
  world_.after(delay_us, [state = state_, life = state_->life, work = std::move(work)] {
    if (state->life != life) return;
    if (state->paused) {
      state->held.push_back(work);
    } else {
      work();
    }
  });
}

void SimNode::resume() {
  state_->paused = false;
  for (std::function<void()>& work : std::exchange(state_->held, {})) after(0, std::move(work));
}

void SimNode::crash() {
  ++state_->life;
  state_->paused = false;
  state_->held.clear();
}

}  // namespace waypost::sim
