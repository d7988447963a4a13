// Bulk work names its rows in key order: an import, a flush, a rollback. What such a run of commands will ask
// for is read in one walk of the table instead of one search for each row.
#pragma once

#include <string>
#include <vector>

#include "model/transaction.h"
#include "store/overlay.h"

namespace waypost::store {

class ReadAhead {
 public:
  ReadAhead(Overlay& overlay, const std::vector<Command>& commands)
      : overlay_(overlay), commands_(commands) {}

  // To be called before the command at `index` is executed, in order.
  void before(size_t index) {
    if (index >= next_) read_run(index);
  }

 private:
  void read_run(size_t index);

  Overlay& overlay_;
  const std::vector<Command>& commands_;
  size_t next_ = 0;  // commands below it have been looked at
};

}  // namespace waypost::store
