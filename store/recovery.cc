#include <filesystem>

#include "model/bytes.h"
#include "model/mutant.h"
#include "store/files.h"
#include "store/keys.h"
#include "store/recovery_internal.h"

namespace waypost::store {
namespace {

// Written before the first database is made and removed behind its pointer: a making that was cut off is done
// again.
constexpr const char* kMakingName = "/making";

DatabaseOptions options_for(const StoreOptions& options) {
  return {.cache_bytes = options.cache_bytes, .write_buffer_bytes = options.write_buffer_bytes};
}

Error corruption(std::string words, std::string hint) {
  return {.code = ErrorCode::kCorruption, .message = std::move(words), .hint = std::move(hint)};
}

Error words_for(const rocksdb::Status& status, const std::string& path) {
  if (status.IsCorruption())
    return corruption("the database " + path + " is damaged: " + status.ToString(),
                      "restore this node from a snapshot, or let it join anew");
  return {.code = ErrorCode::kIo, .message = "opening the database " + path + ": " + status.ToString()};
}

// Keeps what could not be read for people to look at. Returns where.
Result<std::string> keep_damaged_logs(const std::string& directory, const std::string& database) {
  const std::string target = directory + "/" + fresh_name(directory, "damaged-wal");
  if (Status status = make_directory(target); !status.ok()) return status.error();
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(database, error)) {
    if (each.path().extension() != ".log") continue;
    const std::string name = each.path().filename().string();
    if (Status status = copy_file(each.path().string(), target + "/" + name); !status.ok())
      return status.error();
  }
  if (Status status = sync_directory(target); !status.ok()) return status.error();
  return target;
}

// The strict mode first: it opens behind a torn tail and refuses damage in the middle. Then up to the damage,
// with the logs kept aside; the mark decides whether that is enough.
Status open_either_way(const StoreOptions& options, const std::string& path, Opened* opened) {
  DatabaseOptions database_options = options_for(options);
  database_options.point_in_time = mutant("default_wal_mode");
  const rocksdb::Status strict = Database::open(path, database_options, &opened->database);
  if (strict.ok()) return {};
  if (!strict.IsCorruption()) return words_for(strict, path);
  auto kept = keep_damaged_logs(options.directory, path);
  if (!kept.ok()) return kept.error();
  database_options.point_in_time = true;
  if (!Database::open(path, database_options, &opened->database).ok()) return words_for(strict, path);
  opened->notes.push_back("the write-ahead log was damaged (" + strict.ToString() +
                          ") and was read up to the damage; a copy is in " + *kept);
  return {};
}

// The highest position whose entry or effect is here. Entries have keys of 8 bytes below 0xff.
Position reached(const Opened& opened) {
  const std::string last = opened.database->last_key(Table::kLog, "\xff");
  const uint64_t logged = last.size() == 8 ? load_big_endian<uint64_t>(last.data()) : 0;
  return Position(std::max(logged, opened.row.stamp.position.value()));
}

// The chain hash at the mark, where the entry or the applied position still tells it.
std::optional<Hash128> chain_at(const StoreOptions& options, const Opened& opened, Position position) {
  if (opened.row.stamp.position == position && opened.row.stamp.chain != Hash128{})
    return opened.row.stamp.chain;
  std::string key;
  append_u64(key, position.value());
  std::string row;
  if (!options.chain_of_log_row || !opened.database->get(Table::kLog, key, &row)) return std::nullopt;
  return options.chain_of_log_row(row).value_or(Hash128{});
}

std::string positions(Position here, Position marked) {
  return "ends at position " + std::to_string(here.value()) + ", the durable mark says " +
         std::to_string(marked.value());
}

Status check_mark(const StoreOptions& options, const DurableMark& mark, Opened* opened) {
  if (mutant("mark_not_checked")) return {};
  const Position applied = opened->row.stamp.position;
  if (mark.of == DurableMark::Of::kApplied) {
    if (applied < mark.position)
      opened->notes.push_back("the state " + positions(applied, mark.position) +
                              ": what is missing is read from the log again, or comes with a snapshot");
  } else if (const Position here = reached(*opened); here < mark.position) {
    return corruption(
        "data loss: the log " + positions(here, mark.position),
        "entries that were acknowledged are gone; restore from a snapshot, or bring back the directory "
        "as it was");
  }
  const auto chain = chain_at(options, *opened, mark.position);
  if (chain && *chain != mark.chain)
    return corruption("the log at position " + std::to_string(mark.position.value()) +
                          " is not the one that the durable mark was written for",
                      "this directory mixes files of two stores; restore from a snapshot");
  return {};
}

}  // namespace

Status create_database(const StoreOptions& options) {
  const std::string& directory = options.directory;
  const std::string making = directory + kMakingName;
  std::error_code error;
  if (std::filesystem::exists(making, error)) {
    if (Status status = remove_tree(directory + "/db-1"); !status.ok()) return status;
  } else if (any_named(directory, kDatabasePrefix)) {
    return corruption("the data directory " + directory + " holds a database but no file names it",
                      "write the name of the right db-N into " + directory + "/database");
  }
  if (Status status = write_file_durably(making, ""); !status.ok()) return status;
  const std::string name = "db-1";
  DatabaseOptions database_options = options_for(options);
  database_options.create = true;
  std::shared_ptr<Database> database;
  const rocksdb::Status made = Database::open(directory + "/" + name, database_options, &database);
  if (!made.ok()) return words_for(made, directory + "/" + name);
  StateRow row;
  row.stamp.cluster = options.cluster == Hash128{} ? mint_id() : options.cluster;
  row.stamp.history = options.history == Hash128{} ? mint_id() : options.history;
  rocksdb::WriteBatch batch;
  batch.Put(database->family(Table::kMeta), slice(kStateKey), encode(row));
  batch.Put(database->family(Table::kMeta), slice(kFloorKey), encode(Floor{}));
  database->write(batch, true, "making the store");
  database.reset();
  if (Status status = write_pointer(directory, name); !status.ok()) return status;
  return remove_tree(making);
}

Result<Opened> open_database(const StoreOptions& options, const std::string& name,
                             const std::optional<DurableMark>& mark) {
  const std::string path = options.directory + "/" + name;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    return corruption("the database " + path + " is not there",
                      "bring the directory back, or restore this node from a snapshot");
  Opened opened;
  if (Status status = open_either_way(options, path, &opened); !status.ok()) return status.error();
  std::string bytes;
  const bool found = opened.database->get(Table::kMeta, kStateKey, &bytes);
  const auto row = found ? decode_state_row(bytes) : std::nullopt;
  if (!row)
    return corruption(
        "the database " + path + (found ? " has an unknown form" : " has lost its state row"),
        found ? "it was written by a newer version: start that one" : "restore this node from a snapshot");
  opened.row = *row;
  if (!mark) opened.notes.push_back("there was no durable mark: lost entries would not be noticed");
  if (mark)
    if (Status status = check_mark(options, *mark, &opened); !status.ok()) return status.error();
  return opened;
}

}  // namespace waypost::store
