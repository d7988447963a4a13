// Which service answers which request.
#include "node/jobs.h"
#include "node/parts_internal.h"
#include "node/watchers.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

void serve(Parts& parts, SharedCall call) {
  using rpc::Request;
  switch (call->request().body_case()) {
    case Request::kPropose:
      return serve_propose(parts, std::move(call));
    case Request::kControl:
      return serve_control(parts, std::move(call));
    case Request::kList:
      return serve_list(parts, std::move(call));
    case Request::kGet:
      return serve_get(parts, std::move(call));
    case Request::kWatch:
      return parts.watchers.add(parts, std::move(call));
    case Request::kHistory:
      return serve_history(parts, std::move(call));
    case Request::kDiff:
      return serve_diff(parts, std::move(call));
    case Request::kJob:
      return parts.jobs.start(parts, std::move(call));
    case Request::kFibStatus:
      return serve_fib_status(parts, std::move(call));
    case Request::kFibWait:
      return serve_fib_wait(parts, std::move(call));
    case Request::kFibGet:
      return serve_fib_get(parts, std::move(call));
    case Request::kFibDiff:
      return serve_fib_diff(parts, std::move(call));
    case Request::kFibAction:
      return serve_fib_action(parts, std::move(call));
    case Request::kNodeStatus:
      return serve_node_status(parts, std::move(call));
    case Request::kMembers:
      return serve_members(parts, std::move(call));
    case Request::kCheck:
      return serve_check(parts, std::move(call));
    case Request::kTrim:
      return serve_trim(parts, std::move(call));
    case Request::kGrow:
      return serve_grow(parts, std::move(call));
    case Request::kSnapshot:
      return serve_snapshot(parts, std::move(call));
    default:
      break;
  }
  call->fail({ErrorCode::kUnsupported, "this node does not know that request",
              "use a client and a node of one version"});
}

}  // namespace waypost::node
