#include "store/state_row.h"

#include "model/bytes.h"

namespace waypost::store {
namespace {

// state := version:1 cluster:16 history:16 revision:8 position:8 chain:16 data_digest:16 control_digest:16
//          nexthops:8 groups:8 interned:8 routes:8 history_bytes:8
// floor := version:1 revision:8 digest:16 history_bytes:8
constexpr uint8_t kVersion = 1;

void append_hash(std::string& out, const Hash128& hash) {
  append_u64(out, hash.high);
  append_u64(out, hash.low);
}

Hash128 read_hash(ByteReader& reader) {
  Hash128 hash;
  hash.high = reader.u64();
  hash.low = reader.u64();
  return hash;
}

}  // namespace

std::string encode(const StateRow& row) {
  std::string out;
  append_u8(out, kVersion);
  append_hash(out, row.stamp.cluster);
  append_hash(out, row.stamp.history);
  append_u64(out, row.stamp.revision.value());
  append_u64(out, row.stamp.position.value());
  append_hash(out, row.stamp.chain);
  append_hash(out, row.stamp.data_digest);
  append_hash(out, row.stamp.control_digest);
  for (uint64_t count : {row.counts.nexthops, row.counts.groups, row.counts.interned, row.counts.routes})
    append_u64(out, count);
  append_u64(out, row.history_bytes);
  return out;
}

std::optional<StateRow> decode_state_row(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.u8() != kVersion) return std::nullopt;
  StateRow row;
  row.stamp.cluster = read_hash(reader);
  row.stamp.history = read_hash(reader);
  row.stamp.revision = Revision(reader.u64());
  row.stamp.position = Position(reader.u64());
  row.stamp.chain = read_hash(reader);
  row.stamp.data_digest = read_hash(reader);
  row.stamp.control_digest = read_hash(reader);
  row.counts.nexthops = reader.u64();
  row.counts.groups = reader.u64();
  row.counts.interned = reader.u64();
  row.counts.routes = reader.u64();
  row.history_bytes = reader.u64();
  return reader.done() ? std::optional(row) : std::nullopt;
}

std::string encode(const Floor& floor) {
  std::string out;
  append_u8(out, kVersion);
  append_u64(out, floor.revision.value());
  append_hash(out, floor.digest);
  append_u64(out, floor.history_bytes);
  return out;
}

std::optional<Floor> decode_floor(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.u8() != kVersion) return std::nullopt;
  Floor floor;
  floor.revision = Revision(reader.u64());
  floor.digest = read_hash(reader);
  floor.history_bytes = reader.u64();
  return reader.done() ? std::optional(floor) : std::nullopt;
}

}  // namespace waypost::store
