// Waiting times that double and are drawn at random below the doubled bound, so that members that failed
// together do not try again together. Randomness comes from the seeded source of the replica.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace waypost::replication {

class Backoff {
 public:
  // Waits lie in [floor_us, floor_us + first_us * 2^failures], the random part at most max_us.
  Backoff(uint64_t floor_us, uint64_t first_us, uint64_t max_us)
      : floor_us_(floor_us), first_us_(first_us), max_us_(max_us) {}

  uint64_t next_us(std::mt19937_64& random) {
    const uint64_t bound = std::min(max_us_, first_us_ << std::min<uint32_t>(failures_, 20));
    ++failures_;
    return floor_us_ + random() % (bound + 1);
  }
  void set_bounds(uint64_t first_us, uint64_t max_us) {
    first_us_ = first_us;
    max_us_ = max_us;
  }
  void reset() { failures_ = 0; }

 private:
  uint64_t floor_us_;
  uint64_t first_us_;
  uint64_t max_us_;
  uint32_t failures_ = 0;
};

}  // namespace waypost::replication
