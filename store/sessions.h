// Exactly once (LOG.md rule 5): what each client session was answered last, as rows of the session table.
// Sessions leave by count, the least recently used first, and never by time. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/hash128.h"
#include "model/transaction.h"
#include "store/overlay.h"

namespace waypost::store {

// The place of a proposal: when a session was last used.
using UsedAt = std::pair<uint64_t, uint32_t>;  // position, index

class Sessions {
 public:
  explicit Sessions(const TableReader& base);  // reads the heads, to know who was used when

  // At limits::kMaxSessions the least recently used one goes, with its answers.
  SessionId open(Overlay& overlay, UsedAt now, const std::array<uint8_t, 16>& random);

  // What to do with a numbered request.
  struct Decision {
    std::optional<ProposalAnswer> answer;  // do not execute: say this
    bool previous_complete = true;  // the last transaction was applied without a refusal, or there is none
    uint64_t previous = 0;          // its number
  };
  Decision admit(Overlay& overlay, UsedAt now, uint64_t time_us, const SessionId& session, uint64_t number,
                 const Hash128& request);

  // Precondition: admitted just now, to be executed.
  void keep(Overlay& overlay, UsedAt now, const SessionId& session, uint64_t number, const Hash128& request,
            const ProposalAnswer& answer);

  size_t count() const { return by_use_.size(); }

 private:
  void remove(Overlay& overlay, const SessionId& session);
  void touch(const SessionId& session, UsedAt before, UsedAt now);
  bool expired_by_time(const SessionId& session, uint64_t time_us);  // a planted bug

  std::set<std::pair<UsedAt, SessionId>> by_use_;
  std::map<SessionId, uint64_t> last_time_us_;  // of the planted bug only
};

}  // namespace waypost::store
