// The form in which a session keeps its answers. Our own, not protobuf's: the control digest covers it, so no
// library may change it (LOG.md rule 7).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/transaction.h"

namespace waypost::store {

// refusal and transaction only; a session id is never kept.
std::string encode_kept_answer(const ProposalAnswer& answer);
std::optional<ProposalAnswer> decode_kept_answer(std::string_view bytes);

}  // namespace waypost::store
