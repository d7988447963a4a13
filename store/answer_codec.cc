#include "store/answer_codec.h"

#include "model/bytes.h"

namespace waypost::store {
namespace {

// answer      := flags:1 [refusal] [transaction]              flags: bit 0 refusal, 1 transaction
// refusal     := code:varint count:varint (argument: length:varint bytes)*
// transaction := revision:varint applied:varint skipped:varint
//                count:varint (index:varint refusal)*  count:varint (index:varint id:varint)*
constexpr uint8_t kHasRefusal = 1;
constexpr uint8_t kHasTransaction = 2;

void append_refusal(std::string& out, const Refusal& refusal) {
  append_varint(out, static_cast<uint64_t>(refusal.code));
  append_varint(out, refusal.arguments.size());
  for (const std::string& argument : refusal.arguments) append_sized(out, argument);
}

Refusal read_refusal(ByteReader& reader) {
  Refusal refusal{.code = static_cast<RefusalCode>(reader.varint()), .arguments = {}};
  const uint64_t count = reader.varint();
  for (uint64_t i = 0; i < count && !reader.failed(); ++i) refusal.arguments.emplace_back(reader.sized());
  return refusal;
}

void append_transaction(std::string& out, const TransactionAnswer& answer) {
  append_varint(out, answer.revision.value());
  append_varint(out, answer.applied);
  append_varint(out, answer.skipped);
  append_varint(out, answer.refusals.size());
  for (const CommandRefusal& refusal : answer.refusals) {
    append_varint(out, refusal.index);
    append_refusal(out, refusal.refusal);
  }
  append_varint(out, answer.assigned_ids.size());
  for (const auto& [index, id] : answer.assigned_ids) {
    append_varint(out, index);
    append_varint(out, id.value());
  }
}

TransactionAnswer read_transaction(ByteReader& reader) {
  TransactionAnswer answer;
  answer.revision = Revision(reader.varint());
  answer.applied = static_cast<uint32_t>(reader.varint());
  answer.skipped = static_cast<uint32_t>(reader.varint());
  const uint64_t refusals = reader.varint();
  for (uint64_t i = 0; i < refusals && !reader.failed(); ++i) {
    const auto index = static_cast<uint32_t>(reader.varint());
    answer.refusals.push_back({.index = index, .refusal = read_refusal(reader)});
  }
  const uint64_t ids = reader.varint();
  for (uint64_t i = 0; i < ids && !reader.failed(); ++i) {
    const auto index = static_cast<uint32_t>(reader.varint());
    answer.assigned_ids.emplace_back(index, NexthopId(static_cast<uint32_t>(reader.varint())));
  }
  return answer;
}

}  // namespace

std::string encode_kept_answer(const ProposalAnswer& answer) {
  std::string out;
  append_u8(out, static_cast<uint8_t>((answer.refusal ? kHasRefusal : 0) |
                                      (answer.transaction ? kHasTransaction : 0)));
  if (answer.refusal) append_refusal(out, *answer.refusal);
  if (answer.transaction) append_transaction(out, *answer.transaction);
  return out;
}

std::optional<ProposalAnswer> decode_kept_answer(std::string_view bytes) {
  ByteReader reader(bytes);
  ProposalAnswer answer;
  const uint8_t flags = reader.u8();
  if ((flags & kHasRefusal) != 0) answer.refusal = read_refusal(reader);
  if ((flags & kHasTransaction) != 0) answer.transaction = read_transaction(reader);
  if (!reader.done()) return std::nullopt;
  return answer;
}

}  // namespace waypost::store
