#include "store/snapshot_format.h"

#include "model/bytes.h"
#include "model/limits.h"
#include "store/keys.h"

namespace waypost::store {
namespace {

constexpr size_t kFrontBytes = 5;
constexpr size_t kChecksumBytes = 16;

}  // namespace

std::string encode_chunk(ChunkKind kind, uint32_t number, std::string_view payload) {
  std::string bytes;
  bytes.reserve(kFrontBytes + payload.size() + kChecksumBytes);
  append_u8(bytes, static_cast<uint8_t>(kind));
  append_u32(bytes, number);
  bytes += payload;
  bytes += hash_bytes(hash128(bytes));
  return bytes;
}

Error damaged_chunk(uint32_t number, const std::string& words) {
  return {.code = ErrorCode::kCorruption,
          .message = "the snapshot is damaged at chunk " + std::to_string(number) + ": " + words,
          .hint = "take another snapshot"};
}

Result<Chunk> decode_chunk(std::string_view bytes, uint32_t expected) {
  if (bytes.size() < kFrontBytes + kChecksumBytes || bytes.size() > limits::kMaxFrameBytes)
    return damaged_chunk(expected, "it has an impossible length");
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (bytes.substr(covered.size()) != hash_bytes(hash128(covered)))
    return damaged_chunk(expected, "its checksum does not hold");
  ByteReader reader(covered);
  Chunk chunk{.kind = static_cast<ChunkKind>(reader.u8()), .number = reader.u32(), .payload = reader.rest()};
  if (chunk.number != expected)
    return damaged_chunk(expected, "chunk " + std::to_string(chunk.number) + " stands in its place");
  return chunk;
}

}  // namespace waypost::store
