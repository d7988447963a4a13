#include "model/refusal.h"

#include <string_view>

namespace waypost {
namespace {

// How a refusal is worded: {0}, {1}, ... stand for its arguments.
struct Wording {
  RefusalCode refusal;
  ErrorCode code;
  std::string_view message;
  std::string_view hint;
};

constexpr ErrorCode kNotFound = ErrorCode::kNotFound;
constexpr ErrorCode kExists = ErrorCode::kAlreadyExists;
constexpr ErrorCode kRule = ErrorCode::kFailedPrecondition;
constexpr ErrorCode kInvalid = ErrorCode::kInvalidArgument;

constexpr Wording kWordings[] = {
    {RefusalCode::kNexthopNotFound, kNotFound, "nexthop {0} does not exist", ""},
    {RefusalCode::kNexthopExists, kExists, "nexthop {0} exists already", "`replace` overwrites it"},
    {RefusalCode::kNexthopInUse, kRule, "nexthop {0} is used by {1} routes, for example {2}",
     "cascade removes them with it (what ip does)"},
    {RefusalCode::kLastMemberInUse, kRule,
     "nexthop {0} is the last member of group {1}, which is used by {2} routes, for example {3}",
     "cascade removes them with it (what ip does)"},
    {RefusalCode::kInvalid, kInvalid, "{0}: {1}", "{2}"},
    {RefusalCode::kKindChange, kRule, "nexthop {0} is a {1} and can not become the other kind",
     "delete it first, or use another id"},
    {RefusalCode::kGroupTypeChange, kRule, "group {0} can not change its type",
     "delete it first, or use another id"},
    {RefusalCode::kBucketsChange, kRule, "group {0} has {1} buckets, and their number can not change",
     "leave buckets out, or use another id"},
    {RefusalCode::kMemberNotFound, kNotFound, "group {0}: member {1} does not exist",
     "add nexthop {1} first"},
    {RefusalCode::kNestedGroup, kRule, "group {0}: member {1} is a group, and groups can not be nested",
     "name its members instead"},
    {RefusalCode::kBlackholeInGroup, kRule,
     "group {0}: member {1} is a blackhole, which can not stand beside others",
     "a blackhole can be the only member"},
    {RefusalCode::kFdbMismatch, kRule,
     "group {0}: member {1} is not of the group's kind: fdb and others do not mix",
     "an fdb group has fdb members only, another group has none"},
    {RefusalCode::kFdbFamilyMismatch, kRule, "group {0}: the members of an fdb group are of one family",
     "make one group for IPv4 and one for IPv6"},
    {RefusalCode::kReservedId, kRule, "nexthop id {0} is in the range that is reserved for {1}",
     "use an id below 2147483648"},
    {RefusalCode::kRouteExists, kExists, "route {0} exists already", "`replace` overwrites it"},
    {RefusalCode::kRouteNotFound, kNotFound, "route {0} does not exist", ""},
    {RefusalCode::kRouteNexthopNotFound, kNotFound, "route {0}: nexthop {1} does not exist",
     "add nexthop {1} first"},
    {RefusalCode::kRouteFamily, kRule, "route {0}: an IPv6 route can not use nexthop {1}, which is IPv4",
     "use an IPv6 nexthop"},
    {RefusalCode::kRouteOnFdb, kRule, "route {0}: nexthop {1} is for fdb entries, not for routes", ""},
    {RefusalCode::kRouteHostScope, kRule,
     "route {0}: scope host can not go through the gateway of nexthop {1}", "leave scope out"},
    {RefusalCode::kReplaceBreaksRoutes, kRule,
     "nexthop {0} can not become IPv4: it carries {1} IPv6 routes, for example {2}",
     "move those routes first"},
    {RefusalCode::kAppendTaken, kExists, "route {0} exists already, and there is one route per key",
     "use another metric"},
    {RefusalCode::kAppendOntoNexthopId, kRule,
     "route {0} goes through nexthop {1}: a path can not be appended to it",
     "replace the route, or change nexthop {1}"},
    {RefusalCode::kDuplicatePath, kExists, "route {0} would have the same path twice",
     "give the path a weight instead"},
    {RefusalCode::kTooManyChanges, ErrorCode::kResourceExhausted,
     "the transaction changes {0} rows, the limit is {1}", "divide it, or leave --atomic out"},
    {RefusalCode::kIdsExhausted, ErrorCode::kResourceExhausted, "no free nexthop id is left for {0}", ""},
    {RefusalCode::kUnknownSession, kRule, "the session is not known (any more)", "open a new one"},
    {RefusalCode::kSessionGap, kRule, "the session expects number {0}, not {1}", "open a new session"},
    {RefusalCode::kAnswerForgotten, ErrorCode::kOutcomeUnknown, "the answer to number {0} is no longer kept",
     "look whether the change is there"},
    {RefusalCode::kNumberReused, kRule, "number {0} of the session was another request",
     "open a new session"},
    {RefusalCode::kMemberUnknown, kNotFound, "'{0}' is not a member of the cluster", ""},
    {RefusalCode::kMemberSuperseded, kRule, "member '{0}' was started anew (incarnation {1})", "try again"},
    {RefusalCode::kSettingUnknown, kNotFound, "there is no setting '{0}'", ""},
    {RefusalCode::kSettingInvalid, kInvalid, "setting '{0}' can not be '{1}'", "it takes {2}"},
    {RefusalCode::kRulesLevel, ErrorCode::kUnsupported, "rules level {0} can not be raised to: known is {1}",
     ""},
    {RefusalCode::kMalformed, kInvalid, "the proposal can not be read: {0}", ""},
    {RefusalCode::kMemberExists, kExists, "member '{0}' exists already", ""},
    {RefusalCode::kBlackholeReplace, kRule,
     "nexthop {0} can not become a blackhole: it is one of several members of group {1}",
     "take it out of the group first"},
    {RefusalCode::kRouteTypeNexthop, kRule, "route {0}: its type and nexthop {1} do not go together",
     "a route of an error type stands alone"},
    {RefusalCode::kPreviousIncomplete, kRule,
     "not applied: it was to follow transaction {0} of its session, which was refused", "send it again"},
};

// An argument that is missing reads as "?": answers come from the wire.
std::string fill(std::string_view words, const std::vector<std::string>& arguments) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != '{') {
      out += words[i];
      continue;
    }
    const size_t index = static_cast<size_t>(words[i + 1] - '0');
    out += index < arguments.size() ? arguments[index] : "?";
    i += 2;
  }
  return out;
}

// "1 routes" is the one place where a count is 1.
void singular(std::string& message) {
  for (std::string_view plural : {" 1 routes", " 1 IPv6 routes"})
    if (const size_t at = message.find(plural); at != std::string::npos)
      message.erase(at + plural.size() - 1, 1);
}

}  // namespace

Error describe(const Refusal& refusal) {
  for (const Wording& wording : kWordings) {
    if (wording.refusal != refusal.code) continue;
    Error error{.code = wording.code, .message = fill(wording.message, refusal.arguments)};
    singular(error.message);
    const bool hint_missing = refusal.code == RefusalCode::kInvalid && refusal.arguments.size() < 3;
    if (!hint_missing) error.hint = fill(wording.hint, refusal.arguments);
    return error;
  }
  return {.code = ErrorCode::kUnsupported,
          .message = "refused for a reason this version does not know (code " +
                     std::to_string(static_cast<unsigned>(refusal.code)) + ")",
          .hint = "update this program"};
}

}  // namespace waypost
