// Nexthops and groups as `ip nexthop` prints them, and what routes share with them: encapsulations and flags.
#pragma once

#include "cli/row_writer.h"
#include "model/names.h"
#include "model/nexthop.h"
#include "model/route.h"

namespace waypost::cli {

// The whole row, with its line end; `deleted` is what a monitor says of one that went.
void print_nexthop(RowWriter& row, const NexthopObject& object, const NameTables& names,
                   bool deleted = false);
// The fields between the brackets: a row of its own, or the `nh_info` of a route.
void print_nexthop_fields(RowWriter& row, const NexthopObject& object, const NameTables& names);

// `encap ip id 42 ...`; nothing where there is none.
void print_encap(RowWriter& row, const Encap& encap);
// `via inet6 ADDRESS` where the gateway is not of the family that is printed, else `via ADDRESS`.
void print_gateway(RowWriter& row, const IpAddress& gateway, Family family);
void print_flags(RowWriter& row, bool onlink);

// The name of a number, or the number itself in decimal (-N asks for that).
std::string name_of(const RowWriter& row, const NumberNames& names, uint32_t number);

}  // namespace waypost::cli
