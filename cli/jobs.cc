#include "cli/jobs.h"

#include "cli/difference.h"
#include "cli/fib_wait.h"
#include "cli/progress.h"
#include "cli/requests_internal.h"

namespace waypost::cli {
namespace {

constexpr int kMostRefusalsShown = 10;

// A job goes on for as long as it makes progress, so only a --timeout that was given bounds it.
rpc::Request new_job(const Context& context) {
  rpc::Request request = new_request(context.options);
  request.mutable_job()->set_dry_run(context.options.dry_run);
  request.mutable_job()->set_author(context.host.author);
  return request;
}

void print_summary(const Context& context, const rpc::JobAnswer& answer, std::string_view done) {
  if (context.options.print.json) {
    RowWriter row(context.out, context.options.print);
    row.open_object();
    row.number("changed", "", answer.changed());
    row.number("skipped", "", answer.skipped());
    row.number("refused", "", answer.refused());
    row.number("revision", "", answer.revision());
    if (context.options.dry_run) row.truth("dry_run", "");
    row.close_object();
    row.end_document();
    return context.out.flush();
  }
  std::string words = context.options.dry_run ? "would change " : std::string(done) + " ";
  words += grouped(answer.changed()) + (answer.changed() == 1 ? " row" : " rows");
  if (answer.skipped() > 0)
    words += ", passed over " + grouped(answer.skipped()) + " that others changed meanwhile";
  if (!context.options.dry_run) words += ", revision " + std::to_string(answer.revision());
  print_note(context.err, context.options, words);
}

int report(const Context& context, const rpc::JobAnswer& answer, std::string_view done) {
  print_summary(context, answer, done);
  if (answer.refused() == 0) return kExitOk;
  Error error{ErrorCode::kFailedPrecondition, grouped(answer.refused()) + " rows were refused", ""};
  for (int i = 0; i < answer.refusals_size() && i < kMostRefusalsShown; ++i)
    error.message += (i == 0 ? ": " : "; ") + answer.refusals(i);
  if (!context.options.cascade)
    error.hint = "--cascade takes the routes of nexthops in use along, as `ip` does";
  const ExitCode code = answer.changed() > 0 ? kExitPartly : kExitRefused;
  print_error(context.err, context.options, error, code);
  return code;
}

// Rows that a rollback or its dry run shows go to the output. *revision is where it ended.
int run_job(const Context& context, const rpc::Request& request, std::string_view doing,
            std::string_view done, Revision* revision) {
  DifferencePrinter differences(context);
  std::optional<Progress> progress;
  std::string phase;
  const Result<rpc::End> end = context.remote.call(request, [&](const rpc::Part& part) {
    if (part.has_difference()) return differences.print(part.difference()).ok();
    if (!part.has_progress()) return true;
    const rpc::JobProgress& step = part.progress();
    if (!progress || step.phase() != phase) {
      phase = step.phase();
      progress.emplace(context.err, std::string(doing), phase.empty() ? "rows" : phase, step.total(),
                       context.err.is_terminal() && !context.options.print.json);
    }
    progress->show(step.done());
    return true;
  });
  progress.reset();
  differences.end();
  if (!end.ok()) return context.fail(end.error());
  *revision = Revision(end->job().revision());
  return report(context, end->job(), done);
}

int run_job_and_wait(const Context& context, const rpc::Request& request, std::string_view doing,
                     std::string_view done) {
  Revision revision;
  const int code = run_job(context, request, doing, done, &revision);
  if (code != kExitOk || !context.options.wait.fib || context.options.dry_run) return code;
  return wait_for_fib(context, revision, {});
}

rpc::Request cascade_request(const Context& context, NexthopId id) {
  rpc::Request request = new_job(context);
  request.mutable_job()->mutable_cascade_delete()->set_nexthop(id.value());
  return request;
}

}  // namespace

int run_nexthop_flush(const Context& context, std::span<const Word> words) {
  const Result<NexthopQuery> query = parse_nexthop_query(words, context.parse_context());
  if (!query.ok()) return context.usage(query.error().message, query.error().hint);
  if (query->id)
    return context.usage("nexthop flush takes no id",
                         "waypost nexthop del id " + std::to_string(query->id->value()));
  rpc::Request request = new_job(context);
  rpc::FlushNexthops& flush = *request.mutable_job()->mutable_flush_nexthops();
  fill(*flush.mutable_filter(), *query);
  flush.set_cascade(context.options.cascade);
  return run_job_and_wait(context, request, "flushing", "flushed");
}

int run_route_flush(const Context& context, std::span<const Word> words) {
  // `ip` asks for arguments too: a slip must not take every route away.
  if (words.empty())
    return context.usage("route flush needs arguments", "waypost route flush table main, or table all");
  const Result<RouteQuery> query = parse_route_query(words, context.parse_context());
  if (!query.ok()) return context.usage(query.error().message, query.error().hint);
  if (query->prefsrc) return context.usage("route flush cannot choose by src");
  rpc::Request request = new_job(context);
  fill(*request.mutable_job()->mutable_flush_routes()->mutable_filter(), *query);
  return run_job_and_wait(context, request, "flushing", "flushed");
}

int run_cascade_delete(const Context& context, NexthopId id) {
  return run_job_and_wait(context, cascade_request(context, id), "deleting", "deleted");
}

int cascade_delete(const Context& context, NexthopId id, Revision* revision) {
  return run_job(context, cascade_request(context, id), "deleting", "deleted", revision);
}

int run_rollback(const Context& context, Words words) {
  if (words.size() != 1 || words[0].find_first_not_of("0123456789") != std::string::npos ||
      words[0].size() > 19)
    return context.usage("rollback takes one revision",
                         "`waypost history` lists them; --dry-run shows what would change");
  rpc::Request request = new_job(context);
  request.mutable_job()->mutable_rollback()->set_revision(std::stoull(words[0]));
  return run_job_and_wait(context, request, "rolling back", "rolled back");
}

}  // namespace waypost::cli
