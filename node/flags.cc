// Flags and environment, by CLI11.
#include <CLI/CLI.hpp>

#include "node/config.h"
#include "node/version.h"

namespace waypost::node {

namespace {

struct Given {
  std::string config_file;
  std::string log;
  bool version = false;
  std::map<std::string, std::string> texts;
};

void add_flags(CLI::App& app, NodeConfig& config, Given& given) {
  const auto text = [&](const char* flag, const char* environment, const char* help) {
    app.add_option(flag, given.texts[flag], help)->envname(environment);
  };
  text("--name", "WAYPOST_NAME", "this node's name, unique in its cluster");
  text("--data-dir", "WAYPOST_DATA_DIR", "directory of its own for the store");
  text("--listen", "WAYPOST_LISTEN", "HOST:PORT for clients (default 127.0.0.1:7601)");
  text("--http", "WAYPOST_HTTP", "HOST:PORT for /livez, /readyz and /metrics (default: none)");
  text("--advertise", "WAYPOST_ADVERTISE",
       "HOST:PORT under which others reach this node (default: --listen)");
  text("--cluster", "WAYPOST_CLUSTER", "the cluster's name in etcd");
  text("--log-level", "WAYPOST_LOG_LEVEL", "debug, info, warning or error (default info)");
  text("--etcd-ca", "WAYPOST_ETCD_CA", "CA certificate file of the etcd servers");
  text("--etcd-cert", "WAYPOST_ETCD_CERT", "client certificate file for etcd");
  text("--etcd-key", "WAYPOST_ETCD_KEY", "its key file");
  text("--etcd-user", "WAYPOST_ETCD_USER", "user for etcd");
  text("--etcd-password-file", "WAYPOST_ETCD_PASSWORD_FILE", "file with that user's password");
  app.add_option("--log", given.log,
                 "where the log is: local (default), etcd://HOST:PORT,... or etcds://HOST:PORT,...")
      ->envname("WAYPOST_LOG");
  app.add_option("--config", given.config_file, "TOML file; flags and environment come before it")
      ->envname("WAYPOST_CONFIG");
  app.add_flag("--bootstrap", config.bootstrap, "make the store where there is none; harmless later");
  app.add_flag("--join", config.join, "join a cluster that exists; wait for it where it does not yet");
  app.add_flag("--kernel-sync", config.kernel_sync, "bring the routes into this network namespace's kernel");
  app.add_flag("--etcd-dedicated", config.etcd.dedicated, "this etcd is Waypost's alone: compact it");
  app.add_flag("--check-config", config.check_only, "check flags and file, and end");
  app.add_flag("--release", config.release,
               "take our routes and nexthops out of the kernel, offline, and end");
  app.add_option("--verify-snapshot", config.verify_snapshot, "check a saved snapshot, and end");
  app.add_option("--restore-snapshot", config.restore_snapshot,
                 "make the store of --data-dir what a saved snapshot holds, offline, and end");
  app.add_flag("--version", given.version, "print the version, and end");
}

// Flags over file.
void overlay(const Given& given, NodeConfig& config) {
  const std::map<std::string, std::string*> targets = {
      {"--name", &config.name},
      {"--data-dir", &config.data_dir},
      {"--listen", &config.listen},
      {"--http", &config.http},
      {"--advertise", &config.advertise},
      {"--cluster", &config.cluster},
      {"--log-level", &config.log_level},
      {"--etcd-ca", &config.etcd.ca_file},
      {"--etcd-cert", &config.etcd.cert_file},
      {"--etcd-key", &config.etcd.key_file},
      {"--etcd-user", &config.etcd.user},
      {"--etcd-password-file", &config.etcd.password_file},
  };
  for (const auto& [flag, value] : given.texts) {
    if (!value.empty()) *targets.at(flag) = value;
  }
}

// CLI11 names the argument but not what it may have been meant to be.
Error unknown_flag(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  std::string meant;
  for (const std::string& extra : app.remaining()) {
    if (meant.empty()) meant = closest_word(extra.substr(0, extra.find('=')), known);
  }
  std::string message = error.what();
  if (!message.empty() && message.back() == '\n') message.pop_back();
  return {ErrorCode::kInvalidArgument, message,
          meant.empty() ? "waypostd --help lists the flags" : "did you mean " + meant + "?"};
}

}  // namespace

Result<ParsedFlags> parse_flags(int argc, const char* const* argv) {
  CLI::App app("waypostd: a node of the distributed route store Waypost", "waypostd");
  NodeConfig flags;
  Given given;
  add_flags(app, flags, given);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return ParsedFlags{{}, app.help()};
  } catch (const CLI::ParseError& error) {
    return unknown_flag(app, error);
  }
  if (given.version) return ParsedFlags{{}, std::string("waypostd ") + kVersion + "\n"};
  ParsedFlags parsed;
  NodeConfig& config = parsed.config;
  if (!given.config_file.empty()) {
    if (Status status = apply_config_file(given.config_file, config); !status.ok()) return status.error();
  }
  overlay(given, config);
  if (!given.log.empty()) {
    if (Status status = apply_log_url(given.log, config); !status.ok()) return status.error();
  }
  config.bootstrap = config.bootstrap || flags.bootstrap;
  config.join = config.join || flags.join;
  config.kernel_sync = config.kernel_sync || flags.kernel_sync;
  config.etcd.dedicated = config.etcd.dedicated || flags.etcd.dedicated;
  config.check_only = flags.check_only;
  config.release = flags.release;
  config.verify_snapshot = flags.verify_snapshot;
  config.restore_snapshot = flags.restore_snapshot;
  if (Status status = complete(config); !status.ok()) return status.error();
  return parsed;
}

}  // namespace waypost::node
