#include "node/free_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>

namespace waypost::node {

namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kLookUs = 200'000;

uint64_t now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

void FreeSpace::look() {
  struct statvfs about {};
  if (statvfs(directory_.c_str(), &about) != 0) return;  // what was known last holds
  const uint64_t size = uint64_t{about.f_blocks} * about.f_frsize;
  free_ = uint64_t{about.f_bavail} * about.f_frsize;
  // A small file system keeps a quarter: a write buffer that is flushed needs room too.
  const uint64_t floor = std::min(32 * kMiB, size / 4);
  reserve_in_force_ = reserve_ > 0 ? reserve_ : std::max(std::min(size / 20, 256 * kMiB), floor);
  // A little more than was asked for before appends go on, so that they do not stutter at the mark.
  low_ = free_ < reserve_in_force_ + (low_ ? reserve_in_force_ / 16 : 0);
}

std::optional<Error> FreeSpace::refusal() {
  if (const uint64_t now = now_us(); now - looked_us_ >= kLookUs) {
    looked_us_ = now;
    look();
  }
  if (!low_) return std::nullopt;
  return Error{ErrorCode::kResourceExhausted,
               "the disk of " + directory_ + " is nearly full: " + std::to_string(free_ / kMiB) +
                   " MiB free, " + std::to_string(reserve_in_force_ / kMiB) + " MiB are kept back",
               "free some space there; changes are taken again by themselves, reads go on meanwhile"};
}

}  // namespace waypost::node
