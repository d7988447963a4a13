// Commands to transactions in flight, and their answers back to lines of the file.
#pragma once

#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "cli/context.h"

namespace waypost::cli {

struct LinePlace {
  uint32_t line = 0;
  uint32_t column = 0;
};

// With --cascade a line may take more rows along than a transaction holds. Then it is run as a job once
// everything before it is applied, and what was sent behind it and came back is sent again: for that the
// commands under way are kept.
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
  struct Item {
    Command command;
    LinePlace place;
  };
  struct InFlight {
    std::vector<LinePlace> places;
    std::vector<Command> commands;  // empty where nothing is sent again
  };
  // What keeps the lines behind it from going on.
  struct Halt {
    LinePlace place;
    std::optional<NexthopId> cascade;  // to be deleted by a job; none: the line was refused and is left out
  };

  bool sends_again() const { return context_.options.cascade && !context_.options.atomic; }
  void gather(Item item);
  void send();
  // True where something was halted, and has been sent again.
  bool catch_up();
  void run_cascade(const Halt& halt);
  void take_answer(const Result<rpc::Submitted>& submitted);
  void take_refusals(const TransactionAnswer& answer, InFlight& sent);
  void come_back(InFlight& sent, size_t first);
  void refuse(const Error& error, LinePlace place, ExitCode code);
  bool fits(size_t rows, size_t bytes) const;

  const Context& context_;
  const std::string file_name_;
  Transaction gathered_;
  std::vector<LinePlace> places_;  // of `gathered_`
  size_t gathered_rows_ = 0;       // estimates, both from above
  size_t gathered_bytes_ = 0;
  std::deque<InFlight> in_flight_;
  std::optional<Halt> halt_;
  std::deque<Item> came_back_;  // unapplied, in the order of the file
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
