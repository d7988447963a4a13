// How far the log may be trimmed (LOG.md rule 3). A pure function; the node gathers what it needs and asks
// the log to trim.
#pragma once

#include <vector>

#include "model/named_type.h"

namespace waypost::replication {

struct TrimMember {
  Position durable;   // its last known one; 0 where it was never heard of
  bool live = false;  // its presence is there now
};

// The lowest position that must stay readable, so trim below it. `members` are all of the member list, in any
// order.
//  - Nothing that a live member still has to read goes, unless `over_cap`: then a laggard heals by a
//  snapshot.
//  - What only one member holds durably never goes, cap or not: if that member is lost, the log is the only
//  copy. (A cluster of one
//    member is its own copy.)
Position trim_limit(const std::vector<TrimMember>& members, bool over_cap);

}  // namespace waypost::replication
