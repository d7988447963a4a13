#include "cli/change.h"

#include "cli/jobs.h"
#include "model/row_codec.h"

namespace waypost::cli {

bool needs_job(const Command& command, const Refusal& refusal) {
  const auto* gone = std::get_if<DeleteNexthop>(&command);
  return gone != nullptr && gone->cascade && refusal.code == RefusalCode::kTooManyChanges;
}

Error refusal_error(const Refusal& refusal) {
  Error error = describe(refusal);
  if (refusal.code == RefusalCode::kNexthopInUse || refusal.code == RefusalCode::kLastMemberInUse)
    error.hint = "--cascade removes them with it, as `ip` does";
  return error;
}

void add_changed_row(const Command& command, ChangedRows& rows) {
  if (const auto* put = std::get_if<PutNexthop>(&command)) {
    if (put->object.id.value() != 0) rows.nexthops.push_back(put->object.id);
  } else if (const auto* route = std::get_if<PutRoute>(&command)) {
    append_route_key(rows.route_keys.emplace_back(), route->route.key);
  }
}

void print_assigned_id(const Context& context, NexthopId id) {
  RowWriter row(context.out, context.options.print);
  row.open_object();
  row.number("id", "id", id.value());
  row.close_object();
  row.end_document();
  row.text("\n");
  context.out.flush();
}

int run_change(const Context& context, std::span<const Word> line) {
  std::variant<Command, ParseError> parsed = parse_command(line, context.parse_context());
  if (const auto* error = std::get_if<ParseError>(&parsed))
    return context.usage(error->error.message, error->error.hint);
  Command& command = std::get<Command>(parsed);
  if (context.options.dry_run) {
    const auto* gone = std::get_if<DeleteNexthop>(&command);
    if (gone != nullptr && gone->cascade) return run_cascade_delete(context, gone->id);
    return context.usage("--dry-run means nothing here; nothing was done",
                         "it goes with flush, rollback and `nexthop del` with --cascade");
  }
  ChangedRows rows;
  add_changed_row(command, rows);
  Transaction transaction;  // aborts where it is refused
  transaction.commands.push_back(command);
  const Result<rpc::Submitted> submitted = context.remote.submit(transaction);
  if (!submitted.ok()) return context.fail(submitted.error());
  const TransactionAnswer& answer = submitted->answer;
  if (!answer.refusals.empty()) {
    const Refusal& refusal = answer.refusals[0].refusal;
    if (needs_job(command, refusal)) return run_cascade_delete(context, std::get<DeleteNexthop>(command).id);
    return context.fail(refusal_error(refusal));
  }
  for (const auto& [index, id] : answer.assigned_ids) {
    print_assigned_id(context, id);
    rows.nexthops.push_back(id);
  }
  if (!context.options.wait.fib) return kExitOk;
  return wait_for_fib(context, answer.revision, rows);
}

}  // namespace waypost::cli
