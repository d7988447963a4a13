// This node's kernel against its store: asked of kernel_sync, which answers on its own thread.
#include <mutex>

#include "model/bytes.h"
#include "model/names.h"
#include "model/parse.h"
#include "model/row_codec.h"
#include "node/carried_internal.h"
#include "node/fib_status_internal.h"
#include "node/parts_internal.h"
#include "node/row_filter_internal.h"
#include "rpc/utf8.h"
#include "rpc/waypost.pb.h"

namespace waypost::node {

namespace {

constexpr uint32_t kDefaultFibWaitMs = 30'000;

bool has_kernel_sync(const Parts& parts, const SharedCall& call) {
  if (parts.syncer != nullptr) return true;
  call->fail({ErrorCode::kFailedPrecondition, "kernel_sync is off on node " + parts.config.name,
              "start waypostd with --kernel-sync, or ask a node that has it"});
  return false;
}

std::string path_words(const kernel_sync::KernelRoute& route, const std::string& device) {
  std::string words;
  for (const kernel_sync::KernelPath& path : route.paths) {
    if (route.paths.size() > 1) words += " nexthop";
    if (path.gateway) words += " via " + to_string(*path.gateway);
    words += &path == &route.paths.front() && !device.empty() ? " dev " + device
                                                              : " ifindex " + std::to_string(path.ifindex);
    if (route.paths.size() > 1) words += " weight " + std::to_string(path.weight);
  }
  return words;
}

void answer_get(Parts& parts, const SharedCall& call, const kernel_sync::FibGetReport& report) {
  rpc::End end;
  rpc::FibGetAnswer& answer = *end.mutable_fib_get();
  if (report.desired) {
    std::string key;
    append_route_key(key, report.desired->key);
    const std::string value = encode_route_value(*report.desired);
    append_row(*answer.mutable_desired()->mutable_rows(), key, value);
    CarriedNexthops(true).carry(parts.store.view(), key, value,
                                *answer.mutable_desired()->mutable_nexthops());
  }
  answer.set_state(static_cast<uint32_t>(report.desired_state));
  answer.set_reason(rpc::valid_utf8(report.reason));
  if (report.kernel) {
    answer.set_kernel(rpc::valid_utf8(route_words(report.kernel->route, {}, NameTables::defaults()) +
                                      path_words(*report.kernel, report.kernel_device)));
  }
  const bool same_key = report.kernel && report.desired && report.kernel->route.key == report.desired->key;
  answer.set_agree(report.desired ? same_key && report.desired_state == kernel_sync::RowState::kInstalled
                                  : !report.kernel);
  call->finish(std::move(end));
}

// The differences as they are found, by the thread of kernel_sync, which must not wait: what the client does
// not take in time is bounded by the connection, and a client that takes nothing is cut.
bool send_difference(const SharedCall& call, const kernel_sync::FibDifference& difference) {
  if (call->closed()) return false;
  rpc::Part part;
  rpc::FibDifference& out = *part.mutable_fib_difference();
  out.set_kind(static_cast<uint32_t>(difference.kind));
  fill(*out.mutable_row(), difference.row);
  out.set_wanted(rpc::valid_utf8(difference.wanted));
  out.set_found(rpc::valid_utf8(difference.found));
  call->send(std::move(part));
  return true;
}

void finish_action(const SharedCall& call, uint64_t objects, std::string words) {
  rpc::End end;
  end.mutable_fib_action()->set_objects(objects);
  end.mutable_fib_action()->set_words(std::move(words));
  call->finish(std::move(end));
}

}  // namespace

void serve_fib_status(Parts& parts, SharedCall call) {
  rpc::End end;
  if (parts.syncer != nullptr) {
    fill(*end.mutable_fib_status(), parts.syncer->status());
  } else {
    end.mutable_fib_status()->set_enabled(false);
  }
  call->finish(std::move(end));
}

void serve_fib_wait(Parts& parts, SharedCall call) {
  if (!has_kernel_sync(parts, call)) return;
  const rpc::FibWait& wait = call->request().fib_wait();
  kernel_sync::Syncer::Rows rows;
  for (const uint32_t id : wait.nexthops()) rows.nexthops.push_back(NexthopId(id));
  for (const std::string& bytes : wait.route_keys()) {
    const std::optional<RouteKey> key = decode_route_key(bytes);
    if (!key) return call->fail({ErrorCode::kInvalidArgument, "a route key to wait for is malformed", ""});
    rows.routes.push_back(*key);
  }
  const uint64_t limit_ms =
      call->request().deadline_ms() == 0 ? kDefaultFibWaitMs : call->milliseconds_left();
  parts.syncer->wait(Revision(wait.revision()), std::move(rows), std::chrono::milliseconds(limit_ms),
                     [call](const kernel_sync::WaitReport& report) {
                       rpc::End end;
                       rpc::FibWaitAnswer& answer = *end.mutable_fib_wait();
                       answer.set_reached(report.reached);
                       answer.set_synced_revision(report.synced_revision.value());
                       for (const auto& row : report.not_installed) fill(*answer.add_not_installed(), row);
                       answer.set_not_installed_count(report.not_installed_count);
                       call->finish(std::move(end));
                     });
}

void serve_fib_get(Parts& parts, SharedCall call) {
  if (!has_kernel_sync(parts, call)) return;
  const rpc::FibGet& get = call->request().fib_get();
  const std::optional<IpAddress> address = address_from_bytes(get.address());
  if (!address)
    return call->fail({ErrorCode::kInvalidArgument, "the address has neither 4 nor 16 bytes", ""});
  const TableId table = get.table() == 0 ? kMainTable : TableId(get.table());
  parts.syncer->get(*address, table, [&parts, call](Result<kernel_sync::FibGetReport> report) {
    if (!report.ok()) return call->fail(report.error());
    on_reader(parts, call, [&parts, call, report = std::move(*report)] { answer_get(parts, call, report); });
  });
}

void serve_fib_diff(Parts& parts, SharedCall call) {
  if (!has_kernel_sync(parts, call)) return;
  parts.syncer->diff(
      [call](const kernel_sync::FibDifference& difference) { return send_difference(call, difference); },
      [call](Status status) { status.ok() ? call->finish({}) : call->fail(status.error()); });
}

void serve_fib_action(Parts& parts, SharedCall call) {
  if (!has_kernel_sync(parts, call)) return;
  const auto answer = [call](const char* words) {
    return [call, words](Status status) {
      status.ok() ? finish_action(call, 0, words) : call->fail(status.error());
    };
  };
  switch (call->request().fib_action().action()) {
    case rpc::FibAction::SWEEP:
      return parts.syncer->sweep(answer("the sweep goes on"));
    case rpc::FibAction::RELEASE:
      return parts.syncer->release([call](Result<uint64_t> objects) {
        if (!objects.ok()) return call->fail(objects.error());
        finish_action(call, *objects,
                      "our objects are out of the kernel; kernel_sync stays idle until the restart");
      });
    default:
      return parts.syncer->audit(answer("audited"));
  }
}

}  // namespace waypost::node
