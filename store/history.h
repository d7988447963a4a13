// The change rows of one transaction: written in chunks, put together again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/change.h"
#include "model/hash128.h"
#include "store/overlay.h"

namespace waypost::store {

struct ChangeHeader {
  Position position;
  uint64_t time_us = 0;
  std::string author;
  Hash128 digest;              // data digest after the transaction
  uint64_t history_bytes = 0;  // StateRow::history_bytes before this transaction's rows
};

using ChangeRows = std::vector<std::pair<std::string, std::string>>;

// Appends the rows for the data rows among `touched` that have another value now.
void write_changes(Revision revision, const ChangeHeader& header,
                   const std::vector<Overlay::Touched>& touched, ChangeRows* rows);

// Puts chunks together. Fed in key order; `complete` after the last chunk of a revision.
class ChangeAssembler {
 public:
  // False: these bytes do not continue what came before, or follow no known form.
  bool add(std::string_view key, std::string_view value);
  bool complete() const { return complete_; }
  ChangeSet& change_set() { return change_set_; }
  const ChangeHeader& header() const { return header_; }

 private:
  ChangeSet change_set_;
  ChangeHeader header_;
  uint32_t next_chunk_ = 0;
  bool complete_ = true;
};

// Of the first chunk alone.
std::optional<ChangeHeader> read_change_header(std::string_view value);

}  // namespace waypost::store
