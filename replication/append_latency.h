// The latencies of the newest appends, for the status page and for the back-off after a lost race.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace waypost::replication {

class AppendLatency {
 public:
  void add(uint64_t us) {
    samples_[count_ % samples_.size()] = us;
    ++count_;
    // An eighth of the new one: follows a change of the engine's pace within a few dozen appends.
    typical_us_ = count_ == 1 ? us : typical_us_ - typical_us_ / 8 + us / 8;
  }

  // `share` in 0..1; 0 where nothing was appended yet.
  double percentile_ms(double share) const {
    const size_t filled = std::min<uint64_t>(count_, samples_.size());
    if (filled == 0) return 0;
    std::vector<uint64_t> sorted(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(filled));
    std::sort(sorted.begin(), sorted.end());
    return static_cast<double>(sorted[static_cast<size_t>(share * static_cast<double>(filled - 1))]) / 1000.0;
  }

  uint64_t typical_us() const { return typical_us_; }

 private:
  std::array<uint64_t, 1024> samples_{};
  uint64_t count_ = 0;
  uint64_t typical_us_ = 0;
};

}  // namespace waypost::replication
