// Any bytes as a proposal, a transaction, an answer, a row or a block of rows: no crash, and what is taken is
// written again the same. (Fields of a message may come in any order, so messages are compared after one
// turn.)
#include <cstdint>
#include <cstdlib>

#include "model/row_codec.h"
#include "model/transaction.h"

namespace waypost {
namespace {

template <typename Value>
void check_message(Result<Value> (*decode)(std::string_view), std::string_view bytes) {
  const Result<Value> value = decode(bytes);
  if (!value.ok()) return;
  const std::string written = encode(*value);
  if (written.size() != bytes.size()) std::abort();
  const Result<Value> again = decode(written);
  if (!again.ok() || encode(*again) != written) std::abort();
}

void check_rows(std::string_view bytes) {
  if (const auto id = decode_nexthop_key(bytes)) {
    std::string key;
    append_nexthop_key(key, *id);
    if (key != bytes) std::abort();
  }
  if (const auto route_key = decode_route_key(bytes)) {
    std::string key;
    append_route_key(key, *route_key);
    if (key != bytes) std::abort();
  }
  const auto nexthop = decode_nexthop_value(NexthopId(7), bytes);
  if (nexthop.ok() && encode_nexthop_value(*nexthop) != bytes) std::abort();
  if (nexthop.ok()) (void)validate(*nexthop);
  const auto route = decode_route_value({}, bytes);
  if (route.ok() && encode_route_value(*route) != bytes) std::abort();
  if (route.ok()) (void)validate(*route);
  std::string_view key, value;
  size_t used = 0;
  for (RowBlockReader reader(bytes); reader.next(&key, &value);) used += key.size() + value.size();
  if (used > bytes.size()) std::abort();
}

}  // namespace
}  // namespace waypost

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      waypost::check_message(&waypost::decode_proposal, bytes);
      break;
    case 1:
      waypost::check_message(&waypost::decode_transaction, bytes);
      break;
    case 2:
      waypost::check_message(&waypost::decode_proposal_answer, bytes);
      break;
    default:
      waypost::check_rows(bytes);
  }
  return 0;
}
