// The log for people: one line to stderr for each thing that an operator may have to act on. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "model/result.h"

namespace waypost::node {

// level: debug, info, warning or error. Under systemd lines carry no time of their own.
void start_logging(const std::string& level);

void log_info(const std::string& words);
void log_warning(const std::string& words);
void log_error(const std::string& words);
// "words: message; hint".
std::string in_words(const Error& error);

// A burst is shown, the rest of it counted: `kind` at most five times in ten seconds.
class RateLimitedLog {
 public:
  void warning(const std::string& kind, const std::string& words);

 private:
  struct Kind {
    uint64_t window_began_us = 0;
    uint64_t shown = 0;
    uint64_t held_back = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Kind> kinds_;  // a handful, named in the code
};

}  // namespace waypost::node
