// Routes as `ip route` prints them, at nexthop_compat_mode 1: a route by nexthop id shows where it leads.
#pragma once

#include "cli/nexthop_cache.h"
#include "cli/row_writer.h"
#include "model/names.h"
#include "model/route.h"

namespace waypost::cli {

// What a filter of `route show` fixes is not said again in each row, as `ip` has it.
struct HiddenFields {
  bool tos = false;
  bool gateway = false;
  bool device = false;
  bool table = false;
  bool protocol = false;
  bool scope = false;
  bool prefsrc = false;
  bool metric = false;
};

// The whole row with its line end. `nexthops` knows what the route leads over; an id it does not know is
// printed as `nhid` alone (nexthop_compat_mode 0 looks like that).
void print_route(RowWriter& row, const Route& route, const NexthopCache& nexthops, const NameTables& names,
                 const HiddenFields& hidden, bool deleted = false);

// `mtu 1400 rtt 20ms`; nothing where there are none.
void print_metrics(RowWriter& row, const RouteMetrics& metrics);

}  // namespace waypost::cli
