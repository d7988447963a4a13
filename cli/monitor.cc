#include "cli/monitor.h"

#include <charconv>
#include <ctime>

#include "cli/difference.h"
#include "cli/requests_internal.h"
#include "cli/row_words.h"

namespace waypost::cli {
namespace {

struct MonitorQuery {
  bool nexthops = false;
  bool routes = false;
  bool label = false;
  std::optional<uint64_t> after;
};

Result<MonitorQuery> parse_monitor(std::span<const Word> words) {
  MonitorQuery query;
  bool all = false;
  for (size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at].text;
    if (word == "all") {
      all = true;
    } else if (matches(word, "label")) {
      query.label = true;
    } else if (matches(word, "nexthop")) {
      query.nexthops = true;
    } else if (matches(word, "route")) {
      query.routes = true;
    } else if (matches(word, "after") && at + 1 < words.size()) {
      const std::string_view text = words[++at].text;
      uint64_t revision = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
      if (error != std::errc() || end != text.data() + text.size())
        return Error{ErrorCode::kInvalidArgument, "\"" + std::string(text) + "\" is not a revision", ""};
      query.after = revision;
    } else {
      return Error{ErrorCode::kInvalidArgument,
                   "monitor: \"" + std::string(word) + "\" is not something to watch here",
                   "waypost monitor [all|route|nexthop] [label] [after REVISION]"};
    }
  }
  if (all || (!query.nexthops && !query.routes)) {
    query.nexthops = query.routes = true;
    // `ip monitor` says what each line is about where it watches everything.
    query.label = true;
  }
  return query;
}

class MonitorPrinter {
 public:
  MonitorPrinter(const Context& context, bool label) : context_(context), label_(label) {}

  // A change set; an error on damaged rows.
  Status print(const rpc::ChangeSet& set) {
    NexthopCache nexthops;
    if (Status status = nexthops.absorb(set.nexthops(), false); !status.ok()) return status;
    for (const rpc::Change& change : set.changes())
      if (Status status = print(change, set.time_us(), nexthops); !status.ok()) return status;
    context_.out.flush();
    return {};
  }

 private:
  Status print(const rpc::Change& change, uint64_t time_us, const NexthopCache& nexthops) {
    const bool deleted = change.new_value().empty();
    const std::string& value = deleted ? change.old_value() : change.new_value();
    // Printed aside first: a row that is passed over must leave no label behind.
    Output line;
    PrintOptions print = context_.options.print;
    print.pretty = false;  // one object a line
    RowWriter row(line, print);
    const Result<bool> printed =
        print_changed_row(context_, row, change.table(), change.key(), value, nexthops, deleted);
    if (!printed.ok()) return printed.error();
    if (!*printed) return {};
    if (print.json) {
      context_.out.put(line.text());
      context_.out.put('\n');
      return {};
    }
    print_timestamp(time_us);
    if (label_) context_.out.put(change.table() == rpc::NEXTHOP ? "[NEXTHOP]" : "[ROUTE]");
    context_.out.put(line.text());
    return {};
  }

  void print_timestamp(uint64_t time_us) {
    if (context_.options.timestamp == Timestamp::kNone) return;
    const auto seconds = static_cast<std::time_t>(time_us / 1'000'000);
    std::tm parts{};
    if (::localtime_r(&seconds, &parts) == nullptr) return;
    const bool is_short = context_.options.timestamp == Timestamp::kShort;
    char text[64];
    char micros[16];
    std::snprintf(micros, sizeof(micros), "%06u", static_cast<unsigned>(time_us % 1'000'000));
    std::strftime(text, sizeof(text), is_short ? "[%Y-%m-%dT%H:%M:%S" : "Timestamp: %a %b %e %H:%M:%S %Y",
                  &parts);
    context_.out.put(text);
    context_.out.put(is_short ? "." + std::string(micros) + "] "
                              : " " + std::to_string(time_us % 1'000'000) + " usec\n");
  }

  const Context& context_;
  const bool label_;
};

}  // namespace

int run_monitor(const Context& context, std::span<const Word> words, ObjectVerb::Object only) {
  Result<MonitorQuery> query = parse_monitor(words);
  if (!query.ok()) return context.usage(query.error().message, query.error().hint);
  if (only != ObjectVerb::Object::kOther) {
    query->label = false;
    query->nexthops = only == ObjectVerb::Object::kNexthop;
    query->routes = only == ObjectVerb::Object::kRoute;
  }
  rpc::Request request;
  rpc::Watch& watch = *request.mutable_watch();
  watch.set_from_now(!query->after);
  if (query->after) watch.set_after(*query->after);
  if (query->nexthops) watch.add_tables(rpc::NEXTHOP);
  if (query->routes) watch.add_tables(rpc::ROUTE);
  watch.set_with_nexthops(true);
  MonitorPrinter printer(context, query->label);
  Status failed;
  const Result<rpc::End> end = context.remote.call(request, [&](const rpc::Part& part) {
    failed = printer.print(part.changes());
    return failed.ok() && context.out.error() == 0;
  });
  context.out.flush();
  if (!failed.ok()) return context.fail(failed.error());
  if (!end.ok()) return context.fail(end.error());
  return kExitOk;
}

}  // namespace waypost::cli
