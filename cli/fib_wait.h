// `--wait=fib`: until the kernels have what was stored, and whether they could take it (SEMANTICS.md B1).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/context.h"

namespace waypost::cli {

// The rows of this call's own transactions.
struct ChangedRows {
  std::vector<NexthopId> nexthops;
  std::vector<std::string> route_keys;  // canonical

  size_t size() const { return nexthops.size() + route_keys.size(); }
};

class FibWaiter {
 public:
  explicit FibWaiter(const Context& context);
  ~FibWaiter();

  // Waits until the nodes are in sync at `revision`, all at once, within --timeout (30 s where none is
  // given).
  Status reach(Revision revision);
  // Asks the nodes that are whether they installed these; may be called again with more.
  Status check(const ChangedRows& rows);
  // Says what is known, and the exit code of it.
  int report();

 private:
  struct Node;
  Status find_nodes();
  int wanted() const;

  const Context& context_;
  Revision revision_;
  std::vector<Node> nodes_;
};

// All of it, for one small change.
int wait_for_fib(const Context& context, Revision revision, const ChangedRows& rows);

}  // namespace waypost::cli
