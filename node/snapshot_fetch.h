// Snapshots in and out of files and other members (LOG.md rule 11).
#pragma once

#include <functional>
#include <string>

#include "model/hash128.h"
#include "model/result.h"

namespace waypost::node {

// Streams a snapshot of the member at `address` into a new database of this data directory, checks it whole,
// and switches to it; the answer is how many bytes came. The store must be closed. Memory stays flat.
// `progress` sees the bytes so far, with every chunk.
Result<uint64_t> fetch_snapshot(const std::string& address, const std::string& data_dir,
                                const Hash128& cluster, const std::function<void(uint64_t bytes)>& progress);

// `waypostd --verify-snapshot FILE`: in words what is in it.
Result<std::string> verify_snapshot_file(const std::string& path);

// `waypostd --restore-snapshot FILE --data-dir DIR`: the store of DIR becomes what the file holds, with a new
// history id and a revision past any that DIR had (LOG.md rule 8). For a node that keeps its own log.
Result<std::string> restore_snapshot_file(const std::string& path, const std::string& data_dir);

}  // namespace waypost::node
