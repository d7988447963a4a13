#include "cli/batch_sender.h"

#include "cli/change.h"
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
  gathered_.on_refusal = context.options.atomic  ? OnRefusal::kAbort
                         : context.options.force ? OnRefusal::kContinue
                                                 : OnRefusal::kStop;
}

bool BatchSender::fits(size_t rows, size_t bytes) const {
  if (gathered_.commands.empty() || context_.options.atomic) return true;
  return gathered_.commands.size() < limits::kBatchCommandsPerTransaction &&
         gathered_rows_ + rows <= kMostRows && gathered_bytes_ + bytes <= kMostBytes;
}

void BatchSender::add(Command command, LinePlace place) {
  const size_t rows = rows_of(command);
  const size_t bytes = bytes_of(command);
  if (!fits(rows, bytes)) send();
  if (stopped_) return;
  gathered_rows_ += rows;
  gathered_bytes_ += bytes;
  gathered_.commands.push_back(std::move(command));
  places_.push_back(place);
}

void BatchSender::send() {
  if (gathered_.commands.empty() || stopped_) return;
  gathered_.chained = gathered_.on_refusal == OnRefusal::kStop && any_sent_;
  any_sent_ = true;
  in_flight_.push_back(std::move(places_));
  places_ = {};
  context_.remote.submit_async(gathered_, kWindow,
                               [this](Result<rpc::Submitted> submitted) { take_answer(submitted); });
  gathered_.commands.clear();
  gathered_rows_ = 0;
  gathered_bytes_ = 0;
}

void BatchSender::settle() {
  send();
  drain();
}

void BatchSender::drain() {
  context_.remote.drain();
}

void BatchSender::take_answer(const Result<rpc::Submitted>& submitted) {
  const std::vector<LinePlace> places = std::move(in_flight_.front());
  in_flight_.pop_front();
  if (!submitted.ok()) {
    // Behind a refused line every chained transaction is refused, and that is what was wanted.
    if (stopped_) return;
    connection_failed_ = true;
    stopped_ = true;
    Error error = submitted.error();
    error.message = "lines " + std::to_string(places.front().line) + " to " +
                    std::to_string(places.back().line) + ": " + error.message;
    return refuse(error, places.front(), exit_code_of(submitted.error()));
  }
  const TransactionAnswer& answer = submitted->answer;
  applied_ += answer.applied;
  revision_ = std::max(revision_, answer.revision);
  for (const auto& [index, id] : answer.assigned_ids) {
    print_assigned_id(context_, id);
    assigned_ids_.push_back(id);
  }
  for (const CommandRefusal& refusal : answer.refusals)
    if (refusal.index < places.size())
      refuse(refusal_error(refusal.refusal), places[refusal.index], kExitRefused);
  if (!answer.refusals.empty() && gathered_.on_refusal != OnRefusal::kContinue) stopped_ = true;
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
