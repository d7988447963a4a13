#include "cli/difference.h"

#include "cli/nexthop_printer.h"
#include "cli/requests_internal.h"
#include "cli/route_printer.h"
#include "model/row_codec.h"

namespace waypost::cli {
namespace {

Error damaged() {
  return {ErrorCode::kCorruption, "the server's answer holds a damaged row", ""};
}

}  // namespace

Result<bool> print_changed_row(const Context& context, RowWriter& row, uint32_t table, std::string_view key,
                               std::string_view value, const NexthopCache& nexthops, bool deleted) {
  if (table == rpc::NEXTHOP) {
    const auto id = decode_nexthop_key(key);
    if (!id) return damaged();
    if (is_interned(*id) && !context.options.print.details) return false;
    const Result<NexthopObject> object = decode_nexthop_value(*id, value);
    if (!object.ok()) return object.error();
    print_nexthop(row, *object, context.names, deleted);
    return true;
  }
  const auto route_key = decode_route_key(key);
  if (!route_key) return damaged();
  const Result<Route> route = decode_route_value(*route_key, value);
  if (!route.ok()) return route.error();
  print_route(row, *route, nexthops, context.names, {}, deleted);
  return true;
}

DifferencePrinter::DifferencePrinter(const Context& context)
    : context_(context), row_(context.out, [&] {
        PrintOptions print = context.options.print;
        print.one_line = true;  // a row is one line behind its sign
        return print;
      }()) {}

Status DifferencePrinter::print(const rpc::Difference& difference) {
  NexthopCache nexthops;
  if (Status status = nexthops.absorb(difference.nexthops(), false); !status.ok()) return status;
  const rpc::Change& change = difference.change();
  const struct {
    std::string_view sign;
    std::string_view word;
    const std::string& value;
  } sides[] = {{"- ", "old", change.old_value()}, {"+ ", "new", change.new_value()}};
  const auto id = change.table() == rpc::NEXTHOP ? decode_nexthop_key(change.key()) : std::nullopt;
  if (id && is_interned(*id) && !context_.options.print.details) return {};
  if (printed_++ == 0) row_.open_array();
  row_.open_object();
  row_.json_string("table", change.table() == rpc::NEXTHOP ? "nexthop" : "route");
  for (const auto& side : sides) {
    if (side.value.empty()) continue;
    row_.text(side.sign);
    row_.text(change.table() == rpc::NEXTHOP ? "nexthop " : "route ");
    row_.name_next(side.word);
    const Result<bool> done =
        print_changed_row(context_, row_, change.table(), change.key(), side.value, nexthops, false);
    if (!done.ok()) return done.error();
  }
  row_.close_object();
  return {};
}

void DifferencePrinter::end(bool also_empty) {
  if (printed_ == 0 && also_empty) row_.open_array();
  if (printed_ > 0 || also_empty) {
    row_.close_array();
    row_.end_document();
  }
  context_.out.flush();
}

}  // namespace waypost::cli
