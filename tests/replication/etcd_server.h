// A real etcd of one server on 127.0.0.1, in a directory of its own; killed by its pid at the end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/replication/temp_db.h"

namespace waypost::replication {

class EtcdServer {
 public:
  // `extra` are further arguments of etcd. Waits until it serves.
  explicit EtcdServer(std::vector<std::string> extra = {});
  ~EtcdServer();
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(client_port_); }
  void pause();
  void resume();
  void kill();     // -9
  void restart();  // on the same data and ports
  // Runs etcdctl with these words against it; true where it exits with 0.
  bool ctl(const std::string& words) const;

 private:
  void start();
  bool serves() const;

  TempDirectory directory_;
  std::vector<std::string> extra_;
  int client_port_ = 0;
  int peer_port_ = 0;
  std::string scheme_ = "http";
  pid_t pid_ = -1;
};

// A port of 127.0.0.1 that nobody listens on.
int free_port();

}  // namespace waypost::replication
