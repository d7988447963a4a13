// A member's start, before its store is opened (LOG.md rules 9 and 10).
#include <cstdio>
#include <fstream>

#include "node/engine.h"
#include "node/logging.h"
#include "node/snapshot_fetch.h"
#include "replication/etcd/etcd_log.h"
#include "replication/local_log.h"
#include "store/files.h"

namespace waypost::node {

namespace {

using replication::EtcdLog;
using replication::Genesis;

constexpr uint64_t kRetryUs = 1'000'000;
constexpr uint64_t kTellEveryUs = 10'000'000;
// A server that does not answer is waited for this long by a node that has to make the log; one that joins
// waits for ever.
constexpr uint64_t kMakeWaitUs = 60'000'000;

Error told_to_stop() {
  return {ErrorCode::kUnavailable, "told to stop while it waited for its cluster", ""};
}

std::string read_password(const std::string& path) {
  std::ifstream file(path);
  std::string password;
  std::getline(file, password);
  return password;
}

replication::EtcdOptions etcd_options(const NodeConfig& config) {
  replication::EtcdOptions options;
  for (const std::string& endpoint : config.etcd.endpoints) {
    options.endpoints.push_back((config.etcd.tls ? "https://" : "http://") + endpoint);
  }
  options.cluster = config.cluster;
  options.ca_file = config.etcd.ca_file;
  options.certificate_file = config.etcd.cert_file;
  options.key_file = config.etcd.key_file;
  options.user = config.etcd.user;
  if (!config.etcd.password_file.empty()) options.password = read_password(config.etcd.password_file);
  options.dedicated = config.etcd.dedicated;
  return options;
}

// Asks and waits for the answer on the thread that will be the order thread.
template <typename Value, typename Ask>
Result<Value> await(OrderThread& order, Ask&& ask) {
  const auto answer = std::make_shared<std::optional<Result<Value>>>();
  ask([answer](Result<Value> result) { *answer = std::move(result); });
  if (!order.run_until([&answer] { return answer->has_value(); })) return told_to_stop();
  return std::move(**answer);
}

bool pause(OrderThread& order, uint64_t delay_us) {
  const auto over = std::make_shared<bool>(false);
  order.after(delay_us, [over] { *over = true; });
  return order.run_until([&over] { return *over; });
}

class PlaceFinder {
 public:
  PlaceFinder(const NodeConfig& config, OrderThread& order, const PlaceEvents& events)
      : config_(config), order_(order), events_(events), begun_us_(order.monotonic_us()) {}

  Result<ClusterPlace> find(const std::optional<store::StateStamp>& ours) {
    Result<std::unique_ptr<EtcdLog>> log = EtcdLog::open(etcd_options(config_), order_.executor());
    if (!log.ok()) return log.error();
    log_ = std::move(*log);
    const Result<Genesis> genesis = find_genesis(ours);
    if (!genesis.ok()) return genesis.error();
    place_.cluster = genesis->cluster;
    if (ours && ours->cluster != genesis->cluster) return foreign_directory(*ours, *genesis);
    if (ours) events_.belongs();
    if (Status status = claim(); !status.ok()) return status.error();
    if (Status status = catch_up(ours, *genesis); !status.ok()) return status.error();
    place_.log = std::move(log_);
    return std::move(place_);
  }

 private:
  // True: told to wait and ask again.
  bool wait_again(const Error& why) {
    events_.stage("waiting for " + log_->describe() + ": " + why.message);
    const uint64_t now_us = order_.monotonic_us();
    if (told_us_ == 0 || now_us - told_us_ >= kTellEveryUs) {
      told_us_ = now_us;
      log_warning("waiting for " + log_->describe() + ": " + in_words(why));
    }
    return pause(order_, kRetryUs);
  }

  Result<Genesis> find_genesis(const std::optional<store::StateStamp>& ours) {
    while (true) {
      Result<Genesis> found = await<Genesis>(order_, [this](auto done) { log_->genesis(std::move(done)); });
      if (found.ok()) return found;
      const bool absent = found.error().code == ErrorCode::kNotFound;
      if (absent && ours && ours->position.value() > 0) return lost_log(*ours);
      if (absent && !config_.join) {
        found = make_genesis(ours);
        if (found.ok() || found.error().code != ErrorCode::kFailedPrecondition) return found;
        continue;  // another node was faster: its log is ours
      }
      const bool gives_up = !config_.join && !ours && order_.monotonic_us() - begun_us_ > kMakeWaitUs;
      if (!absent && found.error().code != ErrorCode::kUnavailable &&
          found.error().code != ErrorCode::kDeadlineExceeded)
        return found;
      if (gives_up) return found;
      if (!wait_again(found.error())) return told_to_stop();
    }
  }

