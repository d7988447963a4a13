// The store's own rules on a disk that forgets: entries go through store::StateMachine, each one's rows are
// one record, and a crash keeps a prefix of the records that were not synced. Snapshots are cut and checked
// by the store's own code.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "replication/replica.h"
#include "store/snapshot.h"
#include "store/state_machine.h"
#include "tests/sim/memory_tables.h"
#include "tests/sim/sim_world.h"

namespace waypost::sim {

// What survives the process. The small file beside the database holds what the engine was seen at.
struct SimDisk {
  MemoryTables synced;
  std::deque<RowBatch> unsynced;
  uint64_t engine_revision = 0;

  static SimDisk fresh(const Hash128& cluster);
  // The power goes: what was not synced is there up to some record.
  void lose_power(SimWorld& world);
};

class SimStore {
 public:
  explicit SimStore(SimDisk& disk);

  std::vector<std::string> apply(const replication::AppliedEntry& entry);
  Position sync();  // what is durable afterwards
  const store::StateStamp& stamp() const { return machine_->row().stamp; }
  store::ReadView view() const;
  const MemoryTables& tables() const { return tables_; }

 private:
  SimDisk& disk_;
  MemoryTables tables_;
  std::unique_ptr<store::StateMachine> machine_;
};

// Takes a snapshot's chunks, in order, through the store's checks; a new disk comes of it only at the end.
class SimSnapshotSink {
 public:
  SimSnapshotSink();
  Status add(std::string_view chunk);
  bool done() const { return checked_->done(); }
  // LOG.md rule 11: the new database is complete and synced before anything points to it.
  SimDisk finish(uint64_t engine_revision);

 private:
  std::unique_ptr<store::SnapshotSink> checked_;
  MemoryTables built_;
  uint32_t number_ = 0;
};

}  // namespace waypost::sim
