// Queries to requests of the client protocol.
#pragma once

#include "cli/context.h"
#include "cli/query.h"
#include "rpc/waypost.pb.h"

namespace waypost::cli {

void fill(rpc::NexthopFilter& filter, const NexthopQuery& query);
void fill(rpc::RouteFilter& filter, const RouteQuery& query);

// An empty request with this call's deadline.
rpc::Request new_request(const Options& options);

// The bytes of an address alone, as the protocol carries them.
std::string address_bytes_of(const IpAddress& address);

}  // namespace waypost::cli
