// A node's status as a report; shared by `cluster status` and `node show`.
#pragma once

#include "cli/report.h"

namespace waypost::rpc {
class NodeStatus;
class MembersAnswer;
}  // namespace waypost::rpc

namespace waypost::cli {

void add_node(Report& report, const rpc::NodeStatus& status, bool details);
Table member_table(const rpc::MembersAnswer& members);
// "3 s old, as the log was last seen"; empty where the log was asked.
std::string members_age(const rpc::MembersAnswer& members);

}  // namespace waypost::cli
