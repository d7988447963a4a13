// Listings: rows streamed from the server straight into the output, so that memory stays flat and the first
// line comes at once.
#pragma once

#include <functional>

#include "cli/context.h"
#include "cli/nexthop_cache.h"
#include "cli/query.h"

namespace waypost::cli {

// Each row of the answer in key order; return false to stop. `nexthops` knows what a route leads over.
using NexthopVisitor = std::function<bool(const NexthopObject& object)>;
using RouteVisitor = std::function<bool(const Route& route, const NexthopCache& nexthops)>;

// The part of a listing that is asked for.
struct Page {
  std::string after;   // key of a row; empty: from the start
  uint64_t limit = 0;  // 0: all
};
// Where it ended.
struct PageEnd {
  std::string last_key;
  bool more = false;  // rows follow
};

Status for_each_nexthop(const Context& context, const NexthopQuery& query, const NexthopVisitor& visit,
                        const Page& page = {}, PageEnd* end = nullptr);
// `details`: nexthops of all routes come along, not only interned ones.
Status for_each_route(const Context& context, const RouteQuery& query, bool details,
                      const RouteVisitor& visit, const Page& page = {}, PageEnd* end = nullptr);

// `nexthop show|list|get ...`, `route show|list ...`, `route get ...`
int show_nexthops(const Context& context, std::span<const Word> words);
int get_nexthop(const Context& context, std::span<const Word> words);
int show_routes(const Context& context, std::span<const Word> words);
int get_route(const Context& context, std::span<const Word> words);

}  // namespace waypost::cli
