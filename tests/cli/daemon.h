// A real waypostd on a directory of its own, for as long as the object lives; without kernel_sync, so that it
// touches no kernel.
#pragma once

#include <sys/types.h>

#include <string>

namespace waypost::cli {

class Daemon {
 public:
  Daemon();
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  // For files of the test; removed at the end.
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  int port_ = 0;
  pid_t process_ = -1;
};

}  // namespace waypost::cli
