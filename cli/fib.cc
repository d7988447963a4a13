#include "cli/fib.h"

#include "cli/listing.h"
#include "cli/report.h"
#include "cli/requests_internal.h"
#include "cli/row_words.h"
#include "cli/verbs.h"
#include "model/row_codec.h"

namespace waypost::cli {
namespace {

constexpr uint32_t kDefaultWaitMs = 30'000;

Table count_table(const rpc::FibStatus& status) {
  Table table({{"kind", ""},
               {"installed", "installed"},
               {"pending", "pending"},
               {"local_here", "local here"},
               {"degraded", "degraded"},
               {"refused", "refused"},
               {"conflict", "conflict"},
               {"unknown", "unknown"}});
  const auto add = [&table](const char* kind, const rpc::StateCounts& counts) {
    table.add({std::string(kind), counts.installed(), counts.pending(), counts.local_here(),
               counts.degraded(), counts.refused(), counts.conflict(), counts.unknown()});
  };
  add("nexthops", status.nexthops());
  add("routes", status.routes());
  return table;
}

std::string kernel_words(const rpc::FibStatus& status) {
  return grouped(status.kernel_routes()) + " routes and " + grouped(status.kernel_nexthops()) +
         " nexthops of ours, " + grouped(status.foreign_routes()) + " and " +
         grouped(status.foreign_nexthops()) + " of others";
}

std::string audit_words(const rpc::FibStatus& status) {
  if (status.last_audit_us() == 0) return {};
  std::string words =
      time_words(status.last_audit_us()) + ", took " + age_words(status.last_audit_took_us() / 1000);
  if (!status.last_audit_result().empty()) words += ": " + status.last_audit_result();
  return words;
}

std::vector<std::string> fact_lines(const google::protobuf::RepeatedPtrField<rpc::Fact>& facts) {
  std::vector<std::string> lines;
  for (const rpc::Fact& fact : facts) lines.push_back(fact.name() + " " + fact.value());
  return lines;
}

int run_status(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "fib status", words);
  rpc::Request request = new_request(context.options);
  request.mutable_fib_status();
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  const rpc::FibStatus& status = end->fib_status();
  Report report(context);
  report.fact("enabled", "kernel_sync", status.enabled());
  if (!status.enabled()) return report.print(), kExitOk;
  report.fact("in_sync", "in sync", status.in_sync());
  report.fact("clean", "clean", status.clean());
  report.fact("synced_revision", "revision", status.synced_revision());
  report.fact("store_revision", "in the store", status.store_revision());
  report.fact("kernel", "kernel", kernel_words(status));
  report.fact_if_any("problem", "problem", status.problem());
  report.fact_if_any("hold", "sweep held", status.hold());
  report.fact("held_objects", "held objects", status.held_objects());
  report.fact("repaired_nexthops", "repaired nexthops", status.repaired_nexthops());
  report.fact("repaired_routes", "repaired routes", status.repaired_routes());
  report.fact_if_any("last_drift", "last drift", status.last_drift());
  report.fact("audits", "audits", status.audits());
  report.fact_if_any("last_audit", "last audit", audit_words(status));
  report.fact("compat_mode", "nexthop_compat_mode", std::to_string(status.compat_mode()));
  report.fact("trie_bytes", "trie bytes", status.trie_bytes());
  report.fact("agent_bytes", "kernel_sync bytes", status.agent_bytes());
  report.table("counts", "rows", count_table(status));
  std::vector<std::string> examples;
  for (const rpc::RowReport& row : status.examples()) examples.push_back(report_words(row));
  report.words("examples", "not installed, for example", examples);
  report.words("fights", "changed by others again and again",
               {status.fights().begin(), status.fights().end()});
  if (context.options.print.details || Report::wants_json(context.options)) {
    report.words("capabilities", "capabilities", fact_lines(status.capabilities()));
    report.words("counters", "counters", fact_lines(status.counters()));
  }
  report.print();
  const bool healthy = status.in_sync() && status.problem().empty() && status.hold().empty();
  return healthy ? kExitOk : kExitDifferences;
}

std::string_view difference_word(uint32_t kind) {
  return kind == 1 ? "missing" : kind == 2 ? "extra" : "different";
}

void print_difference(const Context& context, RowWriter& row, const rpc::FibDifference& difference) {
  const std::string object = report_object(difference.row());
  if (row.json()) {
    row.open_object();
    row.json_string("kind", difference_word(difference.kind()));
    row.json_string("object", object);
    row.json_string("state", state_word(difference.row().state()));
    if (!difference.row().reason().empty()) row.json_string("reason", difference.row().reason());
    if (!difference.wanted().empty()) row.json_string("wanted", difference.wanted());
    if (!difference.found().empty()) row.json_string("found", difference.found());
    row.close_object();
    return;
  }
  std::string words =
      std::string(difference_word(difference.kind())) + " " + report_words(difference.row()) + "\n";
  if (!difference.wanted().empty()) words += "  wanted " + difference.wanted() + "\n";
  if (!difference.found().empty()) words += "  found  " + difference.found() + "\n";
  context.out.put(words);
  context.out.end_row();
}

int run_diff(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "fib diff", words);
  rpc::Request request = new_request(context.options);
  request.mutable_fib_diff();
  PrintOptions print = context.options.print;
  print.json = Report::wants_json(context.options);
  RowWriter row(context.out, print);
  uint64_t differences = 0;
  const Result<rpc::End> end = context.remote.call(request, [&](const rpc::Part& part) {
    if (differences++ == 0) row.open_array();
    print_difference(context, row, part.fib_difference());
    return context.out.error() == 0;
  });
  if (!end.ok()) return context.out.flush(), context.fail(end.error());
  if (differences == 0) row.open_array();
  row.close_array();
  row.end_document();
  context.out.flush();
  return differences == 0 ? kExitOk : kExitDifferences;
}

