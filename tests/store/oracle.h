// The rules a second time, as slow and plain as can be: two maps, whole copies to roll back, loops over
// everything. Random transactions must lead it and the store to the same answers and rows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/hash128.h"
#include "model/transaction.h"

namespace waypost::store {

class Oracle {
 public:
  TransactionAnswer run(const Transaction& transaction);

  // As dump() of a store.
  std::string dump() const;
  Hash128 data_digest() const;
  // Canonical values by id.
  std::map<uint32_t, std::string> nexthop_rows() const;

 private:
  struct State {
    std::map<NexthopId, NexthopObject> nexthops;
    std::map<RouteKey, Route> routes;
    uint32_t cursor = 0x8000'0000;
    std::vector<NexthopId> assigned;
  };
  using Refused = std::optional<Refusal>;

  Refused run(const PutNexthop& command);
  Refused run(const DeleteNexthop& command);
  Refused run(const GuardedNexthop& command);
  Refused run(const PutRoute& command);
  Refused run(const DeleteRoute& command);
  Refused run(const GuardedRoute& command);
  Refused write(NexthopObject object, Verb verb);
  Refused remove(NexthopId id, bool cascade);
  Refused check_bearers(NexthopId id, NexthopId replaced, const Nexthop& now) const;
  Refused check_over(const Route& route) const;
  Refused intern(const RouteKey& key, std::vector<InlinePath> paths, NexthopId* id);
  NexthopId find_or_make(std::variant<Nexthop, NexthopGroup> body);
  std::vector<InlinePath> paths_of(NexthopId id) const;
  std::vector<Route> routes_over(NexthopId id) const;
  std::vector<NexthopId> groups_of(NexthopId id) const;
  const Nexthop& first_path(NexthopId id) const;
  bool has_ipv4(NexthopId id) const;
  void collect_unused();

  State state_;
  Revision revision_;
  bool skipped_ = false;
};

}  // namespace waypost::store
