// How to reach an etcd cluster, and which log in it is meant. Filled by the node from its configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace waypost::replication {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // HOST:PORT, http://HOST:PORT or https://HOST:PORT; tried in turn
  std::string cluster = "default";     // the log's name: its keys are under /waypost/CLUSTER/
  // TLS, used where an endpoint begins with https:// or a file is named. Files in PEM.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string user;  // empty: no authentication
  std::string password;
  uint64_t connect_timeout_ms = 1'000;
  uint64_t request_timeout_ms = 5'000;  // longer than an etcd election at its defaults
  uint64_t presence_ttl_s = 10;
  uint64_t quota_bytes = 2ull << 30;  // --quota-backend-bytes, for etcd before 3.6, which does not tell it
  bool dedicated = false;             // this etcd is ours alone: the log may compact it
};

}  // namespace waypost::replication
