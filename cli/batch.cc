#include "cli/batch.h"

#include <atomic>
#include <cstdio>

#include "cli/batch_sender.h"
#include "cli/batch_survey.h"
#include "cli/change.h"
#include "cli/jobs.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "model/limits.h"

namespace waypost::cli {
namespace {

std::atomic<bool> interrupted{false};

constexpr size_t kMostOthersShown = 20;
constexpr size_t kRowsPerCheck = 8'192;
constexpr uint64_t kLinesBetweenLooks = 1'024;

using Verb = ObjectVerb::Verb;
using Object = ObjectVerb::Object;

int refuse_others(const Context& context, const InputFile& file, const BatchSurvey& survey) {
  for (size_t i = 0; i < survey.others.size() && i < kMostOthersShown; ++i) {
    const OtherLine& other = survey.others[i];
    print_error(context.err, context.options,
                {ErrorCode::kFailedPrecondition, other.object + ": per-host object, not stored", ""},
                kExitRefused, {.file = file.name(), .line = other.line, .column = other.column});
  }
  std::string message = grouped(survey.other_lines) + " lines are of objects that belong to each host";
  if (survey.other_lines > kMostOthersShown)
    message += ", the first " + std::to_string(kMostOthersShown) + " are above";
  print_error(context.err, context.options,
              {ErrorCode::kFailedPrecondition, message + "; nothing was applied",
               "--skip-other passes over them; give them to `ip` on each host"},
              kExitRefused);
  return kExitRefused;
}

// The word that names the object of a changing line: behind object and verb.
LinePlace place_of(std::span<const Word> line) {
  const Word& word = line[std::min<size_t>(2, line.size() - 1)];
  return {.line = word.line, .column = word.column};
}

// One pass over the file: lines to commands, commands to the sender.
class BatchRun {
 public:
  BatchRun(const Context& context, InputFile& file, const BatchSurvey& survey)
      : context_(context),
        file_(file),
        sender_(context, file.name()),
        progress_(context.err, "importing", "lines", survey.lines,
                  context.err.is_terminal() && !context.options.print.json) {}

  Status run();
  int finish();

 private:
  void report_malformed(Error error);
  void take(std::span<const Word> line);
  void read(const ObjectVerb& what, std::span<const Word> line);
  bool over() const { return sender_.stopped() || interrupted.load(std::memory_order_relaxed); }
  void summary() const;
  int wait();

