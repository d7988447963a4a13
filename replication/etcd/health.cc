// What operators want to know of the etcd cluster under the log: each server, the leader, space, alarms, and
// what is set badly.
#include <algorithm>
#include <map>
#include <utility>

#include "replication/etcd/etcd.pb.h"
#include "replication/etcd/etcd_log.h"
#include "replication/etcd/etcd_log_core.h"
#include "replication/etcd/requests.h"

namespace waypost::replication {
namespace {

constexpr uint64_t kHealthTimeoutMs = 2'000;
// Revisions that a cluster with auto-compaction does not keep for long.
constexpr int64_t kManyRevisions = 200'000;

// Collected from several calls; the last one to come answers.
struct Collected {
  Log::Health health;
  size_t outstanding = 0;
  size_t answering = 0;
  uint64_t leader = 0;
  int64_t revision = 0;
  std::map<uint64_t, std::string> names;
  std::function<void(Result<Log::Health>)> done;
};

std::string megabytes(uint64_t bytes) {
  return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB";
}

std::string name_of(const Collected& all, uint64_t member) {
  const auto found = all.names.find(member);
  return found == all.names.end() || found->second.empty() ? std::to_string(member) : found->second;
}

void take_status(Collected& all, const std::string& endpoint, const EtcdOptions& options,
                 const EtcdAnswer& answer) {
  etcd::StatusResponse status;
  if (!answer.status.ok() || !status.ParseFromString(answer.bytes)) {
    const std::string words = answer.status.ok() ? "unreadable answer" : answer.status.error().message;
    all.health.facts.emplace_back("server " + endpoint, "not reached");
    all.health.problems.push_back(words);
    return;
  }
  ++all.answering;
  all.leader = std::max(all.leader, status.leader());
  all.revision = std::max(all.revision, status.header().revision());
  const uint64_t quota =
      status.dbsizequota() > 0 ? static_cast<uint64_t>(status.dbsizequota()) : options.quota_bytes;
  const auto size = static_cast<uint64_t>(status.dbsize());
  all.health.facts.emplace_back(
      "server " + endpoint,
      "etcd " + status.version() + ", database " + megabytes(size) + " of " + megabytes(quota) + ", in use " +
          megabytes(static_cast<uint64_t>(status.dbsizeinuse())) + ", raft term " +
          std::to_string(status.raftterm()) + ", index " + std::to_string(status.raftindex()));
  if (size > quota / 5 * 4) {
    all.health.problems.push_back("etcd at " + endpoint + " has filled " + megabytes(size) + " of " +
                                  megabytes(quota) +
                                  ": compact and defragment it, or raise --quota-backend-bytes");
  }
  if (status.leader() == 0)
    all.health.problems.push_back("etcd at " + endpoint +
                                  " knows no leader: is a majority of its servers up?");
}

void take_alarms(Collected& all, const EtcdAnswer& answer) {
  etcd::AlarmResponse response;
  if (!answer.status.ok() || !response.ParseFromString(answer.bytes)) return;
  std::string names;
  for (const etcd::AlarmMember& alarm : response.alarms()) {
    const bool full = alarm.alarm() == etcd::AlarmRequest::NOSPACE;
    names += (names.empty() ? "" : ", ") + std::string(full ? "NOSPACE" : "CORRUPT") + " at " +
             name_of(all, alarm.memberid());
    all.health.problems.push_back(
        full ? "etcd raised NOSPACE at " + name_of(all, alarm.memberid()) +
                   ": trim the log, then etcdctl compact REV, etcdctl defrag, etcdctl alarm disarm"
             : "etcd raised CORRUPT at " + name_of(all, alarm.memberid()) +
                   ": replace that server's data; see etcd's disaster recovery page");
  }
  all.health.facts.emplace_back("alarms", names.empty() ? "none" : names);
}

void take_members(Collected& all, const EtcdAnswer& answer) {
  etcd::MemberListResponse response;
  if (!answer.status.ok() || !response.ParseFromString(answer.bytes)) return;
  for (const etcd::Member& member : response.members()) all.names[member.id()] = member.name();
  all.health.facts.emplace_back("servers", std::to_string(response.members_size()));
}

void answer(Collected& all) {
  if (all.answering > 0)
    all.health.facts.emplace_back("leader", all.leader == 0 ? "none" : name_of(all, all.leader));
  all.health.facts.emplace_back("snapshot count",
                                "not shown by etcd; --snapshot-count 5000 keeps its memory small");
  all.health.healthy = all.health.problems.empty();
  all.done(std::move(all.health));
}

}  // namespace

void EtcdLog::health(std::function<void(Result<Health>)> done) {
  auto all = std::make_shared<Collected>();
  all->done = std::move(done);
  all->health.facts = {{"engine", "etcd"}, {"log", core_->options.cluster}};
  const std::vector<std::string>& endpoints = core_->client->endpoints();
  const auto finish_one = [core = core_, all] {
    if (--all->outstanding > 0) return;
    if (all->answering == 0 || core->options.dedicated || all->revision <= kManyRevisions)
      return answer(*all);
    // An old revision that can still be read means that nothing compacts this etcd.
    etcd::RangeRequest old;
    old.set_key(core->keys.genesis());
    old.set_revision(all->revision - kManyRevisions);
    core->client->call(
        "/etcdserverpb.KV/Range", old.SerializeAsString(), kHealthTimeoutMs, [all](const EtcdAnswer& found) {
          if (found.status.ok()) {
            all->health.problems.push_back("etcd keeps more than " + std::to_string(kManyRevisions) +
                                           " old revisions: start it with --auto-compaction-mode=revision "
                                           "--auto-compaction-retention=1000, or, where "
                                           "nobody else uses it, start the members with --etcd-dedicated");
          }
          answer(*all);
        });
  };
  all->outstanding = endpoints.size() + 2;
  const auto ask_alarms = [core = core_, all, finish_one] {
    etcd::AlarmRequest alarms;
    alarms.set_action(etcd::AlarmRequest::GET);
    core->client->call("/etcdserverpb.Maintenance/Alarm", alarms.SerializeAsString(), kHealthTimeoutMs,
                       [all, finish_one](const EtcdAnswer& found) {
                         take_alarms(*all, found);
                         finish_one();
                       });
  };
  // Names first, so that alarms can use them.
  core_->client->call("/etcdserverpb.Cluster/MemberList", "", kHealthTimeoutMs,
                      [all, finish_one, ask_alarms](const EtcdAnswer& found) {
                        take_members(*all, found);
                        ask_alarms();
                        finish_one();
                      });
  for (size_t i = 0; i < endpoints.size(); ++i) {
    core_->client->call_at(i, "/etcdserverpb.Maintenance/Status", "", kHealthTimeoutMs,
                           [core = core_, all, finish_one, endpoint = endpoints[i]](const EtcdAnswer& found) {
                             take_status(*all, endpoint, core->options, found);
                             finish_one();
                           });
  }
}

}  // namespace waypost::replication
