// The truth behind the simulated log: what an engine like etcd holds, changed at once and in one order.
// Clients reach it through SimLog, which adds delays and faults.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "replication/log.h"
#include "tests/sim/sim_world.h"

namespace waypost::sim {

class SimLogServer {
 public:
  explicit SimLogServer(SimWorld& world) : world_(world) {}

  // All the verbs take effect now.
  replication::AppendResult append(Position position, const Hash128& previous, const std::string& bytes);
  // Entries from `from` on, none where it is beyond the head; kNotFound where it is trimmed.
  Result<std::vector<replication::RawEntry>> read(Position from, size_t max_bytes) const;
  replication::Tail tail() const { return {head_, hash_, revision_, halt_words_}; }
  void trim(Position below);
  Position first() const { return first_; }
  void halt(const std::string& words);
  Status publish(const replication::Presence& presence);
  Status withdraw(const std::string& name);
  // Of those that published within kPresenceUs: a lease.
  std::vector<replication::Presence> presences() const;
  // Calls `wake` once when the head has moved past `position` (or already has).
  void when_past(Position position, std::function<void()> wake);

  // What operators do to an engine: go back to an old state of it.
  struct Backup;
  Backup backup() const;
  // As it was before the last entry, where that is still there; else as it is.
  Backup one_back() const;
  void restore(const Backup& backup);
  void clear_halt() { halt_words_.clear(); }
  void set_full(bool full) { full_ = full; }

  // Every entry ever appended (since a restore: of the restored line), trimmed ones too. For the tests'
  // checks.
  const std::map<uint64_t, std::string>& history() const { return history_; }

  // The hash before each entry that was ever appended, on whatever line of the log.
  const std::map<Hash128, Hash128>& lineage() const { return lineage_; }

  struct Backup {
    std::map<uint64_t, std::string> entries;
    std::map<uint64_t, std::string> history;
    Position head;
    Hash128 hash;
    Position first;
    uint64_t revision = 0;
    std::string halt_words;
  };

 private:
  SimWorld& world_;
  std::map<uint64_t, std::string> entries_;
  std::map<uint64_t, std::string> history_;
  std::map<Hash128, Hash128> lineage_;
  Position head_;
  Hash128 hash_;
  Position first_{1};
  uint64_t revision_ = 1;
  std::string halt_words_;
  bool full_ = false;
  static constexpr uint64_t kPresenceUs = 10'000'000;
  struct Published {
    replication::Presence presence;
    uint64_t at_us = 0;
  };
  std::map<std::string, Published> members_;
  std::vector<std::pair<Position, std::function<void()>>> waiting_;
};

}  // namespace waypost::sim
