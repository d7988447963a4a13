#include "model/bytes.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/mutant.h"
#include "model/row_codec.h"
#include "store/read_view_internal.h"
#include "store/snapshot.h"
#include "store/snapshot_format.h"

namespace waypost::store {
namespace {

constexpr size_t kTables = std::size(kSnapshotTables);

}  // namespace

struct SnapshotSource::Impl {
  explicit Impl(ReadView pinned) : view(std::move(pinned)) {}

  ReadView view;
  uint32_t number = 0;  // of the next chunk
  size_t table = 0;     // index into kSnapshotTables; kTables: only the footer is left
  std::string after;    // the last key of that table that went out; empty: none yet
  uint64_t rows = 0;    // that went out
  bool finished = false;

  // Rows of the current table behind `after`, up to a chunk's size; empty at the table's end.
  std::string take_rows() {
    std::string payload;
    append_u8(payload, static_cast<uint8_t>(kSnapshotTables[table]));
    const size_t front = payload.size();
    std::string from = after;
    if (!from.empty()) from.push_back('\0');
    ReadViewAccess::tables(view).scan(kSnapshotTables[table], from, {},
                                      [&](std::string_view key, std::string_view value) {
                                        append_row(payload, key, value);
                                        ++rows;
                                        after.assign(key);
                                        return payload.size() < limits::kStreamChunkBytes;
                                      });
    return payload.size() == front ? std::string() : payload;
  }

  std::string next_rows() {
    for (; table < kTables; ++table, after.clear()) {
      if (mutant("snapshot_without_sessions") && kSnapshotTables[table] == Table::kSession) continue;
      if (std::string payload = take_rows(); !payload.empty()) return payload;
    }
    return {};
  }
};

SnapshotSource::SnapshotSource(ReadView view) : impl_(std::make_unique<Impl>(std::move(view))) {}
SnapshotSource::~SnapshotSource() = default;

const StateStamp& SnapshotSource::stamp() const {
  return impl_->view.stamp();
}

std::optional<std::string> SnapshotSource::next() {
  if (impl_->finished) return std::nullopt;
  const uint32_t number = impl_->number++;
  if (number == 0) {
    std::string payload(kSnapshotMagic);
    payload += encode(StateRow{.stamp = impl_->view.stamp(), .counts = impl_->view.counts()});
    return encode_chunk(ChunkKind::kHeader, number, payload);
  }
  if (const std::string payload = impl_->next_rows(); !payload.empty())
    return encode_chunk(ChunkKind::kRows, number, payload);
  impl_->finished = true;
  std::string payload;
  append_u64(payload, impl_->rows);
  return encode_chunk(ChunkKind::kFooter, number, payload);
}

// cursor := number:4 table:1 rows:8 finished:1 after
std::string SnapshotSource::cursor() const {
  std::string cursor;
  append_u32(cursor, impl_->number);
  append_u8(cursor, static_cast<uint8_t>(impl_->table));
  append_u64(cursor, impl_->rows);
  append_u8(cursor, impl_->finished ? 1 : 0);
  return cursor + impl_->after;
}

Status SnapshotSource::resume_at(std::string_view cursor) {
  ByteReader reader(cursor);
  const uint32_t number = reader.u32();
  const uint8_t table = reader.u8();
  const uint64_t rows = reader.u64();
  const uint8_t finished = reader.u8();
  if (reader.failed() || table > kTables || finished > 1)
    return Error{.code = ErrorCode::kInvalidArgument, .message = "not a cursor of a snapshot"};
  impl_->number = number;
  impl_->table = table;
  impl_->rows = rows;
  impl_->finished = finished == 1;
  impl_->after = reader.rest();
  return {};
}

}  // namespace waypost::store