std::string desired_words(const Context& context, const rpc::RowBlock& block) {
  NexthopCache nexthops;
  if (!nexthops.absorb(block.nexthops(), false).ok()) return "a damaged row";
  RowBlockReader reader(block.rows());
  std::string_view key, value;
  if (!reader.next(&key, &value)) return {};
  const auto route_key = decode_route_key(key);
  if (!route_key) return "a damaged row";
  const Result<Route> route = decode_route_value(*route_key, value);
  if (!route.ok()) return "a damaged row";
  Output line;
  RowWriter row(line, {.one_line = true});
  print_route(row, *route, nexthops, context.names, {});
  std::string text = line.text();
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

int run_get(const Context& context, Words words) {
  const std::vector<Word> line = as_line(words);
  const Result<RouteLookup> lookup = parse_route_lookup(line, context.parse_context());
  if (!lookup.ok()) return context.usage(lookup.error().message, lookup.error().hint);
  rpc::Request request = new_request(context.options);
  request.mutable_fib_get()->set_address(address_bytes_of(lookup->address));
  request.mutable_fib_get()->set_table(lookup->table.value());
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  const rpc::FibGetAnswer& answer = end->fib_get();
  const std::string desired = desired_words(context, answer.desired());
  Report report(context);
  report.fact("store", "store", desired.empty() ? std::string("no route") : desired);
  if (!desired.empty()) report.fact("state", "state", std::string(state_word(answer.state())));
  report.fact_if_any("reason", "reason", answer.reason());
  report.fact("kernel", "kernel", answer.kernel().empty() ? std::string("no route") : answer.kernel());
  report.fact("agree", "agree", answer.agree());
  report.print();
  return answer.agree() ? kExitOk : kExitDifferences;
}

// `fib wait [REVISION]`: the asked node alone, up to what it holds now.
int run_wait(const Context& context, Words words) {
  uint64_t revision = 0;
  if (words.size() > 1 ||
      (words.size() == 1 && words[0].find_first_not_of("0123456789") != std::string::npos))
    return context.usage("fib wait takes at most a revision", "waypost fib wait [REVISION] [--timeout 30s]");
  if (words.size() == 1) {
    revision = std::strtoull(words[0].c_str(), nullptr, 10);
  } else {
    rpc::Request status = new_request(context.options);
    status.mutable_node_status()->set_stale(true);
    const Result<rpc::End> end = context.remote.call(status, {});
    if (!end.ok()) return context.fail(end.error());
    revision = end->node_status().revision();
  }
  rpc::Request request = new_request(context.options);
  if (!context.options.timeout) request.set_deadline_ms(kDefaultWaitMs);
  request.mutable_fib_wait()->set_revision(revision);
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  const uint64_t synced = end->fib_wait().synced_revision();
  if (end->fib_wait().reached()) {
    print_note(context.err, context.options, "in sync at revision " + std::to_string(synced));
    return kExitOk;
  }
  return context.fail(
      {ErrorCode::kDeadlineExceeded,
       "not in sync at revision " + std::to_string(revision) + "; at " + std::to_string(synced),
       "`waypost fib status` says why; a longer --timeout waits on"});
}

int run_action(const Context& context, rpc::FibAction::Action action) {
  rpc::Request request = new_request(context.options);
  request.mutable_fib_action()->set_action(action);
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  const rpc::FibActionAnswer& answer = end->fib_action();
  if (Report::wants_json(context.options)) {
    Report report(context);
    report.fact("objects", "objects", answer.objects());
    report.fact("words", "", answer.words());
    return report.print(), kExitOk;
  }
  std::string words = answer.words();
  if (answer.objects() > 0) words = grouped(answer.objects()) + " objects: " + words;
  return print_note(context.err, context.options, words), kExitOk;
}

int run_audit(const Context& context, Words words) {
  return words.empty() ? run_action(context, rpc::FibAction::AUDIT) : no_words(context, "fib audit", words);
}

int run_sweep(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "fib sweep", words);
  if (!context.options.yes)
    return context.usage("fib sweep removes from this node's kernel what its store lacks",
                         "look at `waypost fib status` first, then say: waypost fib sweep --yes");
  return run_action(context, rpc::FibAction::SWEEP);
}

int run_release(const Context& context, Words words) {
  return words.empty() ? run_action(context, rpc::FibAction::RELEASE)
                       : no_words(context, "fib release", words);
}

constexpr OwnVerb kVerbs[] = {{"status", run_status},  {"diff", run_diff},   {"get", run_get},
                              {"wait", run_wait},      {"audit", run_audit}, {"sweep", run_sweep},
                              {"release", run_release}};

}  // namespace

int run_fib(const Context& context, Words words) {
  return run_verb(context, "fib", kVerbs, words);
}

}  // namespace waypost::cli
