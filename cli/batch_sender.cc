#include "cli/batch_sender.h"

#include <iterator>
#include <utility>

#include "cli/change.h"
#include "cli/jobs.h"
#include "model/limits.h"

namespace waypost::cli {
namespace {

// Transactions under way. More hide no more of the round trip.
constexpr size_t kWindow = 16;
// Half of what the store takes, since rows and bytes are estimates.
constexpr size_t kMostRows = limits::kMaxChangesPerTransaction / 2;
constexpr size_t kMostBytes = limits::kMaxProposalBytes / 2;
// Refused lines that --wait=fib leaves out when it asks about rows.
constexpr size_t kMostRefusedRemembered = 1u << 20;

size_t path_bytes(const Nexthop& path) {
  size_t bytes = 64 + path.device.size();
  if (const auto* seg6 = std::get_if<EncapSeg6>(&path.encap)) bytes += 16 * seg6->segments.size();
  if (std::holds_alternative<EncapIp>(path.encap)) bytes += 64;
  return bytes;
}

size_t bytes_of(const Command& command) {
  size_t bytes = 128;
  const std::vector<InlinePath>* paths = nullptr;
  if (const auto* put = std::get_if<PutRoute>(&command)) paths = &put->paths;
  if (const auto* gone = std::get_if<DeleteRoute>(&command)) paths = &gone->paths;
  if (paths != nullptr)
    for (const InlinePath& path : *paths) bytes += path_bytes(path.nexthop);
  if (const auto* put = std::get_if<PutNexthop>(&command))
    bytes +=
        put->object.is_group() ? 8 * put->object.group().members.size() : path_bytes(put->object.nexthop());
  return bytes;
}

// Inline paths may become rows of their own, and a group.
size_t rows_of(const Command& command) {
  const auto* put = std::get_if<PutRoute>(&command);
  return put == nullptr || put->paths.empty() ? 1 : put->paths.size() + 2;
}

}  // namespace

BatchSender::BatchSender(const Context& context, std::string file_name)
    : context_(context), file_name_(std::move(file_name)) {
  gathered_.on_refusal = context.options.atomic                    ? OnRefusal::kAbort
                         : context.options.force && !sends_again() ? OnRefusal::kContinue
                                                                   : OnRefusal::kStop;
}

bool BatchSender::fits(size_t rows, size_t bytes) const {
  if (gathered_.commands.empty() || context_.options.atomic) return true;
  return gathered_.commands.size() < limits::kBatchCommandsPerTransaction &&
         gathered_rows_ + rows <= kMostRows && gathered_bytes_ + bytes <= kMostBytes;
}

void BatchSender::add(Command command, LinePlace place) {
  gather({std::move(command), place});
  catch_up();
}

void BatchSender::gather(Item item) {
  const size_t rows = rows_of(item.command);
  const size_t bytes = bytes_of(item.command);
  if (!fits(rows, bytes)) send();
  if (stopped_) return;
  gathered_rows_ += rows;
  gathered_bytes_ += bytes;
  gathered_.commands.push_back(std::move(item.command));
  places_.push_back(item.place);
}

void BatchSender::send() {
  if (gathered_.commands.empty() || stopped_) return;
  gathered_.chained = gathered_.on_refusal == OnRefusal::kStop && any_sent_;
  any_sent_ = true;
  InFlight& sent = in_flight_.emplace_back();
  sent.places.swap(places_);
  if (sends_again()) sent.commands = gathered_.commands;
  context_.remote.submit_async(gathered_, kWindow,
                               [this](Result<rpc::Submitted> submitted) { take_answer(submitted); });
  gathered_.commands.clear();
  gathered_rows_ = 0;
  gathered_bytes_ = 0;
}

void BatchSender::settle() {
  do {
    send();
    drain();
  } while (catch_up());
}

bool BatchSender::catch_up() {
  if (!halt_ || stopped_) return false;
  std::deque<Item> rest;
  while (halt_ && !stopped_) {
    drain();  // what is under way comes back
    if (stopped_) break;
    for (size_t i = 0; i < places_.size(); ++i)
      came_back_.push_back({std::move(gathered_.commands[i]), places_[i]});
    gathered_.commands.clear();
    places_.clear();
    gathered_rows_ = gathered_bytes_ = 0;
    std::move(rest.begin(), rest.end(), std::back_inserter(came_back_));
    rest = std::exchange(came_back_, {});
    const Halt halt = *halt_;
    halt_.reset();
    any_sent_ = false;  // nothing that is applied is behind a refused one
    if (halt.cascade) run_cascade(halt);
    for (; !rest.empty() && !halt_ && !stopped_; rest.pop_front()) gather(std::move(rest.front()));
  }
  return true;
}

void BatchSender::run_cascade(const Halt& halt) {
  Revision revision;
  const int code = cascade_delete(context_, *halt.cascade, &revision);
  revision_ = std::max(revision_, revision);
  if (code == kExitOk) {
    ++applied_;
  } else {
    report({ErrorCode::kFailedPrecondition, "this line failed, see above", ""}, halt.place,
           static_cast<ExitCode>(code));
  }
}

void BatchSender::drain() {
  context_.remote.drain();
}

void BatchSender::take_answer(const Result<rpc::Submitted>& submitted) {
  InFlight sent = std::move(in_flight_.front());
  in_flight_.pop_front();
  if (!submitted.ok()) {
    // Behind a refused line every chained transaction is refused, and that is what was wanted.
    if (stopped_) return;
    if (halt_ && submitted.error().code == ErrorCode::kFailedPrecondition) return come_back(sent, 0);
    connection_failed_ = true;
    stopped_ = true;
    const LinePlace first = halt_ ? halt_->place : sent.places.front();
    Error error = submitted.error();
    error.message = "lines " + std::to_string(first.line) + " to " + std::to_string(sent.places.back().line) +
                    ": " + error.message;
    return refuse(error, first, exit_code_of(submitted.error()));
  }
  const TransactionAnswer& answer = submitted->answer;
  applied_ += answer.applied;
  revision_ = std::max(revision_, answer.revision);
  for (const auto& [index, id] : answer.assigned_ids) {
    print_assigned_id(context_, id);
    assigned_ids_.push_back(id);
  }
  take_refusals(answer, sent);
}

void BatchSender::take_refusals(const TransactionAnswer& answer, InFlight& sent) {
  for (const CommandRefusal& refusal : answer.refusals) {
    if (refusal.index >= sent.places.size()) continue;
    const LinePlace place = sent.places[refusal.index];
    const bool again = sends_again() && refusal.index < sent.commands.size();
    if (again && needs_job(sent.commands[refusal.index], refusal.refusal)) {
      halt_ = {place, std::get<DeleteNexthop>(sent.commands[refusal.index]).id};
    } else {
      refuse(refusal_error(refusal.refusal), place, kExitRefused);
      if (again && context_.options.force) halt_ = {place, std::nullopt};
    }
    if (halt_) return come_back(sent, refusal.index + 1);
  }
  if (!answer.refusals.empty() && gathered_.on_refusal != OnRefusal::kContinue) stopped_ = true;
}

void BatchSender::come_back(InFlight& sent, size_t first) {
  for (size_t i = first; i < sent.places.size(); ++i)
    came_back_.push_back({std::move(sent.commands[i]), sent.places[i]});
}

void BatchSender::refuse(const Error& error, LinePlace place, ExitCode code) {
  ++refused_;
  if (first_code_ == kExitOk || connection_failed_) first_code_ = code;
  if (refused_lines_.size() < kMostRefusedRemembered) refused_lines_.insert(place.line);
  print_error(context_.err, context_.options, error, code,
              {.file = file_name_, .line = place.line, .column = place.column});
}

void BatchSender::report(const Error& error, LinePlace place, ExitCode code) {
  refuse(error, place, code);
  if (!context_.options.force) stopped_ = true;
}

ExitCode BatchSender::exit_code() const {
  if (connection_failed_ || refused_ == 0 || !context_.options.force) return first_code_;
  return applied_ > 0 ? kExitPartly : first_code_;
}

}  // namespace waypost::cli
