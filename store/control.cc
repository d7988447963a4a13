#include "store/control.h"

#include <charconv>

#include "model/bytes.h"
#include "model/check.h"
#include "model/limits.h"
#include "store/keys.h"
#include "store/refuse.h"

namespace waypost::store {
namespace {

constexpr size_t kMaxMemberName = 64;
constexpr size_t kMaxMemberAddress = 256;

struct Setting {
  std::string_view name;
  uint64_t lowest;
  uint64_t highest;
  uint64_t fallback;
  std::string_view takes;  // for people
};

constexpr Setting kSettings[] = {
    {"history.revisions", 1, UINT64_MAX, limits::kDefaultHistoryRevisions,
     "a number of revisions, 1 or more"},
    {"history.bytes", 1u << 20, UINT64_MAX, limits::kDefaultHistoryBytes,
     "a number of bytes, 1048576 or more"},
};

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : kSettings)
    if (setting.name == name) return &setting;
  return nullptr;
}

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string member_key(std::string_view name) {
  return std::string(kMemberPrefix).append(name);
}

Refusal member_unknown(const std::string& name) {
  return refuse(RefusalCode::kMemberUnknown, name);
}

}  // namespace

std::string encode_member(const std::string& address, uint64_t incarnation) {
  std::string bytes;
  append_u64(bytes, incarnation);
  bytes += address;
  return bytes;
}

ReadView::Member decode_member(std::string_view name, std::string_view bytes) {
  ByteReader reader(bytes);
  ReadView::Member member{.name = std::string(name), .address = {}, .incarnation = reader.u64()};
  WAYPOST_CHECK(!reader.failed(), "a member row has its incarnation");
  member.address = reader.rest();
  return member;
}

uint64_t setting_or_default(std::string_view name, const std::optional<std::string>& stored) {
  const Setting* setting = find_setting(name);
  if (setting == nullptr) return 0;
  return stored ? parse_number(*stored).value_or(setting->fallback) : setting->fallback;
}

std::optional<Refusal> execute(Overlay& overlay, const SetSetting& change) {
  const Setting* setting = find_setting(change.name);
  if (setting == nullptr) return refuse(RefusalCode::kSettingUnknown, change.name);
  const auto number = parse_number(change.value);
  if (!number || *number < setting->lowest || *number > setting->highest)
    return refuse(RefusalCode::kSettingInvalid, change.name, change.value, std::string(setting->takes));
  overlay.put(Table::kControl, std::string(kSettingPrefix) + change.name, std::to_string(*number));
  return std::nullopt;
}

std::optional<Refusal> execute(Overlay& overlay, const RaiseRulesLevel& change) {
  if (change.level > kKnownRulesLevel)
    return refuse(RefusalCode::kRulesLevel, uint64_t{change.level}, uint64_t{kKnownRulesLevel});
  const auto stored = overlay.get(Table::kControl, kRulesLevelKey);
  if (stored && load_big_endian<uint32_t>(stored->data()) >= change.level) return std::nullopt;
  std::string bytes;
  append_u32(bytes, change.level);
  overlay.put(Table::kControl, kRulesLevelKey, bytes);
  return std::nullopt;
}

std::optional<Refusal> execute(Overlay& overlay, const AddMember& change) {
  if (change.name.empty() || change.name.size() > kMaxMemberName || change.address.size() > kMaxMemberAddress)
    return refuse(RefusalCode::kMalformed,
                  std::string("a member has a name of 1 to 64 bytes and an address"));
  const std::string key = member_key(change.name);
  if (overlay.get(Table::kControl, key)) return refuse(RefusalCode::kMemberExists, change.name);
  overlay.put(Table::kControl, key, encode_member(change.address, 0));
  return std::nullopt;
}

std::optional<Refusal> execute(Overlay& overlay, const RemoveMember& change) {
  const std::string key = member_key(change.name);
  if (!overlay.get(Table::kControl, key)) return member_unknown(change.name);
  overlay.erase(Table::kControl, key);
  return std::nullopt;
}

std::optional<Refusal> execute(Overlay& overlay, const ClaimIncarnation& change) {
  const std::string key = member_key(change.name);
  const auto stored = overlay.get(Table::kControl, key);
  if (!stored) return member_unknown(change.name);
  const ReadView::Member member = decode_member(change.name, *stored);
  if (change.incarnation < member.incarnation)
    return refuse(RefusalCode::kMemberSuperseded, change.name, member.incarnation);
  overlay.put(Table::kControl, key, encode_member(member.address, change.incarnation));
  return std::nullopt;
}

std::optional<Refusal> check_proposer(Overlay& overlay, const Proposal& proposal) {
  if (proposal.member.empty()) return std::nullopt;
  const auto stored = overlay.get(Table::kControl, member_key(proposal.member));
  if (!stored) return member_unknown(proposal.member);
  const ReadView::Member member = decode_member(proposal.member, *stored);
  if (proposal.incarnation < member.incarnation)
    return refuse(RefusalCode::kMemberSuperseded, proposal.member, member.incarnation);
  return std::nullopt;
}

}  // namespace waypost::store
