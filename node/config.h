// What a waypostd is told: flag > environment > file. Values, checked as a whole before anything starts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/named_type.h"
#include "model/result.h"

namespace waypost::node {

struct EtcdConfig {
  std::vector<std::string> endpoints;  // HOST:PORT; empty: the local engine
  bool tls = false;                    // etcds://
  bool dedicated = false;              // this etcd is ours alone: compact it in step with the trim
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string user;
  std::string password_file;
};

struct NodeConfig {
  std::string name;  // 1..64 of [A-Za-z0-9._-]
  std::string data_dir;
  std::string listen = "127.0.0.1:7601";
  std::string http;       // empty: no HTTP
  std::string advertise;  // how others reach this node; empty: `listen`
  bool bootstrap = false;
  bool join = false;
  std::string cluster;  // the name of the cluster in etcd
  EtcdConfig etcd;
  std::string log_level = "info";

  bool kernel_sync = false;
  uint8_t protocol = 87;
  bool compat_mode_leave = false;
  uint64_t audit_period_s = 300;
  uint64_t sweep_objects = 1'000;
  double sweep_share = 0.10;
  std::map<TableId, bool> unreachable_on_pending;

  std::optional<uint64_t> history_revisions;  // set as cluster-wide settings at start where they differ
  std::optional<uint64_t> history_bytes;
  uint64_t cache_bytes = 256u << 20;
  uint64_t write_buffer_bytes = 64u << 20;
  uint64_t free_space_bytes = 0;  // 0: see FreeSpace
  size_t max_connections = 512;

  // Not part of what runs.
  bool check_only = false;       // --check-config
  bool release = false;          // --release: take our objects out of the kernel, and end
  std::string verify_snapshot;   // --verify-snapshot FILE
  std::string restore_snapshot;  // --restore-snapshot FILE
};

// From argv and the environment. Errors are kInvalidArgument; a request for --help or --version is none and
// leaves `text`.
struct ParsedFlags {
  NodeConfig config;
  std::string text;  // not empty: print it and end with 0
};
Result<ParsedFlags> parse_flags(int argc, const char* const* argv);

// Overlays what the file says. Errors: "FILE:LINE:COLUMN: what is wrong", unknown keys with "did you mean".
Status apply_config_file(const std::string& path, NodeConfig& config);
Status apply_config_text(const std::string& text, const std::string& name, NodeConfig& config);

// etcd://A:2379,B:2379 or etcds://...; "local".
Status apply_log_url(const std::string& url, NodeConfig& config);

// Everything together: names, endpoints, what goes with what. Fills in `advertise`.
Status complete(NodeConfig& config);

// The word of `known` that was probably meant, or empty.
std::string closest_word(const std::string& word, const std::vector<std::string>& known);

}  // namespace waypost::node
