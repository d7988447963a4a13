#include "store/store.h"

#include <filesystem>
#include <mutex>

#include "model/check.h"
#include "model/mutant.h"
#include "store/commit_internal.h"
#include "store/control.h"
#include "store/durable_mark.h"
#include "store/files.h"
#include "store/keys.h"
#include "store/read_view_internal.h"
#include "store/recovery_internal.h"
#include "store/verify.h"

namespace waypost::store {

struct Store::Impl {
  Impl(DirectoryLock held, DurableMarkFile mark, Opened opened)
      : lock(std::move(held)),
        mark_file(std::move(mark)),
        database(std::move(opened.database)),
        notes(std::move(opened.notes)),
        sweeper(*database),
        machine(*database, opened.row),
        published(opened.row) {}

  DirectoryLock lock;
  mutable std::mutex mark_mutex;
  DurableMarkFile mark_file;
  std::shared_ptr<Database> database;
  std::vector<std::string> notes;
  TombstoneSweeper sweeper;
  StateMachine machine;
  std::function<void(Revision)> listener;
  mutable std::mutex published_mutex;
  StateRow published;  // what other threads may see of machine.row()

  Floor floor(const TableReader& tables) const {
    std::string bytes;
    WAYPOST_CHECK(tables.get(Table::kMeta, kFloorKey, &bytes), "an open store has its history's floor");
    const auto floor = decode_floor(bytes);
    WAYPOST_CHECK(floor.has_value(), "the floor follows its grammar");
    return *floor;
  }

