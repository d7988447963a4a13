// The durable mark: a small file outside RocksDB that says how far the disk is known to hold the log or the
// state, so that a recovery which lost synced rows is recognised (LOG.md, "Opening a store after a crash").
//
//   file := slot slot          each in a block of 4,096 bytes, written alternately, the newer valid one
//   counts slot := "WPMARK1\0" sequence:8 of:1 position:8 chain:16 checksum:8    xxh3-64 of what is before it
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/store.h"

namespace waypost::store {

class DurableMarkFile {
 public:
  // kCorruption where the file is there and neither slot is valid.
  static Result<DurableMarkFile> open(const std::string& path);
  DurableMarkFile(DurableMarkFile&& other) noexcept;
  DurableMarkFile& operator=(DurableMarkFile&&) = delete;
  ~DurableMarkFile();

  // None where the file is new.
  const std::optional<DurableMark>& mark() const { return mark_; }
  // Writes the other slot and syncs it; a failure ends the process.
  void write(const DurableMark& mark);

 private:
  DurableMarkFile(int file, std::string path) : file_(file), path_(std::move(path)) {}
  int file_;
  std::string path_;
  std::optional<DurableMark> mark_;
  uint64_t sequence_ = 0;
};

}  // namespace waypost::store
