// Keeps the data directory from filling up: below a watermark of free space nothing is appended any more, in
// words, so that the database never meets a full disk. Looks again by itself, so freeing space is the whole
// cure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/result.h"

namespace waypost::node {

class FreeSpace {
 public:
  // reserve_bytes 0: the smaller of 5 % and 256 MiB of the file system.
  FreeSpace(std::string directory, uint64_t reserve_bytes)
      : directory_(std::move(directory)), reserve_(reserve_bytes) {}

  // kResourceExhausted while it is too full. Asks the file system at most a few times a second; one thread.
  std::optional<Error> refusal();
  uint64_t free_bytes() const { return free_; }
  uint64_t reserve_bytes() const { return reserve_in_force_; }

 private:
  void look();

  const std::string directory_;
  const uint64_t reserve_;
  uint64_t reserve_in_force_ = 0;
  uint64_t free_ = 0;
  uint64_t looked_us_ = 0;
  bool low_ = false;
};

}  // namespace waypost::node
