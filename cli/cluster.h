// `cluster status | members | remove | check | trim | grow` and `node list | show`: the cluster as any node
// sees it, also without its log.
#pragma once

#include "cli/context.h"

namespace waypost::cli {

int run_cluster(const Context& context, Words words);
int run_node(const Context& context, Words words);

}  // namespace waypost::cli
