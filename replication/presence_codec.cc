#include "replication/presence_codec.h"

#include "model/bytes.h"
#include "replication/entry.h"

namespace waypost::replication {
namespace {

constexpr uint8_t kVersion = 1;

}  // namespace

std::string encode_presence(const Presence& presence) {
  std::string out;
  append_u8(out, kVersion);
  append_sized(out, presence.name);
  append_u64(out, presence.incarnation);
  append_sized(out, presence.address);
  append_u64(out, presence.applied.value());
  append_u64(out, presence.durable.value());
  append_u64(out, presence.revision);
  append_hash(out, presence.history);
  append_hash(out, presence.data_digest);
  append_hash(out, presence.control_digest);
  append_u32(out, presence.rules_level);
  append_sized(out, presence.status);
  return out;
}

Result<Presence> decode_presence(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.u8() != kVersion) {
    return Error{ErrorCode::kUnsupported, "a member's presence has a form that this binary does not know"};
  }
  Presence presence;
  presence.name = reader.sized();
  presence.incarnation = reader.u64();
  presence.address = reader.sized();
  presence.applied = Position(reader.u64());
  presence.durable = Position(reader.u64());
  presence.revision = reader.u64();
  presence.history = read_hash(reader);
  presence.data_digest = read_hash(reader);
  presence.control_digest = read_hash(reader);
  presence.rules_level = reader.u32();
  presence.status = reader.sized();
  if (!reader.done()) return Error{ErrorCode::kCorruption, "a member's presence is unreadable"};
  return presence;
}

}  // namespace waypost::replication
