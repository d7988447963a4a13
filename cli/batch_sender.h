// Commands to transactions in flight, and their answers back to lines of the file.
#pragma once

#include <deque>
#include <unordered_set>
#include <vector>

#include "cli/context.h"

namespace waypost::cli {

struct LinePlace {
  uint32_t line = 0;
  uint32_t column = 0;
};

class BatchSender {
 public:
  BatchSender(const Context& context, std::string file_name);

  void add(Command command, LinePlace place);
  // Sends what is gathered and waits for every answer.
  void settle();
  // Waits for the answers alone.
  void drain();
  // An error that is not the server's: a line that cannot be read. Counts as a refused line where -force goes
  // on.
  void report(const Error& error, LinePlace place, ExitCode code);

  // Nothing more is to be added: a line was refused and the batch stops at it, or the server cannot be
  // reached.
  bool stopped() const { return stopped_; }
  uint64_t applied() const { return applied_; }
  uint64_t refused() const { return refused_; }
  Revision revision() const { return revision_; }
  ExitCode exit_code() const;
  bool was_refused(uint32_t line) const { return refused_lines_.contains(line); }
  const std::vector<NexthopId>& assigned_ids() const { return assigned_ids_; }

 private:
  void send();
  void take_answer(const Result<rpc::Submitted>& submitted);
  void refuse(const Error& error, LinePlace place, ExitCode code);
  bool fits(size_t rows, size_t bytes) const;

  const Context& context_;
  const std::string file_name_;
  Transaction gathered_;
  std::vector<LinePlace> places_;  // of `gathered_`
  size_t gathered_rows_ = 0;       // estimates, both from above
  size_t gathered_bytes_ = 0;
  std::deque<std::vector<LinePlace>> in_flight_;
  bool any_sent_ = false;
  bool stopped_ = false;
  uint64_t applied_ = 0;
  uint64_t refused_ = 0;
  Revision revision_;
  ExitCode first_code_ = kExitOk;
  bool connection_failed_ = false;
  std::unordered_set<uint32_t> refused_lines_;
  std::vector<NexthopId> assigned_ids_;
};

}  // namespace waypost::cli
