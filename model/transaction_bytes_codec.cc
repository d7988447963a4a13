// Finds the Transaction inside an encoded Proposal without decoding it: the fields of transaction.proto on
// the wire.
#include <optional>

#include "model/bytes.h"
#include "model/transaction.h"

namespace waypost {
namespace {

constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kSized = 2;
constexpr uint64_t kFixed32 = 5;

constexpr uint64_t kSessionTransactionField = 5;  // of Proposal
constexpr uint64_t kTransactionField = 3;         // of SessionTransaction

// The bytes of the message's field `wanted`; none where it is absent or the message is cut.
std::optional<std::string_view> field(std::string_view message, uint64_t wanted) {
  ByteReader reader(message);
  while (!reader.failed() && !reader.rest().empty()) {
    const uint64_t tag = reader.varint();
    switch (tag & 7) {
      case kVarint:
        reader.varint();
        break;
      case kFixed64:
        reader.u64();
        break;
      case kFixed32:
        reader.u32();
        break;
      case kSized: {
        const std::string_view bytes = reader.sized();
        if (tag >> 3 == wanted && !reader.failed()) return bytes;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view transaction_bytes(std::string_view proposal) {
  const auto request = field(proposal, kSessionTransactionField);
  return request ? field(*request, kTransactionField).value_or(std::string_view()) : std::string_view();
}

}  // namespace waypost
