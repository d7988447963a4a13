#include "replication/etcd/keys.h"

#include "model/bytes.h"
#include "replication/entry.h"

namespace waypost::replication {
namespace {

constexpr size_t kHexDigits = 16;
constexpr uint8_t kGenesisVersion = 1;

}  // namespace

EtcdKeys::EtcdKeys(std::string_view cluster) : prefix_("/waypost/" + std::string(cluster) + "/") {}

std::string EtcdKeys::hex(Position position) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(kHexDigits, '0');
  for (size_t i = 0; i < kHexDigits; ++i)
    text[kHexDigits - 1 - i] = kDigits[position.value() >> (4 * i) & 15];
  return text;
}

std::optional<Position> parse_hex_position(std::string_view text) {
  if (text.size() != kHexDigits) return std::nullopt;
  uint64_t value = 0;
  for (const char digit : text) {
    const bool decimal = digit >= '0' && digit <= '9';
    const bool letter = digit >= 'a' && digit <= 'f';
    if (!decimal && !letter) return std::nullopt;
    value = value << 4 | static_cast<uint64_t>(decimal ? digit - '0' : digit - 'a' + 10);
  }
  return Position(value);
}

std::optional<Position> EtcdKeys::position(std::string_view key) const {
  const std::string prefix = log();
  if (!key.starts_with(prefix)) return std::nullopt;
  return parse_hex_position(key.substr(prefix.size()));
}

std::string encode_head(const EtcdHead& head) {
  std::string out;
  append_u64(out, head.position.value());
  append_hash(out, head.hash);
  return out;
}

std::optional<EtcdHead> decode_head(std::string_view bytes) {
  ByteReader reader(bytes);
  EtcdHead head;
  head.position = Position(reader.u64());
  head.hash = read_hash(reader);
  if (!reader.done()) return std::nullopt;
  return head;
}

std::string encode_genesis(const Genesis& genesis) {
  std::string out;
  append_u8(out, kGenesisVersion);
  append_hash(out, genesis.cluster);
  append_u64(out, genesis.position.value());
  append_hash(out, genesis.hash);
  return out;
}

std::optional<Genesis> decode_genesis(std::string_view bytes) {
  ByteReader reader(bytes);
  const uint8_t version = reader.u8();
  Genesis genesis;
  genesis.cluster = read_hash(reader);
  genesis.position = Position(reader.u64());
  genesis.hash = read_hash(reader);
  if (version != kGenesisVersion || !reader.done()) return std::nullopt;
  return genesis;
}

}  // namespace waypost::replication
