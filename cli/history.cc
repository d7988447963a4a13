#include <charconv>

#include "cli/difference.h"
#include "cli/past.h"
#include "cli/report.h"
#include "cli/requests_internal.h"
#include "cli/row_words.h"

namespace waypost::cli {
namespace {

constexpr uint64_t kDefaultShown = 20;

std::optional<uint64_t> number_of(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

struct HistoryQuery {
  std::optional<uint64_t> after;
  uint64_t limit = 0;
};

// [after REVISION] [limit N]; without words the newest twenty.
std::optional<HistoryQuery> parse_history(Words words) {
  HistoryQuery query;
  for (size_t at = 0; at < words.size(); at += 2) {
    if (at + 1 == words.size()) return std::nullopt;
    const auto number = number_of(words[at + 1]);
    if (!number) return std::nullopt;
    if (matches(words[at], "after")) {
      query.after = *number;
    } else if (matches(words[at], "limit")) {
      query.limit = *number;
    } else {
      return std::nullopt;
    }
  }
  return query;
}

Result<uint64_t> newest_revision(const Context& context) {
  rpc::Request request = new_request(context.options);
  request.mutable_node_status()->set_stale(context.options.stale);
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return end.error();
  return end->node_status().revision();
}

void print_item(const Context& context, RowWriter& row, const rpc::HistoryItem& item) {
  if (row.json()) {
    row.open_object();
    row.number("revision", "", item.revision());
    row.number("position", "", item.position());
    row.json_string("time", time_words(item.time_us()));
    row.json_string("author", item.author());
    row.number("nexthops", "", item.nexthops());
    row.number("routes", "", item.routes());
    return row.close_object();
  }
  context.out.put("revision " + std::to_string(item.revision()) + "  " + time_words(item.time_us()) + "  " +
                  (item.author().empty() ? "-" : item.author()) + "  nexthops " +
                  std::to_string(item.nexthops()) + " routes " + std::to_string(item.routes()) + "\n");
  context.out.end_row();
}

}  // namespace

int run_history(const Context& context, Words words) {
  std::optional<HistoryQuery> query = parse_history(words);
  if (!query)
    return context.usage("history takes `after REVISION` and `limit N`",
                         "waypost history after 800 limit 20");
  if (!query->after) {
    const Result<uint64_t> newest = newest_revision(context);
    if (!newest.ok()) return context.fail(newest.error());
    const uint64_t shown = query->limit > 0 ? query->limit : kDefaultShown;
    query->after = *newest > shown ? *newest - shown : 0;
  }
  rpc::Request request = new_request(context.options);
  request.mutable_history()->set_after(*query->after);
  request.mutable_history()->set_limit(static_cast<uint32_t>(std::min<uint64_t>(query->limit, UINT32_MAX)));
  PrintOptions print = context.options.print;
  print.json = Report::wants_json(context.options);
  RowWriter row(context.out, print);
  bool open = false;
  const Result<rpc::End> end = context.remote.call(request, [&](const rpc::Part& part) {
    if (!std::exchange(open, true)) row.open_array();
    print_item(context, row, part.history());
    return context.out.error() == 0;
  });
  if (!end.ok()) return context.out.flush(), context.fail(end.error());
  if (!open) row.open_array();
  row.close_array();
  row.end_document();
  context.out.flush();
  return kExitOk;
}

int run_diff(const Context& context, Words words) {
  const auto from = words.size() == 2 ? number_of(words[0]) : std::nullopt;
  const auto to = words.size() != 2 ? std::nullopt : words[1] == "now" ? 0 : number_of(words[1]);
  if (!from || !to)
    return context.usage("diff takes two revisions", "waypost diff 800 812, or waypost diff 800 now");
  rpc::Request request = new_request(context.options);
  request.mutable_diff()->set_from(*from);
  request.mutable_diff()->set_to(*to);
  request.mutable_diff()->set_with_nexthops(true);
  DifferencePrinter printer(context);
  Status failed;
  const Result<rpc::End> end = context.remote.call(request, [&](const rpc::Part& part) {
    failed = printer.print(part.difference());
    return failed.ok() && context.out.error() == 0;
  });
  if (!failed.ok()) return context.fail(failed.error());
  if (!end.ok()) return context.out.flush(), context.fail(end.error());
  printer.end(true);
  return printer.printed() == 0 ? kExitOk : kExitDifferences;
}

}  // namespace waypost::cli
