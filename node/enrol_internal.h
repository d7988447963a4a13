// Shared by membership.cc and enrol.cc.
#pragma once

#include <string>
#include <vector>

#include "node/config.h"
#include "store/store.h"

namespace waypost::node {

bool is_member(const std::vector<store::ReadView::Member>& members, const std::string& name);
std::string removed_words(const NodeConfig& config);

}  // namespace waypost::node
