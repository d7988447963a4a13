// Where the states of two members parted (LOG.md rule 8): their digests say only that they did.
#pragma once

#include <string>

#include "node/workers.h"
#include "replication/log.h"
#include "store/store.h"

namespace waypost::node {

// "table route differs from member n2 since revision 81", as exactly as both histories tell. Asks the other
// member, so it blocks: on a reader.
std::string parting_words(const store::Store& store, const replication::Presence& other);

}  // namespace waypost::node
