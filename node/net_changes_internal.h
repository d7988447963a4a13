// What differs between two revisions, row by row: the history between them with each key's first old and last
// new value. Memory is bounded: a long stretch is worked out part by part, by the hash of the key.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/change.h"
#include "model/result.h"
#include "store/store.h"

namespace waypost::node {

class NetChanges {
 public:
  // Changes that lead from the state of `from` to that of `to`, which may lie before it. Errors:
  // kInvalidArgument where one is not reached yet, kNotFound where the history no longer goes back so far,
  // kResourceExhausted.
  static Result<NetChanges> between(const store::Store& store, Revision from, Revision to);

  size_t parts() const { return parts_; }
  // Those of one part, in key order, rows of interned nexthops left out. Rows that came and went are not
  // there.
  Result<std::vector<Change>> part(size_t index) const;
  // The value that an interned nexthop had within the stretch; none where it was not touched.
  const std::string* interned(NexthopId id) const;
  uint64_t changes_seen() const { return changes_; }

 private:
  explicit NetChanges(const store::Store& store) : store_(&store) {}
  Status survey();
  template <typename Visitor>
  Status for_each(Visitor&& visit) const;

  const store::Store* store_;
  Revision low_;
  Revision high_;
  bool backwards_ = false;
  uint64_t changes_ = 0;
  size_t parts_ = 1;
  std::unordered_map<uint32_t, std::string> interned_;
};

}  // namespace waypost::node