  Result<Genesis> make_genesis(const std::optional<store::StateStamp>& ours) {
    if (!config_.bootstrap) {
      return Error{ErrorCode::kNotFound, log_->describe() + " holds no log yet",
                   "start one node with --bootstrap to make it; the others with --join"};
    }
    Genesis genesis;
    genesis.cluster = ours ? ours->cluster : store::mint_id();
    const Status made =
        await<void>(order_, [this, &genesis](auto done) { log_->create_genesis(genesis, std::move(done)); });
    if (!made.ok()) return made.error();
    log_info("made the log of a new cluster in " + log_->describe());
    return genesis;
  }

  Error lost_log(const store::StateStamp& ours) const {
    return {ErrorCode::kFailedPrecondition,
            log_->describe() + " holds no log, but the store in " + config_.data_dir +
                " has applied position " + std::to_string(ours.position.value()) + " of one",
            "a node that kept its own log is brought there with `waypost cluster grow`; if etcd lost its "
            "data, restore it from a backup, or "
            "save a snapshot of the newest member and begin anew from it"};
  }

  Error foreign_directory(const store::StateStamp& ours, const Genesis& genesis) const {
    return {ErrorCode::kFailedPrecondition,
            "the store in " + config_.data_dir + " belongs to cluster " + to_string(ours.cluster) + ", " +
                log_->describe() + " to cluster " + to_string(genesis.cluster),
            "check --data-dir, --log and --cluster; to join that cluster with this node, give it an empty "
            "data directory"};
  }

  // A live member of our name at another address is another machine: two would take the name from each other
  // for ever.
  Status claim() {
    while (true) {
      Result<std::vector<replication::Presence>> present = await<std::vector<replication::Presence>>(
          order_, [this](auto done) { log_->presences(std::move(done)); });
      if (present.ok()) {
        presences_ = std::move(*present);
        for (const replication::Presence& presence : presences_) {
          if (presence.name == config_.name && presence.address != config_.advertise)
            return name_taken(presence);
        }
        const Result<uint64_t> claimed = await<uint64_t>(
            order_, [this](auto done) { log_->claim_incarnation(config_.name, std::move(done)); });
        if (claimed.ok()) {
          place_.incarnation = *claimed;
          return {};
        }
        present = claimed.error();
      }
      if (present.error().code == ErrorCode::kFailedPrecondition) return present.error();
      if (!wait_again(present.error())) return told_to_stop();
    }
  }

  Error name_taken(const replication::Presence& presence) const {
    return {ErrorCode::kFailedPrecondition,
            "a member named " + config_.name + " is alive at " + presence.address + " (incarnation " +
                std::to_string(presence.incarnation) + "), and this node is " + config_.advertise,
            "give each node its own --name; if that one is gone for good, its presence ends within 10 s"};
  }

  // Entries that are trimmed come as a snapshot of another member.
  Status catch_up(const std::optional<store::StateStamp>& ours, const Genesis& genesis) {
    while (true) {
      const Result<Position> first =
          await<Position>(order_, [this](auto done) { log_->first(std::move(done)); });
      if (first.ok()) {
        const Position have = ours ? ours->position : Position(0);
        if (have.next() >= *first && have >= genesis.position) return {};
        const Result<uint64_t> fetched = fetch_from_members(*first);
        if (fetched.ok()) {
          place_.snapshot_bytes = *fetched;
          return {};
        }
        if (!wait_again(fetched.error())) return told_to_stop();
        refresh_presences();
      } else if (!wait_again(first.error())) {
        return told_to_stop();
      }
    }
  }

