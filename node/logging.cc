#include "node/logging.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>

namespace waypost::node {

namespace {

constexpr uint64_t kWindowUs = 10'000'000;
constexpr uint64_t kShownPerWindow = 5;

uint64_t now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// One line, whatever a client sent us: no control character reaches a terminal.
std::string printable(const std::string& words) {
  std::string out;
  for (const char c : words) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    out += control ? '?' : c;
  }
  return out;
}

}  // namespace

void start_logging(const std::string& level) {
  auto logger = spdlog::get("waypostd");
  if (!logger) logger = spdlog::stderr_logger_mt("waypostd");
  spdlog::set_default_logger(logger);
  const bool journal = std::getenv("JOURNAL_STREAM") != nullptr;
  logger->set_pattern(journal ? "%l: %v" : "%Y-%m-%d %H:%M:%S.%e %l: %v");
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::debug);
}

void log_info(const std::string& words) {
  spdlog::info("{}", printable(words));
}
void log_warning(const std::string& words) {
  spdlog::warn("{}", printable(words));
}
void log_error(const std::string& words) {
  spdlog::error("{}", printable(words));
}

std::string in_words(const Error& error) {
  return error.hint.empty() ? error.message : error.message + "; " + error.hint;
}

void RateLimitedLog::warning(const std::string& kind, const std::string& words) {
  const std::lock_guard lock(mutex_);
  Kind& state = kinds_[kind];
  const uint64_t now = now_us();
  if (now - state.window_began_us >= kWindowUs) {
    if (state.held_back > 0)
      log_warning(std::to_string(state.held_back) + " more lines like the following were held back");
    state = Kind{now, 0, 0};
  }
  if (state.shown >= kShownPerWindow) {
    ++state.held_back;
    return;
  }
  ++state.shown;
  log_warning(words);
}

}  // namespace waypost::node
