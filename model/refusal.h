// Why apply refused something, as a code and arguments: that is what is stored for a retry, so that an answer
// does not change with the words of a newer version (LOG.md rule 7). describe() words it at the rim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/result.h"

namespace waypost {

// Numbers are stored and sent: never reused. The comment says which arguments follow; a route argument is the
// text of its key, an id is decimal.
enum class RefusalCode : uint16_t {
  kNexthopNotFound = 1,        // id
  kNexthopExists = 2,          // id
  kNexthopInUse = 3,           // id, count of routes, an example route
  kLastMemberInUse = 4,        // id, group id, count of routes, an example route
  kInvalid = 5,                // object, the words of validate(), the hint
  kKindChange = 6,             // id, "single" or "group" now
  kGroupTypeChange = 7,        // id
  kBucketsChange = 8,          // id, buckets now
  kMemberNotFound = 9,         // group id, member id
  kNestedGroup = 10,           // group id, member id
  kBlackholeInGroup = 11,      // group id, member id
  kFdbMismatch = 12,           // group id, member id
  kFdbFamilyMismatch = 13,     // group id
  kReservedId = 14,            // id, which range
  kRouteExists = 15,           // route
  kRouteNotFound = 16,         // route
  kRouteNexthopNotFound = 17,  // route, id
  kRouteFamily = 18,           // route, id: IPv6 route on an IPv4 nexthop
  kRouteOnFdb = 19,            // route, id
  kRouteHostScope = 20,        // route, id
  kReplaceBreaksRoutes = 21,   // id, count of IPv6 routes, an example route
  kAppendTaken = 22,           // route: IPv4 append on a taken key
  kAppendOntoNexthopId = 23,   // route, id
  kDuplicatePath = 24,         // route
  kTooManyChanges = 25,        // rows, limit
  kIdsExhausted = 26,          // which range
  kUnknownSession = 27,
  kSessionGap = 28,          // number expected, number given
  kAnswerForgotten = 29,     // number
  kNumberReused = 30,        // number
  kMemberUnknown = 31,       // member name
  kMemberSuperseded = 32,    // member name, incarnation in force
  kSettingUnknown = 33,      // name
  kSettingInvalid = 34,      // name, value, what it takes
  kRulesLevel = 35,          // level given, level known
  kMalformed = 36,           // the words of the decoder
  kMemberExists = 37,        // member name
  kBlackholeReplace = 38,    // id, group id: member of a multi-member group replaced by a blackhole
  kRouteTypeNexthop = 39,    // route, id: type and nexthop do not go together
  kPreviousIncomplete = 40,  // number of the previous transaction: a chained one behind a refusal
};

struct Refusal {
  RefusalCode code = RefusalCode::kInvalid;
  std::vector<std::string> arguments;

  bool operator==(const Refusal&) const = default;
};

// The error a user sees: "nexthop 7 is used by 3 routes, for example 10.0.0.0/8" with the cure as hint.
Error describe(const Refusal& refusal);

}  // namespace waypost
