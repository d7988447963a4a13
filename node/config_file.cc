// The TOML file: every key has one line in kKeys; what is not there is an error with the word that was
// probably meant.
#include <toml++/toml.h>
#include <fstream>
#include <functional>
#include <sstream>

#include "node/config.h"

namespace waypost::node {

namespace {

// What is wrong with a value, or empty.
using Setter = std::function<std::string(const toml::node&, NodeConfig&)>;

struct Key {
  const char* path;
  Setter set;
};

std::string found(const toml::node& node) {
  std::ostringstream words;
  words << node.type();
  return "found " + words.str();
}

Setter text(std::string NodeConfig::*member) {
  return [member](const toml::node& node, NodeConfig& config) -> std::string {
    if (!node.is_string()) return "expected text in quotes, " + found(node);
    config.*member = node.as_string()->get();
    return {};
  };
}

Setter etcd_text(std::string EtcdConfig::*member) {
  return [member](const toml::node& node, NodeConfig& config) -> std::string {
    if (!node.is_string()) return "expected text in quotes, " + found(node);
    config.etcd.*member = node.as_string()->get();
    return {};
  };
}

Setter truth(std::function<bool&(NodeConfig&)> member) {
  return [member = std::move(member)](const toml::node& node, NodeConfig& config) -> std::string {
    if (!node.is_boolean()) return "expected true or false, " + found(node);
    member(config) = node.as_boolean()->get();
    return {};
  };
}

Setter number(int64_t low, int64_t high, std::function<void(NodeConfig&, int64_t)> set) {
  return [=, set = std::move(set)](const toml::node& node, NodeConfig& config) -> std::string {
    const std::string expected =
        "expected a whole number of " + std::to_string(low) + ".." + std::to_string(high) + ", ";
    if (!node.is_integer()) return expected + found(node);
    const int64_t value = node.as_integer()->get();
    if (value < low || value > high) return expected + "found " + std::to_string(value);
    set(config, value);
    return {};
  };
}

std::string set_share(const toml::node& node, NodeConfig& config) {
  const std::optional<double> value = node.value<double>();
  if (!value || *value < 0 || *value > 1) return "expected a number of 0..1, for example 0.1";
  config.sweep_share = *value;
  return {};
}

std::string set_compat_mode(const toml::node& node, NodeConfig& config) {
  const std::optional<std::string> value = node.value<std::string>();
  if (value != "set-0" && value != "leave") return "expected \"set-0\" or \"leave\"";
  config.compat_mode_leave = value == "leave";
  return {};
}

std::string set_log_level(const toml::node& node, NodeConfig& config) {
  static const std::vector<std::string> levels = {"debug", "info", "warning", "error"};
  const std::optional<std::string> value = node.value<std::string>();
  if (!value || std::find(levels.begin(), levels.end(), *value) == levels.end()) {
    return "expected \"debug\", \"info\", \"warning\" or \"error\"";
  }
  config.log_level = *value;
  return {};
}

std::string set_log(const toml::node& node, NodeConfig& config) {
  if (!node.is_string()) return "expected text in quotes, " + found(node);
  const Status status = apply_log_url(node.as_string()->get(), config);
  return status.ok() ? std::string() : status.error().message;
}

constexpr int64_t kMost = INT64_MAX;

const std::vector<Key>& keys() {
  static const std::vector<Key> all = {
      {"name", text(&NodeConfig::name)},
      {"data_dir", text(&NodeConfig::data_dir)},
      {"listen", text(&NodeConfig::listen)},
      {"http", text(&NodeConfig::http)},
      {"advertise", text(&NodeConfig::advertise)},
      {"cluster", text(&NodeConfig::cluster)},
      {"log", set_log},
      {"log_level", set_log_level},
      {"bootstrap", truth([](NodeConfig& c) -> bool& { return c.bootstrap; })},
      {"join", truth([](NodeConfig& c) -> bool& { return c.join; })},
      {"max_connections",
       number(1, 65'536, [](NodeConfig& c, int64_t v) { c.max_connections = static_cast<size_t>(v); })},
      {"etcd.dedicated", truth([](NodeConfig& c) -> bool& { return c.etcd.dedicated; })},
      {"etcd.ca_file", etcd_text(&EtcdConfig::ca_file)},
      {"etcd.cert_file", etcd_text(&EtcdConfig::cert_file)},
      {"etcd.key_file", etcd_text(&EtcdConfig::key_file)},
      {"etcd.user", etcd_text(&EtcdConfig::user)},
      {"etcd.password_file", etcd_text(&EtcdConfig::password_file)},
      {"kernel_sync.enabled", truth([](NodeConfig& c) -> bool& { return c.kernel_sync; })},
      {"kernel_sync.protocol",
       number(5, 255, [](NodeConfig& c, int64_t v) { c.protocol = static_cast<uint8_t>(v); })},
      {"kernel_sync.compat_mode", set_compat_mode},
      {"kernel_sync.audit_period_s",
       number(1, 86'400, [](NodeConfig& c, int64_t v) { c.audit_period_s = static_cast<uint64_t>(v); })},
      {"kernel_sync.sweep_objects",
       number(0, kMost, [](NodeConfig& c, int64_t v) { c.sweep_objects = static_cast<uint64_t>(v); })},
      {"kernel_sync.sweep_share", set_share},
      {"history.revisions",
       number(1, kMost, [](NodeConfig& c, int64_t v) { c.history_revisions = static_cast<uint64_t>(v); })},
      {"history.bytes",
       number(1, kMost, [](NodeConfig& c, int64_t v) { c.history_bytes = static_cast<uint64_t>(v); })},
      {"store.cache_bytes",
       number(1 << 20, kMost, [](NodeConfig& c, int64_t v) { c.cache_bytes = static_cast<uint64_t>(v); })},
      {"store.write_buffer_bytes",
       number(1 << 20, kMost,
              [](NodeConfig& c, int64_t v) { c.write_buffer_bytes = static_cast<uint64_t>(v); })},
      {"store.free_space_bytes",
       number(0, kMost, [](NodeConfig& c, int64_t v) { c.free_space_bytes = static_cast<uint64_t>(v); })},
  };
  return all;
}

class FileReader {
 public:
  FileReader(std::string name, NodeConfig& config) : name_(std::move(name)), config_(config) {}

  Status read(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string path = prefix + std::string(key.str());
      Status status = path == "kernel_sync.tables" ? read_tables(node) : read_key(path, key, node);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  Error at(const toml::source_region& where, const std::string& message, std::string hint = "") const {
    return {ErrorCode::kInvalidArgument,
            name_ + ":" + std::to_string(where.begin.line) + ":" + std::to_string(where.begin.column) + ": " +
                message,
            std::move(hint)};
  }

  static bool is_section(const std::string& path) {
    for (const Key& known : keys()) {
      if (std::string_view(known.path).starts_with(path + ".")) return true;
    }
    return false;
  }

  Status read_key(const std::string& path, const toml::key& key, const toml::node& node) {
    for (const Key& known : keys()) {
      if (path != known.path) continue;
      const std::string wrong = known.set(node, config_);
      return wrong.empty() ? Status() : Status(at(node.source(), path + ": " + wrong));
    }
    if (is_section(path)) {
      if (node.is_table()) return read(*node.as_table(), path + ".");
      return at(node.source(), path + ": is a section, written [" + path + "]");
    }
    std::vector<std::string> words = {"kernel_sync.tables"};
    for (const Key& known : keys()) words.push_back(known.path);
    const std::string meant = closest_word(path, words);
    return at(key.source(), "unknown key " + path, meant.empty() ? "" : "did you mean " + meant + "?");
  }

  // [kernel_sync.tables.100] on_pending = "unreachable"
  Status read_tables(const toml::node& node) {
    if (!node.is_table()) return at(node.source(), "kernel_sync.tables: is a section, one for each table");
    for (const auto& [key, section] : *node.as_table()) {
      const std::string id(key.str());
      const bool digits =
          !id.empty() && id.size() <= 10 && id.find_first_not_of("0123456789") == std::string::npos;
      const uint64_t table = id == "main" ? kMainTable.value() : digits ? std::stoull(id) : 0;
      if (table == 0 || table > UINT32_MAX)
        return at(key.source(),
                  "kernel_sync.tables." + id + ": a table is main or a number of 1..4294967295");
      if (!section.is_table()) return at(section.source(), "kernel_sync.tables." + id + ": is a section");
      for (const auto& [name, value] : *section.as_table()) {
        if (name.str() != "on_pending")
          return at(name.source(), "unknown key kernel_sync.tables." + id + "." + std::string(name.str()),
                    "did you mean on_pending?");
        const std::optional<std::string> word = value.value<std::string>();
        if (word != "absent" && word != "unreachable")
          return at(value.source(), "on_pending: expected \"absent\" or \"unreachable\"");
        config_.unreachable_on_pending[TableId(static_cast<uint32_t>(table))] = word == "unreachable";
      }
    }
    return {};
  }

  const std::string name_;
  NodeConfig& config_;
};

}  // namespace

Status apply_config_text(const std::string& text, const std::string& name, NodeConfig& config) {
  try {
    const toml::table table = toml::parse(text, name);
    return FileReader(name, config).read(table, "");
  } catch (const toml::parse_error& error) {
    const auto where = error.source().begin;
    return Error{ErrorCode::kInvalidArgument,
                 name + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) + ": " +
                     std::string(error.description()),
                 "the file is TOML: https://toml.io"};
  }
}

Status apply_config_file(const std::string& path, NodeConfig& config) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    if (file.is_open() && file.peek() == std::ifstream::traits_type::eof())
      return {};  // an empty file says nothing
    return Error{ErrorCode::kNotFound, "config file " + path + " cannot be read",
                 "check the path given with --config"};
  }
  return apply_config_text(text.str(), path, config);
}

}  // namespace waypost::node
