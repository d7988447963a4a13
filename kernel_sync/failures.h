// What the kernel refused, or what is in another owner's hands: by key, with the words, and when to try
// again. Never a hot loop: the first refusal is tried once more when everything else is done (it may have
// come from an order that could not be known), then after 1 s, 2 s, 4 s, ... 60 s, and at once on an event
// that can change it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel_sync/status.h"
#include "model/limits.h"

namespace waypost::kernel_sync {

// The kernel's texts are few: each is kept once. At limits::kMaxFailureWords the number of the error has to
// do.
class WordPool {
 public:
  uint32_t intern(const std::string& words) {
    auto found = ids_.find(words);
    if (found != ids_.end()) return found->second;
    if (words_.size() >= limits::kMaxFailureWords) return 0;
    ids_.emplace(words, static_cast<uint32_t>(words_.size()));
    words_.push_back(words);
    return static_cast<uint32_t>(words_.size() - 1);
  }
  const std::string& operator[](uint32_t id) const { return words_[id]; }

 private:
  std::vector<std::string> words_ = {"refused by the kernel"};
  std::unordered_map<std::string, uint32_t> ids_;
};

struct Failure {
  RowState state = RowState::kRefused;
  bool settled = false;   // tried twice, or known: the row counts as being in this state
  bool deletion = false;  // what was refused is to take it away
  bool put_off = false;   // damped: left as it is until then
  uint8_t attempts = 0;
  int error = 0;
  uint32_t words = 0;        // into the WordPool
  uint64_t retry_at_ms = 0;  // 0: when all else is done; UINT64_MAX: only an event can change it
};

template <typename Key>
class Failures {
 public:
  const Failure* find(const Key& key) const {
    if (rows_.empty()) return nullptr;
    auto row = rows_.find(key);
    return row == rows_.end() ? nullptr : &row->second;
  }
  // The entry to write to; null at the bound (limits::kMaxFailures): such a row is tried again with the next
  // scan of its table.
  Failure* note(const Key& key) {
    auto row = rows_.find(key);
    if (row != rows_.end()) return &row->second;
    if (rows_.size() >= limits::kMaxFailures) {
      ++overflow_;
      return nullptr;
    }
    return &rows_[key];
  }
  void set_retry(Failure& failure, uint64_t at_ms) {
    failure.retry_at_ms = at_ms;
    next_due_ms_ = std::min(next_due_ms_, at_ms);
  }
  bool erase(const Key& key) { return !rows_.empty() && rows_.erase(key) != 0; }
  void clear() {
    rows_.clear();
    overflow_ = 0;
    next_due_ms_ = UINT64_MAX;
  }
  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  uint64_t overflow() const { return overflow_; }
  void clear_overflow() { overflow_ = 0; }
  uint64_t next_due_ms() const { return next_due_ms_; }

  // visit(key) for every row whose time has come; they are due again only when set again.
  template <typename Visit>
  void take_due(uint64_t now_ms, Visit&& visit) {
    if (now_ms < next_due_ms_) return;
    next_due_ms_ = UINT64_MAX;
    for (auto& [key, failure] : rows_) {
      if (failure.retry_at_ms == 0) continue;  // its second attempt comes without
      if (failure.retry_at_ms <= now_ms) {
        visit(key, failure);
      } else {
        next_due_ms_ = std::min(next_due_ms_, failure.retry_at_ms);
      }
    }
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, failure] : rows_)
      if (!visit(key, failure)) return;
  }
  // What an event may have cured: due at once.
  template <typename Match>
  void hurry(uint64_t now_ms, Match&& match) {
    for (auto& [key, failure] : rows_)
      if (match(key, failure)) set_retry(failure, now_ms);
  }
  uint64_t count(RowState state) const {
    return static_cast<uint64_t>(std::count_if(rows_.begin(), rows_.end(), [&](const auto& row) {
      return row.second.settled && row.second.state == state;
    }));
  }
  bool unsettled() const {
    return overflow_ != 0 ||
           std::any_of(rows_.begin(), rows_.end(), [](const auto& row) { return !row.second.settled; });
  }

 private:
  std::map<Key, Failure> rows_;
  uint64_t next_due_ms_ = UINT64_MAX;
  uint64_t overflow_ = 0;
};

// 1 s after the second attempt, doubled each time, at most a minute.
inline uint64_t retry_delay_ms(uint8_t attempts) {
  const int doublings = std::min(std::max(attempts - 2, 0), 6);
  return std::min<uint64_t>(uint64_t{1'000} << doublings, 60'000);
}

}  // namespace waypost::kernel_sync
