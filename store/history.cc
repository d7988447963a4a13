#include "store/history.h"

#include "model/bytes.h"
#include "model/limits.h"
#include "store/keys.h"

namespace waypost::store {
namespace {

// first chunk := flags:1 position:8 time_us:8 digest:16 history_bytes:8 author:(length:varint bytes) change*
// next chunks := flags:1 change*
// change      := table:1 key:(length:varint bytes) old:(length:varint bytes) new:(length:varint bytes)
// flags       bit 0: the revision's last chunk
constexpr uint8_t kLastChunk = 1;

uint8_t number_of(Table table) {
  return static_cast<uint8_t>(table == Table::kNexthop ? DataTable::kNexthop : DataTable::kRoute);
}

bool changed(const Overlay::Row& row) {
  return row.present != row.before_present || row.value != row.before;
}

void append_header(std::string& out, const ChangeHeader& header) {
  append_u64(out, header.position.value());
  append_u64(out, header.time_us);
  out += hash_bytes(header.digest);
  append_u64(out, header.history_bytes);
  append_sized(out, header.author);
}

ChangeHeader read_header(ByteReader& reader) {
  ChangeHeader header;
  header.position = Position(reader.u64());
  header.time_us = reader.u64();
  header.digest.high = reader.u64();
  header.digest.low = reader.u64();
  header.history_bytes = reader.u64();
  header.author = reader.sized();
  return header;
}

}  // namespace

void write_changes(Revision revision, const ChangeHeader& header,
                   const std::vector<Overlay::Touched>& touched, ChangeRows* rows) {
  uint32_t chunk = 0;
  std::string value(1, '\0');
  append_header(value, header);
  for (const Overlay::Touched& each : touched) {
    const Overlay::Row& row = *each.row;
    if (!is_data(each.table) || !changed(row)) continue;
    if (value.size() >= limits::kStreamChunkBytes) {
      rows->emplace_back(change_key(revision, chunk++), std::move(value));
      value.assign(1, '\0');
    }
    append_u8(value, number_of(each.table));
    append_sized(value, each.key);
    append_sized(value, row.before_present ? row.before : std::string_view());
    append_sized(value, row.present ? row.value : std::string_view());
  }
  value[0] = static_cast<char>(kLastChunk);
  rows->emplace_back(change_key(revision, chunk), std::move(value));
}

bool ChangeAssembler::add(std::string_view key, std::string_view value) {
  ByteReader key_reader(key);
  const Revision revision{key_reader.u64()};
  const uint32_t chunk = key_reader.u32();
  if (!key_reader.done()) return false;
  if (complete_) {
    change_set_ = {.revision = revision, .position = {}, .time_us = 0, .author = {}, .changes = {}};
    next_chunk_ = 0;
  }
  if (revision != change_set_.revision || chunk != next_chunk_) return false;
  ByteReader reader(value);
  const uint8_t flags = reader.u8();
  if (chunk == 0) {
    header_ = read_header(reader);
    change_set_.position = header_.position;
    change_set_.time_us = header_.time_us;
    change_set_.author = header_.author;
  }
  while (!reader.failed() && !reader.rest().empty()) {
    Change change;
    change.table = static_cast<DataTable>(reader.u8());
    change.key = reader.sized();
    change.old_value = reader.sized();
    change.new_value = reader.sized();
    change_set_.changes.push_back(std::move(change));
  }
  ++next_chunk_;
  complete_ = (flags & kLastChunk) != 0;
  return !reader.failed();
}

std::optional<ChangeHeader> read_change_header(std::string_view value) {
  ByteReader reader(value);
  reader.u8();
  ChangeHeader header = read_header(reader);
  return reader.failed() ? std::nullopt : std::optional(std::move(header));
}

}  // namespace waypost::store
