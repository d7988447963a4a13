// Who keeps undoing what we do is not fought: after three repairs of one object in a row the next one waits
// 100 ms, then 200 ms, ... five minutes. Ten quiet minutes, and it is forgotten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "model/limits.h"

namespace waypost::kernel_sync {

template <typename Key>
class Repairs {
 public:
  struct Entry {
    uint32_t count = 0;
    uint64_t first_ms = 0;
    uint64_t last_ms = 0;
  };

  // The object was put right again.
  void note(const Key& key, uint64_t now_ms) {
    auto entry = entries_.find(key);
    if (entry == entries_.end()) {
      if (entries_.size() >= limits::kMaxWatchedRepairs) make_room();
      entry = entries_.emplace(key, Entry{0, now_ms, now_ms}).first;
    }
    if (now_ms - entry->second.last_ms > kQuietMs) entry->second = Entry{0, now_ms, now_ms};
    ++entry->second.count;
    entry->second.last_ms = now_ms;
  }
  // How long the next repair has to wait. 0: not at all.
  uint64_t delay_ms(const Key& key, uint64_t now_ms) const {
    auto entry = entries_.find(key);
    if (entry == entries_.end() || entry->second.count < kFree || now_ms - entry->second.last_ms > kQuietMs)
      return 0;
    const uint32_t doublings = std::min(entry->second.count - kFree, 12u);
    return std::min<uint64_t>(uint64_t{100} << doublings, 300'000);
  }
  // visit(key, entry) for what is being fought over.
  template <typename Visit>
  void for_each_fight(uint64_t now_ms, Visit&& visit) const {
    for (const auto& [key, entry] : entries_)
      if (entry.count >= kFree && now_ms - entry.last_ms <= kQuietMs) visit(key, entry);
  }

 private:
  static constexpr uint32_t kFree = 3;
  static constexpr uint64_t kQuietMs = 600'000;

  void make_room() {
    auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.last_ms < b.second.last_ms;
    });
    entries_.erase(oldest);
  }

  std::map<Key, Entry> entries_;
};

}  // namespace waypost::kernel_sync
