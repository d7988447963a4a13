#include "store/sessions.h"

#include "model/bytes.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/mutant.h"
#include "store/answer_codec.h"
#include "store/keys.h"
#include "store/refuse.h"

namespace waypost::store {
namespace {

// head := last_number:8 used_position:8 used_index:4 complete:1
struct Head {
  uint64_t number = 0;
  UsedAt used;
  bool complete = true;
};

std::string encode(const Head& head) {
  std::string bytes;
  append_u64(bytes, head.number);
  append_u64(bytes, head.used.first);
  append_u32(bytes, head.used.second);
  append_u8(bytes, head.complete ? 1 : 0);
  return bytes;
}

Head decode_head(std::string_view bytes) {
  ByteReader reader(bytes);
  Head head;
  head.number = reader.u64();
  head.used.first = reader.u64();
  head.used.second = reader.u32();
  head.complete = reader.u8() != 0;
  WAYPOST_CHECK(reader.done(), "a session's head follows its grammar");
  return head;
}

SessionId decode_session(std::string_view head_key) {
  ByteReader reader(head_key.substr(1));
  SessionId session;
  session.position = Position(reader.u64());
  session.index = reader.u32();
  const std::string_view random = reader.take(session.random.size());
  WAYPOST_CHECK(reader.done(), "a session's key follows its grammar");
  for (size_t i = 0; i < random.size(); ++i) session.random[i] = static_cast<uint8_t>(random[i]);
  return session;
}

// slot := number:8 request_hash:16 answer
constexpr size_t kSlotHeaderBytes = 24;

ProposalAnswer refused(Refusal refusal) {
  return {.refusal = std::move(refusal), .session = {}, .transaction = {}};
}

// The answer to a number that was executed before.
ProposalAnswer repeat(Overlay& overlay, const SessionId& session, uint64_t number, const Hash128& request) {
  const auto slot = overlay.get(Table::kSession, session_slot_key(session, number));
  WAYPOST_CHECK(slot && slot->size() >= kSlotHeaderBytes, "numbers within the window have their answers");
  WAYPOST_CHECK(load_big_endian<uint64_t>(slot->data()) == number, "a slot holds the number it is for");
  if (slot->substr(8, 16) != hash_bytes(request)) return refused(refuse(RefusalCode::kNumberReused, number));
  const auto answer = decode_kept_answer(slot->substr(kSlotHeaderBytes));
  WAYPOST_CHECK(answer.has_value(), "a kept answer follows its grammar");
  return *answer;
}

}  // namespace

Sessions::Sessions(const TableReader& base) {
  base.scan(Table::kSession, "h", "i", [this](std::string_view key, std::string_view value) {
    by_use_.emplace(decode_head(value).used, decode_session(key));
    return true;
  });
}

SessionId Sessions::open(Overlay& overlay, UsedAt now, const std::array<uint8_t, 16>& random) {
  while (by_use_.size() >= limits::kMaxSessions) remove(overlay, by_use_.begin()->second);
  const SessionId session{.position = Position(now.first), .index = now.second, .random = random};
  overlay.put(Table::kSession, session_head_key(session), encode(Head{.number = 0, .used = now}));
  by_use_.emplace(now, session);
  return session;
}

void Sessions::remove(Overlay& overlay, const SessionId& session) {
  const std::string key = session_head_key(session);
  const auto stored = overlay.get(Table::kSession, key);
  WAYPOST_CHECK(stored.has_value(), "a session in the order of use has its head");
  const Head head = decode_head(*stored);
  const uint64_t slots = std::min<uint64_t>(head.number, limits::kSessionWindow);
  for (uint64_t i = 0; i < slots; ++i)
    overlay.erase(Table::kSession, session_slot_key(session, head.number - i));
  overlay.erase(Table::kSession, key);
  by_use_.erase({head.used, session});
}

void Sessions::touch(const SessionId& session, UsedAt before, UsedAt now) {
  by_use_.erase({before, session});
  by_use_.emplace(now, session);
}

Sessions::Decision Sessions::admit(Overlay& overlay, UsedAt now, uint64_t time_us, const SessionId& session,
                                   uint64_t number, const Hash128& request) {
  Decision decision;
  const std::string key = session_head_key(session);
  if (mutant("session_expiry_by_time") && expired_by_time(session, time_us) &&
      overlay.get(Table::kSession, key))
    remove(overlay, session);
  const auto stored = overlay.get(Table::kSession, key);
  if (!stored) {
    decision.answer = refused({.code = RefusalCode::kUnknownSession, .arguments = {}});
    return decision;
  }
  Head head = decode_head(*stored);
  decision.previous = head.number;
  decision.previous_complete = head.complete;
  if (number == head.number + 1) return decision;
  if (number > head.number) {
    if (mutant("session_gap_accepted")) return decision;
    decision.answer = refused(refuse(RefusalCode::kSessionGap, head.number + 1, number));
    return decision;
  }
  if (number == 0 || number + limits::kSessionWindow <= head.number) {
    decision.answer = refused(refuse(RefusalCode::kAnswerForgotten, number));
    return decision;
  }
  decision.answer = repeat(overlay, session, number, request);
  touch(session, head.used, now);
  head.used = now;
  overlay.put(Table::kSession, key, encode(head));
  return decision;
}

void Sessions::keep(Overlay& overlay, UsedAt now, const SessionId& session, uint64_t number,
                    const Hash128& request, const ProposalAnswer& answer) {
  const std::string key = session_head_key(session);
  const Head before = decode_head(*overlay.get(Table::kSession, key));
  const bool complete = !answer.refusal && answer.transaction && answer.transaction->refusals.empty();
  touch(session, before.used, now);
  overlay.put(Table::kSession, key, encode(Head{.number = number, .used = now, .complete = complete}));
  std::string slot;
  append_u64(slot, number);
  slot += hash_bytes(request);
  slot += encode_kept_answer(answer);
  overlay.put(Table::kSession, session_slot_key(session, number), slot);
}

bool Sessions::expired_by_time(const SessionId& session, uint64_t time_us) {
  constexpr uint64_t kMinuteUs = 60'000'000;
  uint64_t& last = last_time_us_[session];
  const bool expired = last != 0 && time_us > last + kMinuteUs;
  last = time_us;
  return expired;
}

}  // namespace waypost::store
