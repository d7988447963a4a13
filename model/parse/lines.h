// The parts of the grammar, each in its own file: what stands behind `nexthop VERB` and `route VERB`.
#pragma once

#include "model/parse/cursor.h"

namespace waypost::parse {

// Null in the context means the built-in names.
const NameTables& names_of(const ParseContext& context);

using CommandVerb = ObjectVerb::Verb;
// Of kAdd, kReplace, kChange, kAppend and kPrepend.
Verb put_verb(CommandVerb verb);

// verb: kAdd, kReplace, kChange or kDelete.
bool read_nexthop(Cursor& cursor, CommandVerb verb, const ParseContext& context, Command* out);
// verb: kAdd, kReplace, kChange, kAppend, kPrepend or kDelete.
bool read_route(Cursor& cursor, CommandVerb verb, const ParseContext& context, Command* out);

// Behind `encap`.
bool read_encap(Cursor& cursor, const Word& keyword, const NameTables& names, Encap* out);
// A route may name a gateway of the other family, with its word; a nexthop is of its gateway's family.
enum class GatewayFamily : uint8_t { kOfTheLine, kAny };
// Behind `via`: [inet|inet6] ADDRESS. `family` is that of the line so far; an address decides it where it is
// open. An unspecified address gives no gateway, `unspecified` then tells.
bool read_via(Cursor& cursor, const Word& keyword, GatewayFamily allowed, std::optional<Family>* family,
              Nexthop* out, bool* unspecified);
// Behind `dev`.
bool read_device(Cursor& cursor, const Word& keyword, std::string* out);

// A word of route metrics (linux/rtnetlink.h RTAX_*): how its value is written.
enum class MetricForm : uint8_t { kNumber, kTime8, kTime4, kTime, kHoplimit, kSwitch, kFeatures, kName };
struct MetricWord {
  uint8_t number = 0;
  MetricForm form = MetricForm::kNumber;
};
bool read_metric(Cursor& cursor, const Word& keyword, MetricWord metric, RouteMetrics* out);

}  // namespace waypost::parse