  Result<uint64_t> fetch_from_members(Position first) {
    Error last{ErrorCode::kUnavailable,
               "the log begins at position " + std::to_string(first.value()) +
                   ", and no other member is alive to give a snapshot",
               "start another member, or restore this one from a saved snapshot"};
    for (const replication::Presence& presence : presences_) {
      if (presence.name == config_.name || presence.applied.next() < first) continue;
      events_.close_store();
      log_info("fetching a snapshot of member " + presence.name + " at " + presence.address);
      const Result<uint64_t> fetched = fetch_snapshot(
          presence.address, config_.data_dir, place_.cluster, [this, &presence](uint64_t bytes) {
            events_.stage("fetching a snapshot of member " + presence.name + ", " +
                          std::to_string(bytes >> 20) + " MiB so far");
          });
      if (fetched.ok()) return fetched;
      last = fetched.error();
    }
    return last;
  }

  void refresh_presences() {
    Result<std::vector<replication::Presence>> present = await<std::vector<replication::Presence>>(
        order_, [this](auto done) { log_->presences(std::move(done)); });
    if (present.ok()) presences_ = std::move(*present);
  }

  const NodeConfig& config_;
  OrderThread& order_;
  const PlaceEvents& events_;
  const uint64_t begun_us_;
  uint64_t told_us_ = 0;
  std::unique_ptr<EtcdLog> log_;
  ClusterPlace place_;
  std::vector<replication::Presence> presences_;
};

std::string revision_path(const std::string& data_dir) {
  return data_dir + "/engine_revision";
}
std::string cluster_path(const std::string& data_dir) {
  return data_dir + "/cluster_name";
}

// A hint, not a promise: what is lost of it makes a check weaker, never wrong. So it is not synced.
void write_hint(const std::string& path, const std::string& words) {
  {
    std::ofstream file(path + ".new", std::ios::trunc);
    file << words << "\n";
    if (!file) return;
  }
  std::rename((path + ".new").c_str(), path.c_str());
}

}  // namespace

Result<ClusterPlace> find_place(const NodeConfig& config, OrderThread& order,
                                const std::optional<store::StateStamp>& ours, const PlaceEvents& events) {
  return PlaceFinder(config, order, events).find(ours);
}

void grow(const NodeConfig& config, replication::LocalLog& local, const Hash128& cluster, OrderThread& order,
          std::function<void(Status)> done) {
  Result<std::unique_ptr<EtcdLog>> opened = EtcdLog::open(etcd_options(config), order.executor());
  if (!opened.ok()) return done(opened.error());
  const std::shared_ptr<EtcdLog> target = std::move(*opened);
  replication::Seal seal;
  if (const std::optional<replication::Seal> sealed = local.sealed()) {
    seal = *sealed;  // a growth that was cut off goes on where it was
  } else {
    seal.target = target->describe();
    seal.cluster = cluster;
    seal.position = local.head().position;
    seal.hash = local.head().hash;
  }
  // It goes only when none of its own callbacks runs any more.
  replication::grow(local, *target, seal, [target, &order, done = std::move(done)](Status status) {
    order.post([target] {});
    done(std::move(status));
  });
}

Engine engine_of(ClusterPlace place, const NodeConfig& config) {
  Engine engine;
  engine.log = std::move(place.log);
  engine.name = "etcd";
  engine.clustered = true;
  engine.incarnation = place.incarnation;
  engine.snapshot_bytes = place.snapshot_bytes;
  engine.highest_revision = remembered_engine_revision(config.data_dir);
  return engine;
}

// Every member of a cluster that begins empty must mint the same history id, so it is the cluster's own.
store::StoreOptions with_cluster(store::StoreOptions options, const Hash128& cluster) {
  options.cluster = cluster;
  options.history = cluster;
  return options;
}

void remember_cluster(const NodeConfig& config) {
  write_hint(cluster_path(config.data_dir), config.cluster);
}

bool remembers_cluster(const NodeConfig& config) {
  std::ifstream file(cluster_path(config.data_dir));
  std::string name;
  return std::getline(file, name) && name == config.cluster;
}

// For the check of LOG.md rule 2.
void remember_engine_revision(const std::string& data_dir, uint64_t revision) {
  write_hint(revision_path(data_dir), std::to_string(revision));
}

uint64_t remembered_engine_revision(const std::string& data_dir) {
  std::ifstream file(revision_path(data_dir));
  uint64_t revision = 0;
  return file >> revision ? revision : 0;
}

}  // namespace waypost::node