  const Context& context_;
  InputFile& file_;
  BatchSender sender_;
  Progress progress_;
  uint64_t skipped_ = 0;
  uint64_t taken_ = 0;
};

Status BatchRun::run() {
  BatchReader reader;
  Status malformed;
  const auto visit = [this](const BatchReader::Line& line) {
    if (!over()) take(line.words);
  };
  Status status = file_.read([&](std::string_view piece) {
    malformed = reader.feed(piece, visit);
    return malformed.ok() && !over();
  });
  if (!status.ok()) return status;
  if (malformed.ok() && !over()) malformed = reader.finish(visit);
  const bool send_rest = !interrupted && (malformed.ok() || !context_.options.atomic);
  send_rest ? sender_.settle() : sender_.drain();
  progress_.clear();
  if (!malformed.ok() && !sender_.stopped()) report_malformed(malformed.error());
  return {};
}

// The reader says the place in its words: "line 3, column 7: a NUL byte".
void BatchRun::report_malformed(Error error) {
  LinePlace place{.line = 1, .column = 1};
  int end = 0;
  const int read =
      std::sscanf(error.message.c_str(), "line %u, column %u: %n", &place.line, &place.column, &end);
  if (read == 2) error.message.erase(0, static_cast<size_t>(end));
  sender_.report(error, place, kExitUsage);
}

void BatchRun::take(std::span<const Word> line) {
  const std::variant<ObjectVerb, ParseError> parsed = parse_object_verb(line);
  const auto* what = std::get_if<ObjectVerb>(&parsed);
  if (what != nullptr && what->object == Object::kOther) {
    ++skipped_;
    return;
  }
  const bool changes = what != nullptr && what->verb <= Verb::kDelete;
  if (what != nullptr && !changes) return read(*what, line);
  std::optional<ParseError> error;
  if (what == nullptr) {
    error = std::get<ParseError>(parsed);
  } else {
    std::variant<Command, ParseError> command = parse_command(line, context_.parse_context());
    if (auto* read_command = std::get_if<Command>(&command)) {
      sender_.add(std::move(*read_command), place_of(line));
    } else {
      error = std::get<ParseError>(command);
    }
  }
  if (error) {
    // What is before the line is applied first, and may itself be refused.
    if (!context_.options.atomic) sender_.settle();
    progress_.clear();
    if (!sender_.stopped())
      sender_.report(error->error, {.line = error->line, .column = error->column}, kExitUsage);
    return;
  }
  if (++taken_ % kLinesBetweenLooks == 0) progress_.show(sender_.applied());
}

// A line that asks sees all that stands before it.
void BatchRun::read(const ObjectVerb& what, std::span<const Word> line) {
  const LinePlace place{.line = line[0].line, .column = line[0].column};
  sender_.settle();
  progress_.clear();
  if (sender_.stopped()) return;
  const std::span<const Word> words = line.subspan(what.arguments);
  const bool nexthop = what.object == Object::kNexthop;
  int code = kExitOk;
  switch (what.verb) {
    case Verb::kShow:
      code = nexthop ? show_nexthops(context_, words) : show_routes(context_, words);
      break;
    case Verb::kGet:
      code = nexthop ? get_nexthop(context_, words) : get_route(context_, words);
      break;
    case Verb::kFlush:
      code = nexthop ? run_nexthop_flush(context_, words) : run_route_flush(context_, words);
      break;
    default:
      return sender_.report(
          {ErrorCode::kInvalidArgument, "\"" + std::string(line[1].text) + "\" has no place in a batch",
           "give it as a command of its own"},
          place, kExitUsage);
  }
  if (code == kExitOk) return;
  sender_.report({ErrorCode::kFailedPrecondition, "this line failed, see above", ""}, place,
                 static_cast<ExitCode>(code));
}

void BatchRun::summary() const {
  if (context_.options.print.json) {
    RowWriter row(context_.out, context_.options.print);
    row.open_object();
    row.number("applied", "", sender_.applied());
    row.number("refused", "", sender_.refused());
    row.number("skipped", "", skipped_);
    row.number("revision", "", sender_.revision().value());
    row.close_object();
    row.end_document();
    return context_.out.flush();
  }
  std::string words = "applied " + grouped(sender_.applied()) + (sender_.applied() == 1 ? " line" : " lines");
  if (sender_.refused() > 0) words += ", refused " + grouped(sender_.refused());
  if (skipped_ > 0) words += ", skipped " + grouped(skipped_) + " of other objects";
  if (sender_.applied() > 0) words += ", revision " + std::to_string(sender_.revision().value());
  print_note(context_.err, context_.options, words);
}

// Asks about the rows of this batch by reading the file again, so that a million of them need no memory.
int BatchRun::wait() {
  FibWaiter waiter(context_);
  Status status = waiter.reach(sender_.revision());
  ChangedRows rows{.nexthops = sender_.assigned_ids(), .route_keys = {}};
  BatchReader reader;
  const auto visit = [&](const BatchReader::Line& line) {
    const std::variant<Command, ParseError> command = parse_command(line.words, context_.parse_context());
    const auto* read_command = std::get_if<Command>(&command);
    if (read_command == nullptr || sender_.was_refused(place_of(line.words).line)) return;
    add_changed_row(*read_command, rows);
    if (rows.size() < kRowsPerCheck || !status.ok()) return;
    status = waiter.check(rows);
    rows = {};
  };
  Status reading =
      file_.read([&](std::string_view piece) { return reader.feed(piece, visit).ok() && status.ok(); });
  if (reading.ok()) (void)reader.finish(visit);
  if (status.ok() && rows.size() > 0) status = waiter.check(rows);
  return status.ok() ? waiter.report() : context_.fail(status.error());
}

int BatchRun::finish() {
  summary();
  if (interrupted) {
    print_note(context_.err, context_.options, "interrupted: what was applied stays");
    return kExitInterrupted;
  }
  const int code = sender_.exit_code();
  const bool usable = code == kExitOk || code == kExitPartly;
  if (!usable || !context_.options.wait.fib || sender_.applied() == 0) return code;
  const int waited = wait();
  return waited != kExitOk ? waited : code;
}

}  // namespace

void interrupt_batch() {
  interrupted.store(true);
}

int run_batch(const Context& context, const std::string& path) {
  Result<InputFile> file = InputFile::open(path, context.host.standard_input);
  if (!file.ok()) return context.usage(file.error().message, file.error().hint);
  Result<BatchSurvey> survey = survey_batch(*file);
  if (!survey.ok()) return context.usage(survey.error().message, survey.error().hint);
  if (survey->other_lines > 0 && !context.options.skip_other) return refuse_others(context, *file, *survey);
  if (context.options.atomic && survey->reading_lines > 0)
    return context.usage("--atomic takes lines that change something, and " + grouped(survey->reading_lines) +
                         " of these only ask");
  if (context.options.atomic && survey->lines > limits::kMaxChangesPerTransaction)
    return context.fail({ErrorCode::kResourceExhausted,
                         "one transaction takes at most " + grouped(limits::kMaxChangesPerTransaction) +
                             " changes, and " + file->name() + " holds " + grouped(survey->lines),
                         "without --atomic it is applied in transactions of " +
                             grouped(limits::kBatchCommandsPerTransaction) + " lines"});
  BatchRun run(context, *file, *survey);
  if (Status status = run.run(); !status.ok()) return context.fail(status.error());
  return run.finish();
}

}  // namespace waypost::cli
