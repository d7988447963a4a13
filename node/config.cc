#include "node/config.h"

#include <algorithm>

#include "replication/entry.h"
#include "rpc/endpoint.h"

namespace waypost::node {

namespace {

Error bad(std::string message, std::string hint) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

bool is_name(const std::string& text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= replication::kMaxAppenderName &&
         std::all_of(text.begin(), text.end(), good);
}

Status check_endpoint(const std::string& text, const char* flag) {
  const Result<rpc::Endpoint> endpoint = rpc::parse_endpoint(text);
  if (endpoint.ok()) return {};
  return bad(std::string(flag) + ": " + endpoint.error().message, endpoint.error().hint);
}

Status check_log(const NodeConfig& config) {
  const bool clustered = !config.etcd.endpoints.empty();
  if (clustered && !is_name(config.cluster)) {
    return bad("--log etcd://... needs --cluster NAME",
               "one etcd may hold several Waypost clusters, each under its name");
  }
  if (!clustered && !config.cluster.empty()) {
    return bad("--cluster needs --log etcd://HOST:PORT,...",
               "without --log the node keeps its own log, and is alone");
  }
  if (!clustered && config.join) {
    return bad("--join needs --log etcd://HOST:PORT,... and --cluster NAME",
               "a node of its own is made with --bootstrap");
  }
  if (!config.etcd.tls && !(config.etcd.ca_file + config.etcd.cert_file + config.etcd.key_file).empty()) {
    return bad("certificates are given, but the log is etcd://, not etcds://",
               "write --log etcds://HOST:PORT,...");
  }
  if (config.etcd.cert_file.empty() != config.etcd.key_file.empty()) {
    return bad("a client certificate needs its key, and a key its certificate",
               "give both --etcd-cert and --etcd-key");
  }
  return {};
}

}  // namespace

Status apply_log_url(const std::string& url, NodeConfig& config) {
  config.etcd.endpoints.clear();
  if (url == "local" || url.empty()) return {};
  const bool tls = url.starts_with("etcds://");
  if (!tls && !url.starts_with("etcd://")) {
    return bad("log \"" + url + "\": only local, etcd:// and etcds:// are known",
               "--log etcd://HOST:2379,HOST:2379,HOST:2379");
  }
  config.etcd.tls = tls;
  std::string rest = url.substr(tls ? 8 : 7);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string endpoint = rest.substr(0, comma);
    rest.erase(0, comma + 1);
    if (Status status = check_endpoint(endpoint, "--log"); !status.ok()) return status;
    config.etcd.endpoints.push_back(endpoint);
  }
  if (config.etcd.endpoints.empty())
    return bad("log \"" + url + "\" names no server", "--log etcd://HOST:2379");
  return {};
}

Status complete(NodeConfig& config) {
  if (!config.verify_snapshot.empty()) return {};  // needs nothing but the file
  if (config.data_dir.empty())
    return bad("--data-dir is missing", "a directory of its own, for example /var/lib/waypost");
  if (config.release || !config.restore_snapshot.empty())
    return {};  // needs only the directory and the protocol
  if (!is_name(config.name)) {
    return bad(config.name.empty() ? "--name is missing" : "name \"" + config.name + "\" cannot be used",
               "1 to 64 letters, digits, dots, dashes and underlines; each node has its own");
  }
  if (Status status = check_endpoint(config.listen, "--listen"); !status.ok()) return status;
  if (!config.http.empty()) {
    if (Status status = check_endpoint(config.http, "--http"); !status.ok()) return status;
  }
  if (config.advertise.empty()) config.advertise = config.listen;
  if (Status status = check_endpoint(config.advertise, "--advertise"); !status.ok()) return status;
  return check_log(config);
}

std::string closest_word(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t substituted = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace waypost::node
