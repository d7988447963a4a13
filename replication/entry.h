// One entry of the log as bytes: what an appender writes and every reader checks. Pure functions, any thread.
//
//   entry     := magic:4 "WPLE"  version:1  position:8  previous:16
//                name_length:1 name  incarnation:8  time_us:8
//                count:4  proposal{count}  hash:16
//   proposal  := length:4 bytes
//
// Integers are big-endian. `previous` is the hash of the entry before (zeros at position 1), and `hash` is
// the XXH3-128 of every byte before it; so a hash stands for the whole chain up to its entry. A new layout
// gets a new version number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/bytes.h"
#include "model/hash128.h"
#include "model/named_type.h"
#include "model/result.h"

namespace waypost::replication {

constexpr size_t kMaxAppenderName = 64;
constexpr size_t kProposalOverheadBytes = 4;
// Everything but the proposals, with the longest name.
constexpr size_t kMaxEntryOverheadBytes = 4 + 1 + 8 + 16 + 1 + kMaxAppenderName + 8 + 8 + 4 + 16;

struct Entry {
  Position position;
  Hash128 previous;
  std::string appender;  // at most kMaxAppenderName bytes
  uint64_t incarnation = 0;
  uint64_t time_us = 0;  // the appender's wall clock
  std::vector<std::string> proposals;
};

std::string encode_entry(const Entry& entry);

// Checks grammar and hash. Allocates no more than the bytes can hold, whatever the counts in them say.
Result<Entry> decode_entry(std::string_view bytes);

// The hash at the end of an encoded entry: of the chain up to and with it. Zeros for bytes too short to be an
// entry.
Hash128 entry_hash(std::string_view bytes);

// Does `entry` come right behind the chain that ends at `position` with `hash`? kCorruption in words where it
// does not.
Status check_chain(const Entry& entry, Position position, const Hash128& hash);

// A hash as 16 bytes, in every format of this folder.
void append_hash(std::string& out, const Hash128& hash);
Hash128 read_hash(ByteReader& reader);

}  // namespace waypost::replication