  uint64_t setting(std::string_view name) const {
    std::string value;
    const bool stored = database->get(Table::kControl, std::string(kSettingPrefix).append(name), &value);
    return setting_or_default(name, stored ? std::optional(value) : std::nullopt);
  }
};

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
  if (options.create)
    if (Status status = make_directory(options.directory); !status.ok()) return status.error();
  const Error absent{.code = ErrorCode::kNotFound,
                     .message = "there is no store in " + options.directory,
                     .hint = "start once with --bootstrap to make one, or with --join to join a cluster"};
  std::error_code error;
  if (!std::filesystem::exists(options.directory, error)) return absent;
  auto lock = DirectoryLock::acquire(options.directory);
  if (!lock.ok()) return lock.error();
  auto pointer = read_pointer(options.directory);
  if (!pointer.ok()) return pointer.error();
  if (!*pointer && !options.create) return absent;
  if (!*pointer)
    if (Status status = create_database(options); !status.ok()) return status.error();
  const bool made = !*pointer;
  pointer = read_pointer(options.directory);
  if (!pointer.ok()) return pointer.error();
  auto mark = DurableMarkFile::open(options.directory + "/durable_mark");
  if (!mark.ok()) return mark.error();
  if (made) mark->write({});
  auto opened = open_database(options, **pointer, mark->mark());
  if (!opened.ok()) return opened.error();
  // Half-built databases of snapshots that were cut off, or an old one that a switch left behind.
  if (Status status = remove_others(options.directory, kDatabasePrefix, **pointer); !status.ok())
    return status.error();
  return std::unique_ptr<Store>(new Store(
      std::make_unique<Impl>(std::move(lock).value(), std::move(mark).value(), std::move(opened).value())));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

std::vector<std::string> Store::apply(const EntryInput& entry) {
  StateMachine& machine = impl_->machine;
  const Revision before = machine.row().stamp.revision;
  std::vector<std::string> answers = machine.apply(entry);
  rocksdb::WriteBatch batch;
  append_to_batch(*impl_->database, machine, &impl_->sweeper, &batch);
  impl_->database->write(batch, false, "applying an entry");
  machine.committed();
  impl_->sweeper.sweep_where_due();
  {
    const std::lock_guard guard(impl_->published_mutex);
    impl_->published = machine.row();
  }
  if (impl_->listener && machine.row().stamp.revision != before)
    impl_->listener(machine.row().stamp.revision);
  return answers;
}

Position Store::sync() {
  const Position applied = impl_->machine.row().stamp.position;
  impl_->database->sync_wal();
  return applied;
}

void Store::note_durable(const DurableMark& mark) {
  const std::lock_guard guard(impl_->mark_mutex);
  impl_->mark_file.write(mark);
}

std::optional<DurableMark> Store::durable_mark() const {
  const std::lock_guard guard(impl_->mark_mutex);
  return impl_->mark_file.mark();
}

const std::vector<std::string>& Store::notes() const {
  return impl_->notes;
}

ReadView Store::view() const {
  return ReadViewAccess::over(std::make_unique<DatabaseSnapshot>(impl_->database));
}

StateStamp Store::stamp() const {
  const std::lock_guard guard(impl_->published_mutex);
  return impl_->published.stamp;
}

Counts Store::counts() const {
  const std::lock_guard guard(impl_->published_mutex);
  return impl_->published.counts;
}

void Store::on_revision(std::function<void(Revision)> listener) {
  impl_->listener = std::move(listener);
}

Revision Store::oldest_history() const {
  return impl_->floor(*impl_->database).revision;
}

std::optional<Hash128> Store::digest_at(Revision revision) const {
  const DatabaseSnapshot tables(impl_->database);
  const Floor floor = impl_->floor(tables);
  if (revision == floor.revision) return floor.digest;
  std::string value;
  if (revision < floor.revision || !tables.get(Table::kChange, change_key(revision, 0), &value))
    return std::nullopt;
  const auto header = read_change_header(value);
  WAYPOST_CHECK(header.has_value(), "a change row follows its grammar");
  return header->digest;
}

Result<std::vector<ChangeSet>> Store::changes_after(Revision after, size_t max_bytes) const {
  const DatabaseSnapshot tables(impl_->database);
  const Floor floor = impl_->floor(tables);
  if (after < floor.revision && !mutant("compaction_hides"))
    return Error{.code = ErrorCode::kNotFound,
                 .message = "the changes behind revision " + std::to_string(after.value()) +
                            " are compacted; the oldest kept is " + std::to_string(floor.revision.value()),
                 .hint = "start from a full listing"};
  std::vector<ChangeSet> sets;
  size_t bytes = 0;
  ChangeAssembler assembler;
  tables.scan(Table::kChange, change_key(after.next(), 0), {},
              [&](std::string_view key, std::string_view value) {
                if (assembler.complete() && bytes >= max_bytes) return false;
                WAYPOST_CHECK(assembler.add(key, value), "change rows follow their grammar, chunk by chunk");
                bytes += value.size();
                if (assembler.complete()) sets.push_back(std::move(assembler.change_set()));
                return true;
              });
  return sets;
}

void Store::trim_history() {
  impl_->sweeper.sweep_all();
  const StateRow& row = impl_->machine.row();
  const Floor floor = impl_->floor(*impl_->database);
  const uint64_t newest = row.stamp.revision.value();
  const uint64_t revisions = impl_->setting("history.revisions");
  uint64_t keep_from = std::max(floor.revision.value(), newest > revisions ? newest - revisions : 0);
  const uint64_t bytes = impl_->setting("history.bytes");
  const auto header_of = [&](uint64_t revision) {
    std::string value;
    WAYPOST_CHECK(impl_->database->get(Table::kChange, change_key(Revision(revision), 0), &value),
                  "the history is dense above its floor");
    const auto header = read_change_header(value);
    WAYPOST_CHECK(header.has_value(), "a change row follows its grammar");
    return *header;
  };
  // The lowest revision whose successors fit the bytes: their sum falls as it rises. The newest one always
  // stays.
  uint64_t high = newest == 0 ? 0 : newest - 1;
  while (keep_from < high) {
    const uint64_t middle = keep_from + (high - keep_from) / 2;
    if (row.history_bytes - header_of(middle + 1).history_bytes <= bytes)
      high = middle;
    else
      keep_from = middle + 1;
  }
  if (keep_from <= floor.revision.value() || keep_from >= newest) return;
  const Floor next{.revision = Revision(keep_from),
                   .digest = header_of(keep_from).digest,
                   .history_bytes = header_of(keep_from + 1).history_bytes};
  rocksdb::WriteBatch batch;
  rocksdb::ColumnFamilyHandle* family = impl_->database->family(Table::kChange);
  const std::string until = change_key(next.revision.next(), 0);
  must(batch.DeleteRange(family, rocksdb::Slice(), slice(until)), "trimming the history");
  batch.Put(impl_->database->family(Table::kMeta), slice(kFloorKey), encode(next));
  impl_->database->write(batch, false, "trimming the history");
}

Status Store::verify() const {
  return verify_tables(DatabaseSnapshot(impl_->database));
}

rocksdb::DB* Store::database() const {
  return impl_->database->db();
}

rocksdb::ColumnFamilyHandle* Store::log_family() const {
  return impl_->database->family(Table::kLog);
}

}  // namespace waypost::store
