// Log entries and the small records beside them: what is read from a log that someone else wrote. Whatever
// the bytes say, what decodes encodes to the same bytes again, and no count in them makes the decoder hold
// more than they are.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/check.h"
#include "model/hash128.h"
#include "replication/entry.h"
#include "replication/etcd/keys.h"
#include "replication/presence_codec.h"

namespace {

using namespace waypost;
using namespace waypost::replication;

void check_entry(std::string_view bytes) {
  const Result<Entry> entry = decode_entry(bytes);
  if (!entry.ok()) return;
  size_t held = 0;
  for (const std::string& proposal : entry->proposals) held += kProposalOverheadBytes + proposal.size();
  WAYPOST_CHECK(held <= bytes.size(), "decoded more than there is");
  WAYPOST_CHECK(encode_entry(*entry) == bytes, "an entry has one form");
  WAYPOST_CHECK(check_chain(*entry, Position(entry->position.value() - 1), entry->previous).ok(),
                "it follows its own chain");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_entry(bytes);
  // With the right hash, so that the grammar behind it is reached.
  std::string hashed(bytes);
  append_hash(hashed, hash128(hashed));
  check_entry(hashed);
  if (const Result<Presence> presence = decode_presence(bytes); presence.ok()) {
    WAYPOST_CHECK(encode_presence(*presence) == bytes, "a presence has one form");
  }
  if (const auto genesis = decode_genesis(bytes))
    WAYPOST_CHECK(encode_genesis(*genesis) == bytes, "a genesis has one form");
  if (const auto head = decode_head(bytes)) WAYPOST_CHECK(encode_head(*head) == bytes, "a head has one form");
  if (const auto position = parse_hex_position(bytes))
    WAYPOST_CHECK(EtcdKeys::hex(*position) == bytes, "a position has one form");
  return 0;
}
