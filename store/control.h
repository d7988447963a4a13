// Control state: settings, the rules level, the member list and its incarnations (LOG.md rules 7 and 9). Rows
// of the control table, covered by the control digest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/refusal.h"
#include "model/transaction.h"
#include "store/overlay.h"

namespace waypost::store {

// The newest rules that this binary knows.
inline constexpr uint32_t kKnownRulesLevel = 1;

std::optional<Refusal> execute(Overlay& overlay, const SetSetting& change);
std::optional<Refusal> execute(Overlay& overlay, const RaiseRulesLevel& change);
std::optional<Refusal> execute(Overlay& overlay, const AddMember& change);
std::optional<Refusal> execute(Overlay& overlay, const RemoveMember& change);
std::optional<Refusal> execute(Overlay& overlay, const ClaimIncarnation& change);

// Whether the member that proposed something is one, and not superseded by a later start.
std::optional<Refusal> check_proposer(Overlay& overlay, const Proposal& proposal);

// A setting's value, or its default; 0 for a name that is no setting.
uint64_t setting_or_default(std::string_view name, const std::optional<std::string>& stored);

// member := incarnation:8 address
std::string encode_member(const std::string& address, uint64_t incarnation);
ReadView::Member decode_member(std::string_view name, std::string_view bytes);

}  // namespace waypost::store
