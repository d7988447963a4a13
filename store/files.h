// The few things a data directory needs of the file system: durable small files, a lock, the pointer to the
// database.
//
//   DIRECTORY/lock            held while the store is open; names the process
//   DIRECTORY/database        the pointer: the name of the database's subdirectory (LOG.md rule 11)
//   DIRECTORY/db-N/           RocksDB
//   DIRECTORY/durable_mark    durable_mark.h
//   DIRECTORY/damaged-wal-N/  copies of write-ahead logs that could not be read to their end
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/hash128.h"
#include "model/result.h"

namespace waypost::store {

// Ends the process with status 74 (the disk failed), with words: what was being done, and why it failed.
[[noreturn]] void end_process(std::string_view doing, std::string_view reason);

class DirectoryLock {
 public:
  // kFailedPrecondition where another open store holds it, naming the process.
  static Result<DirectoryLock> acquire(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int file) : file_(file) {}
  int file_;
};

Status make_directory(const std::string& path);  // an existing one is fine
Status sync_directory(const std::string& path);
// Write, sync, rename over, sync the directory: the file is the old one or the new one.
Status write_file_durably(const std::string& path, std::string_view content);
Result<std::string> read_file(const std::string& path);            // kNotFound where there is none
Status copy_file(const std::string& from, const std::string& to);  // synced
Status remove_tree(const std::string& path);                       // absent is fine

inline constexpr const char* kDatabasePrefix = "db";

// None where there is no pointer file.
Result<std::optional<std::string>> read_pointer(const std::string& directory);
Status write_pointer(const std::string& directory, const std::string& name);
// DIRECTORY/PREFIX-N for the lowest N above all that exist.
std::string fresh_name(const std::string& directory, const std::string& prefix);
bool any_named(const std::string& directory, const std::string& prefix);
// Removes every DIRECTORY/PREFIX-N but `kept`.
Status remove_others(const std::string& directory, const std::string& prefix, const std::string& kept);

// 128 random bits, for the ids minted at a genesis and by a restore; never called in apply.
Hash128 mint_id();

}  // namespace waypost::store
