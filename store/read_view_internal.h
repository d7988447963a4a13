// What a ReadView pins.
#pragma once

#include "store/database_internal.h"
#include "store/state_row.h"

namespace waypost::store {

// The library's own way into a view.
struct ReadViewAccess {
  static const TableReader& tables(const ReadView& view);
};

struct ReadView::Impl {
  explicit Impl(std::shared_ptr<Database> database);

  DatabaseSnapshot tables;
  StateRow row;
};

}  // namespace waypost::store
