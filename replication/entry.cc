#include "replication/entry.h"

#include "model/bytes.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/mutant.h"

namespace waypost::replication {
namespace {

constexpr std::string_view kMagic = "WPLE";
constexpr uint8_t kVersion = 1;
constexpr size_t kHashBytes = 16;

static_assert(limits::kMaxProposalBytes + kMaxEntryOverheadBytes + kProposalOverheadBytes <=
                  limits::kMaxEntryBytes,
              "an entry must be able to carry one largest proposal");

Error bad(std::string what) {
  return {ErrorCode::kCorruption, "log entry: " + std::move(what)};
}

Hash128 stored_hash(std::string_view bytes) {
  ByteReader reader(bytes.substr(bytes.size() - kHashBytes));
  return read_hash(reader);
}

}  // namespace

void append_hash(std::string& out, const Hash128& hash) {
  append_u64(out, hash.high);
  append_u64(out, hash.low);
}

Hash128 read_hash(ByteReader& reader) {
  const uint64_t high = reader.u64();
  return {high, reader.u64()};
}

std::string encode_entry(const Entry& entry) {
  WAYPOST_CHECK(entry.appender.size() <= kMaxAppenderName, "an appender's name is bounded by its options");
  std::string out;
  size_t size = kMaxEntryOverheadBytes;
  for (const std::string& proposal : entry.proposals) size += kProposalOverheadBytes + proposal.size();
  out.reserve(size);
  out.append(kMagic);
  append_u8(out, kVersion);
  append_u64(out, entry.position.value());
  append_hash(out, entry.previous);
  append_u8(out, static_cast<uint8_t>(entry.appender.size()));
  out.append(entry.appender);
  append_u64(out, entry.incarnation);
  append_u64(out, entry.time_us);
  append_u32(out, static_cast<uint32_t>(entry.proposals.size()));
  for (const std::string& proposal : entry.proposals) {
    append_u32(out, static_cast<uint32_t>(proposal.size()));
    out.append(proposal);
  }
  append_hash(out, hash128(out));
  return out;
}

Result<Entry> decode_entry(std::string_view bytes) {
  if (bytes.size() < kHashBytes || bytes.size() > limits::kMaxEntryBytes) {
    return bad("its size is " + std::to_string(bytes.size()) + " bytes");
  }
  const std::string_view hashed = bytes.substr(0, bytes.size() - kHashBytes);
  ByteReader reader(hashed);
  if (reader.take(kMagic.size()) != kMagic) return bad("it does not begin like one");
  const auto version = reader.u8();
  if (version != kVersion) {
    return Error{ErrorCode::kUnsupported,
                 "log entry: version " + std::to_string(version) + " is not known to this binary",
                 "upgrade this node to the version of the other members"};
  }
  if (stored_hash(bytes) != hash128(hashed)) return bad("its bytes do not match their hash");
  Entry entry;
  entry.position = Position(reader.u64());
  entry.previous = read_hash(reader);
  const auto name_length = reader.u8();
  if (name_length > kMaxAppenderName) return bad("the appender's name is too long");
  entry.appender = reader.take(name_length);
  entry.incarnation = reader.u64();
  entry.time_us = reader.u64();
  const auto count = reader.u32();
  if (count > reader.rest().size() / kProposalOverheadBytes) return bad("it is cut short");
  entry.proposals.reserve(count);
  for (uint32_t i = 0; i < count && !reader.failed(); ++i)
    entry.proposals.emplace_back(reader.take(reader.u32()));
  if (reader.failed()) return bad("it is cut short");
  if (!reader.done()) return bad("bytes follow its last proposal");
  return entry;
}

Hash128 entry_hash(std::string_view bytes) {
  return bytes.size() < kHashBytes ? Hash128{} : stored_hash(bytes);
}

Status check_chain(const Entry& entry, Position position, const Hash128& hash) {
  if (entry.position != position.next() && !mutant("position_not_checked")) {
    return bad("position " + std::to_string(entry.position.value()) + " came where " +
               std::to_string(position.next().value()) + " was expected");
  }
  if (entry.previous != hash && !mutant("chain_not_checked")) {
    return bad("entry " + std::to_string(entry.position.value()) + " follows chain " +
               to_string(entry.previous) + ", but this node's chain at " + std::to_string(position.value()) +
               " is " + to_string(hash));
  }
  return {};
}

}  // namespace waypost::replication
