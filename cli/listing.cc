#include "cli/listing.h"

#include "cli/nexthop_printer.h"
#include "cli/requests_internal.h"
#include "cli/route_printer.h"
#include "model/row_codec.h"

namespace waypost::cli {
namespace {

Error damaged(std::string_view what) {
  return {ErrorCode::kCorruption, "the server's answer holds a damaged " + std::string(what),
          "`waypost cluster check` looks at the stores"};
}

// One JSON array of rows, or their text. The bracket opens with the first row or at a good end, so that a
// failed request prints nothing.
class RowList {
 public:
  explicit RowList(const Context& context) : row_(context.out, context.options.print) {}
  RowWriter& next() {
    if (!open_) row_.open_array();
    open_ = true;
    return row_;
  }
  void end() {
    next().close_array();
    row_.end_document();
  }

 private:
  RowWriter row_;
  bool open_ = false;
};

// Reads the rows of one block; `row` returns an error, or whether to go on.
template <typename Row>
Result<bool> read_block(std::string_view block, std::string_view what, Row row) {
  RowBlockReader reader(block);
  std::string_view key, value;
  while (reader.next(&key, &value)) {
    const Result<bool> more = row(key, value);
    if (!more.ok() || !*more) return more;
  }
  if (reader.damaged()) return damaged(what);
  return true;
}

Result<bool> read_nexthops(std::string_view block, const NexthopVisitor& visit) {
  return read_block(block, "nexthop", [&](std::string_view key, std::string_view value) -> Result<bool> {
    const auto id = decode_nexthop_key(key);
    if (!id) return damaged("nexthop key");
    const Result<NexthopObject> object = decode_nexthop_value(*id, value);
    if (!object.ok()) return object.error();
    return visit(*object);
  });
}

Result<bool> read_routes(const rpc::RowBlock& block, NexthopCache& cache, const RouteVisitor& visit) {
  if (Status status = cache.absorb(block.nexthops(), block.forget()); !status.ok()) return status.error();
  return read_block(block.rows(), "route", [&](std::string_view key, std::string_view value) -> Result<bool> {
    const auto route_key = decode_route_key(key);
    if (!route_key) return damaged("route key");
    const Result<Route> route = decode_route_value(*route_key, value);
    if (!route.ok()) return route.error();
    return visit(*route, cache);
  });
}

// Runs the request; `block` sees each block of rows.
Status stream(const Context& context, const rpc::Request& request, PageEnd* page_end,
              const std::function<Result<bool>(const rpc::RowBlock&)>& block) {
  Status failed;
  const Result<rpc::End> end = context.remote.call(request, [&](const rpc::Part& part) {
    const Result<bool> more = block(part.rows());
    if (!more.ok()) failed = more.error();
    return more.ok() && *more;
  });
  if (!failed.ok()) return failed;
  if (!end.ok()) return end.error();
  if (page_end != nullptr) *page_end = {end->list().last_key(), end->list().more()};
  return {};
}

// Behind a page that is not the last: how the next one is asked for.
void note_more(const Context& context, const std::string& last_row) {
  const bool one_word = last_row.find(' ') == std::string::npos;
  print_note(context.err, context.options,
             "more rows follow: --after " + (one_word ? last_row : '"' + last_row + '"'));
}

// What stopped an output: a reader that went away is no error of ours.
int finish(const Context& context, const Status& status, RowList& list) {
  if (!status.ok()) {
    context.out.flush();
    return context.fail(status.error());
  }
  list.end();
  context.out.flush();
  return kExitOk;
}

Error no_nexthop(NexthopId id) {
  return {ErrorCode::kNotFound, "nexthop " + std::to_string(id.value()) + " does not exist",
          "`waypost nexthop list` shows those that do"};
}

int print_one_nexthop(const Context& context, NexthopId id) {
  rpc::Request request = new_request(context.options);
  request.mutable_get()->set_nexthop(id.value());
  request.mutable_get()->set_stale(context.options.stale);
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  RowList list(context);
  bool found = false;
  const Result<bool> read = read_nexthops(end->get().block().rows(), [&](const NexthopObject& object) {
    found = true;
    print_nexthop(list.next(), object, context.names);
    return true;
  });
  if (!read.ok()) return context.fail(read.error());
  // `ip -j nexthop get` of an absent id prints no JSON at all; an empty list is what its readers expect.
  list.end();
  context.out.flush();
  return found ? kExitOk : context.fail(no_nexthop(id));
}

}  // namespace

Status for_each_nexthop(const Context& context, const NexthopQuery& query, const NexthopVisitor& visit,
                        const Page& page, PageEnd* end) {
  rpc::Request request = new_request(context.options);
  rpc::List& list = *request.mutable_list();
  list.set_table(rpc::NEXTHOP);
  list.set_stale(context.options.stale);
  list.set_after(page.after);
  list.set_limit(page.limit);
  list.set_with_interned(context.options.print.details);
  fill(*list.mutable_nexthop(), query);
  return stream(context, request, end,
                [&](const rpc::RowBlock& block) { return read_nexthops(block.rows(), visit); });
}

Status for_each_route(const Context& context, const RouteQuery& query, bool details,
                      const RouteVisitor& visit, const Page& page, PageEnd* end) {
  rpc::Request request = new_request(context.options);
  rpc::List& list = *request.mutable_list();
  list.set_table(rpc::ROUTE);
  list.set_stale(context.options.stale);
  list.set_after(page.after);
  list.set_limit(page.limit);
  list.set_with_nexthops(details);
  fill(*list.mutable_route(), query);
  NexthopCache cache;
  return stream(context, request, end,
                [&](const rpc::RowBlock& block) { return read_routes(block, cache, visit); });
}

int show_nexthops(const Context& context, std::span<const Word> words) {
  const Result<NexthopQuery> query = parse_nexthop_query(words, context.parse_context());
  if (!query.ok()) return context.usage(query.error().message, query.error().hint);
  if (query->id) {
    if (context.options.limit > 0 || context.options.after)
      return context.usage("--limit and --after choose a part of a list, and id names one nexthop");
    return print_one_nexthop(context, *query->id);
  }
  Page page{.after = {}, .limit = context.options.limit};
  if (context.options.after) {
    const Result<NexthopId> after = parse_nexthop_after(*context.options.after);
    if (!after.ok()) return context.usage(after.error().message, after.error().hint);
    append_nexthop_key(page.after, *after);
  }
  RowList list(context);
  const NexthopVisitor visit = [&](const NexthopObject& object) {
    print_nexthop(list.next(), object, context.names);
    return context.out.error() == 0;
  };
  PageEnd end;
  const Status status = for_each_nexthop(context, *query, visit, page, &end);
  const int code = finish(context, status, list);
  const std::optional<NexthopId> last = end.more ? decode_nexthop_key(end.last_key) : std::nullopt;
  if (last) note_more(context, std::to_string(last->value()));
  return code;
}

int get_nexthop(const Context& context, std::span<const Word> words) {
  const Result<NexthopQuery> query = parse_nexthop_query(words, context.parse_context());
  if (!query.ok()) return context.usage(query.error().message, query.error().hint);
  if (!query->id) return context.usage("nexthop get needs an id", "waypost nexthop get id 7");
  return print_one_nexthop(context, *query->id);
}

int show_routes(const Context& context, std::span<const Word> words) {
  const Result<RouteQuery> query = parse_route_query(words, context.parse_context());
  if (!query.ok()) return context.usage(query.error().message, query.error().hint);
  Page page{.after = {}, .limit = context.options.limit};
  if (context.options.after) {
    const Result<RouteKey> after = parse_route_after(*context.options.after, *query, context.parse_context());
    if (!after.ok()) return context.usage(after.error().message, after.error().hint);
    append_route_key(page.after, *after);
  }
  RowList list(context);
  const HiddenFields hidden = query->hidden();
  const RouteVisitor visit = [&](const Route& route, const NexthopCache& nexthops) {
    print_route(list.next(), route, nexthops, context.names, hidden);
    return context.out.error() == 0;
  };
  PageEnd end;
  const Status status = for_each_route(context, *query, true, visit, page, &end);
  const int code = finish(context, status, list);
  const std::optional<RouteKey> last = end.more ? decode_route_key(end.last_key) : std::nullopt;
  if (last) note_more(context, to_string(*last));
  return code;
}

int get_route(const Context& context, std::span<const Word> words) {
  const Result<RouteLookup> lookup = parse_route_lookup(words, context.parse_context());
  if (!lookup.ok()) return context.usage(lookup.error().message, lookup.error().hint);
  rpc::Request request = new_request(context.options);
  rpc::Get& get = *request.mutable_get();
  get.mutable_lookup()->set_address(address_bytes_of(lookup->address));
  get.mutable_lookup()->set_table(lookup->table.value());
  get.set_stale(context.options.stale);
  get.set_with_nexthops(true);
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  RowList list(context);
  NexthopCache cache;
  bool found = false;
  const Result<bool> read =
      read_routes(end->get().block(), cache, [&](const Route& route, const NexthopCache& nexthops) {
        found = true;
        print_route(list.next(), route, nexthops, context.names, {});
        return true;
      });
  if (!read.ok()) return context.fail(read.error());
  list.end();
  context.out.flush();
  if (found) return kExitOk;
  return context.fail({ErrorCode::kNotFound,
                       "no stored route covers " + to_string(lookup->address) + " in table " +
                           context.names.tables.text(lookup->table.value()),
                       "`waypost route show table all` lists every table"});
}

}  // namespace waypost::cli
