// What a ReadView pins.
#pragma once

#include <memory>

#include "store/state_row.h"
#include "store/tables.h"

namespace waypost::store {

// The library's own way into a view.
struct ReadViewAccess {
  static const TableReader& tables(const ReadView& view);
  // A view of tables that never change again, whatever keeps them.
  static ReadView over(std::unique_ptr<const TableReader> tables);
};

struct ReadView::Impl {
  explicit Impl(std::unique_ptr<const TableReader> tables);

  std::unique_ptr<const TableReader> tables;
  StateRow row;
};

}  // namespace waypost::store
