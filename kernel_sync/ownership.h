// Whose an object is, and whether it may go: the owner numbers ever used, and the proof that this store and
// this FIB belong together.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>

#include "model/hash128.h"
#include "model/named_type.h"
#include "model/result.h"

namespace waypost::kernel_sync {

// The numbers kept in the data directory, with `protocol` among them from now on (SEMANTICS.md B7). Without a
// directory: only that one. Errors: kIo where the file cannot be read or written, kCorruption where it is not
// a list of numbers.
Result<std::bitset<256>> adopt_owner_number(const std::string& data_directory, uint8_t protocol);

// What was in the kernel when it was last in sync (SEMANTICS.md B4). In a directory that a reboot empties,
// like the FIB.
struct Mark {
  Hash128 cluster;
  Hash128 history;
  Revision revision;

  bool operator==(const Mark&) const = default;
};
std::optional<Mark> read_mark(const std::string& path);
Status write_mark(const std::string& path, const Mark& mark);

struct SweepQuestion {
  std::optional<Mark> mark;
  Mark store;
  uint64_t extra = 0;  // objects of ours that the store lacks
  uint64_t ours = 0;   // all of ours in the kernel
  uint64_t objects_allowed = 0;
  double share_allowed = 0;
  std::string mark_path;
};
// Empty: what the store lacks may go. Else why not, and what to do.
std::string why_hold(const SweepQuestion& question);

}  // namespace waypost::kernel_sync
