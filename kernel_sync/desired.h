// The store's rows into the desired side: all of them from a read view, or the changes of one transaction.
#pragma once

#include <array>
#include <string>

#include "kernel_sync/fib.h"
#include "kernel_sync/work.h"
#include "model/change.h"
#include "store/store.h"

namespace waypost::kernel_sync {

class DesiredReader {
 public:
  DesiredReader(Fib& fib, Work& work) : fib_(fib), work_(work) {}

  // Everything anew. Errors: kCorruption.
  Status load(const store::ReadView& view);
  Status apply(const ChangeSet& changes);

 private:
  Status nexthop(NexthopId id, std::string_view value);
  Result<SpecId> spec(const RouteKey& key, std::string_view value);
  Status route(const Change& change);

  Fib& fib_;
  Work& work_;
  // Values repeat: a small memory of what their bytes came to.
  struct Remembered {
    std::string value;
    SpecId spec = kNoSpec;
  };
  std::array<Remembered, 256> remembered_;
};

}  // namespace waypost::kernel_sync
