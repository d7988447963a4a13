// Changes of rows as lines: `diff REV1 REV2`, `rollback REV --dry-run` ("-" and "+" lines, the rows as `show`
// prints them) and `monitor` (as `ip monitor` prints them).
#pragma once

#include "cli/context.h"
#include "cli/nexthop_cache.h"
#include "cli/row_writer.h"

namespace waypost::rpc {
class Change;
class Difference;
}  // namespace waypost::rpc

namespace waypost::cli {

class DifferencePrinter {
 public:
  explicit DifferencePrinter(const Context& context);
  // kCorruption on damaged rows.
  Status print(const rpc::Difference& difference);
  // Closes what print() opened; with `also_empty` an empty list is a list too.
  void end(bool also_empty = false);
  uint64_t printed() const { return printed_; }

 private:
  const Context& context_;
  RowWriter row_;
  uint64_t printed_ = 0;
};

// One row of a change, in canonical bytes, as a route or nexthop row prints. `hidden interned` are passed
// over: false.
Result<bool> print_changed_row(const Context& context, RowWriter& row, uint32_t table, std::string_view key,
                               std::string_view value, const NexthopCache& nexthops, bool deleted);

}  // namespace waypost::cli
