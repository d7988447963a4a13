#include "tests/sim/sim_store.h"

#include <utility>

#include "model/check.h"
#include "model/mutant.h"
#include "model/row_codec.h"
#include "store/keys.h"
#include "store/read_view_internal.h"
#include "store/snapshot_format.h"

namespace waypost::sim {

using store::Table;

namespace {

store::StateRow state_of(const MemoryTables& tables) {
  std::string bytes;
  WAYPOST_CHECK(tables.get(Table::kMeta, store::kStateKey, &bytes), "a disk has its state row");
  return *store::decode_state_row(bytes);
}

void put_state(MemoryTables& tables, const store::StateRow& row) {
  tables.put(Table::kMeta, store::kStateKey, store::encode(row));
  tables.put(Table::kMeta, store::kFloorKey,
             store::encode(store::Floor{.revision = row.stamp.revision, .digest = row.stamp.data_digest}));
}

}  // namespace

SimDisk SimDisk::fresh(const Hash128& cluster) {
  SimDisk disk;
  store::StateRow row;
  row.stamp.cluster = cluster;
  row.stamp.history = cluster;
  put_state(disk.synced, row);
  return disk;
}

void SimDisk::lose_power(SimWorld& world) {
  const uint64_t kept = world.pick(Concern::kDisk, 0, unsynced.size());
  if (kept < unsynced.size()) world.reach("unsynced writes lost");
  while (unsynced.size() > kept) unsynced.pop_back();
}

SimStore::SimStore(SimDisk& disk) : disk_(disk), tables_(disk.synced) {
  for (const RowBatch& batch : disk_.unsynced) tables_.write(batch);
  machine_ = std::make_unique<store::StateMachine>(tables_, state_of(tables_));
}

std::vector<std::string> SimStore::apply(const replication::AppliedEntry& entry) {
  const std::vector<std::string_view> proposals(entry.proposals.begin(), entry.proposals.end());
  std::vector<std::string> answers = machine_->apply(
      {.position = entry.position, .time_us = entry.time_us, .chain = entry.hash, .proposals = proposals});
  RowBatch batch;
  for (size_t i = 0; i < store::kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    machine_->overlay().for_each_dirty(table, [&](std::string_view key, const store::Overlay::Row& row) {
      batch.push_back({table, std::string(key), std::string(row.value), row.present});
    });
  }
  for (const auto& [key, value] : machine_->change_rows()) batch.push_back({Table::kChange, key, value});
  batch.push_back({Table::kMeta, std::string(store::kStateKey), store::encode(machine_->row())});
  tables_.write(batch);
  machine_->committed();
  disk_.unsynced.push_back(std::move(batch));
  return answers;
}

Position SimStore::sync() {
  for (const RowBatch& batch : disk_.unsynced) disk_.synced.write(batch);
  disk_.unsynced.clear();
  return stamp().position;
}

store::ReadView SimStore::view() const {
  return store::ReadViewAccess::over(std::make_unique<MemoryTables>(tables_));
}

SimSnapshotSink::SimSnapshotSink() : checked_(std::move(store::SnapshotSink::create({})).value()) {}

Status SimSnapshotSink::add(std::string_view bytes) {
  if (Status status = checked_->add(bytes); !status.ok()) return status;
  const auto chunk = store::decode_chunk(bytes, number_++);
  if (chunk->kind == store::ChunkKind::kHeader) {
    auto row = store::decode_state_row(chunk->payload.substr(store::kSnapshotMagic.size()));
    row->history_bytes = 0;
    put_state(built_, *row);
  }
  if (chunk->kind != store::ChunkKind::kRows) return {};
  const auto table = static_cast<Table>(chunk->payload.front());
  RowBlockReader rows(chunk->payload.substr(1));
  std::string_view key;
  std::string_view value;
  while (rows.next(&key, &value)) built_.put(table, key, value);
  return {};
}

SimDisk SimSnapshotSink::finish(uint64_t engine_revision) {
  WAYPOST_CHECK(done(), "only a whole snapshot becomes a disk");
  SimDisk disk;
  disk.synced = std::move(built_);
  if (mutant("sim_switch_before_synced")) {
    std::string state;
    disk.synced.get(Table::kMeta, store::kStateKey, &state);
    const MemoryTables whole = std::exchange(disk.synced, SimDisk::fresh({}).synced);
    for (const Table table : store::kSnapshotTables)
      whole.scan(table, {}, {}, [&](std::string_view key, std::string_view value) {
        disk.unsynced.push_back({{table, std::string(key), std::string(value), true}});
        return true;
      });
    disk.synced.put(Table::kMeta, store::kStateKey, state);
  }
  disk.engine_revision = engine_revision;
  return disk;
}

}  // namespace waypost::sim
