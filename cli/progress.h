// A progress line on standard error, once a second of work has passed and only on a terminal:
// `importing 412,000/1,062,046 lines  88 k/s  7 s left`.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cli/output.h"

namespace waypost::cli {

class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // total 0: not known. Silent unless `err` is a terminal or `always`.
  Progress(Output& err, std::string doing, std::string unit, uint64_t total, bool shown,
           Clock clock = nullptr);
  ~Progress() { clear(); }

  void show(uint64_t done);
  // Takes the line away, before other words go to the same terminal.
  void clear();
  double seconds() const;

  // The words, without the terminal: pure.
  static std::string words(std::string_view doing, std::string_view unit, uint64_t done, uint64_t total,
                           double seconds);

 private:
  Output& err_;
  const std::string doing_;
  const std::string unit_;
  const uint64_t total_;
  const bool shown_;
  const Clock clock_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
  bool on_screen_ = false;
};

}  // namespace waypost::cli
