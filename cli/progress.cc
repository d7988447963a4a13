#include "cli/progress.h"

#include <cstdio>

#include "cli/exit_code.h"

namespace waypost::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{1'000};
constexpr std::chrono::milliseconds kEvery{200};

std::string rate_words(double per_second) {
  char text[32];
  if (per_second >= 10'000)
    std::snprintf(text, sizeof(text), "%.0f k/s", per_second / 1e3);
  else
    std::snprintf(text, sizeof(text), "%.0f/s", per_second);
  return text;
}

std::string left_words(double seconds) {
  char text[32];
  if (seconds >= 90)
    std::snprintf(text, sizeof(text), "%.0f min left", seconds / 60);
  else
    std::snprintf(text, sizeof(text), "%.0f s left", seconds);
  return text;
}

}  // namespace

Progress::Progress(Output& err, std::string doing, std::string unit, uint64_t total, bool shown, Clock clock)
    : err_(err),
      doing_(std::move(doing)),
      unit_(std::move(unit)),
      total_(total),
      shown_(shown),
      clock_(clock ? std::move(clock) : Clock(std::chrono::steady_clock::now)),
      start_(clock_()),
      next_(start_ + kFirst) {}

void Progress::show(uint64_t done) {
  if (!shown_) return;
  const auto now = clock_();
  if (now < next_) return;
  next_ = now + kEvery;
  err_.put("\r\033[K" + words(doing_, unit_, done, total_, seconds()));
  err_.flush();
  on_screen_ = true;
}

void Progress::clear() {
  if (!on_screen_) return;
  err_.put("\r\033[K");
  err_.flush();
  on_screen_ = false;
}

double Progress::seconds() const {
  return std::chrono::duration<double>(clock_() - start_).count();
}

std::string Progress::words(std::string_view doing, std::string_view unit, uint64_t done, uint64_t total,
                            double seconds) {
  std::string text = std::string(doing) + " " + grouped(done);
  if (total > 0) text += "/" + grouped(total);
  text += " " + std::string(unit);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  if (rate > 0) text += "  " + rate_words(rate);
  if (rate > 0 && total > done) text += "  " + left_words(static_cast<double>(total - done) / rate);
  return text;
}

}  // namespace waypost::cli
