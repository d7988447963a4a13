#include "cli/fib_wait.h"

#include <thread>

#include "cli/requests_internal.h"
#include "cli/row_words.h"

namespace waypost::cli {
namespace {

constexpr std::chrono::milliseconds kDefaultWait{30'000};
constexpr size_t kMostNodes = 64;  // asked at once, a thread each

}  // namespace

struct FibWaiter::Node {
  std::string name;
  std::unique_ptr<Remote> own;  // none: the connection that the change went through
  Remote* remote = nullptr;
  bool has_kernel_sync = true;
  bool reached = false;
  uint64_t not_installed = 0;
  std::string example;
  std::string problem;
};

FibWaiter::FibWaiter(const Context& context) : context_(context) {}
FibWaiter::~FibWaiter() = default;

// The live members; the one node that we speak with where there are no others.
Status FibWaiter::find_nodes() {
  rpc::Request request = new_request(context_.options);
  request.mutable_members()->set_stale(true);
  const Result<rpc::End> end = context_.remote.call(request, {});
  std::vector<std::pair<std::string, std::string>> live;
  if (end.ok())
    for (const rpc::Member& member : end->members().members())
      if (member.live() && !member.address().empty()) live.emplace_back(member.name(), member.address());
  if (live.size() < 2) {
    Node& node = nodes_.emplace_back();
    node.name = live.empty() ? "this node" : live[0].first;
    node.remote = &context_.remote;
    return {};
  }
  if (live.size() > kMostNodes)
    return Error{ErrorCode::kResourceExhausted,
                 "--wait=fib asks at most " + std::to_string(kMostNodes) + " nodes",
                 "`waypost node list` shows how far each one is"};
  for (const auto& [name, address] : live) {
    Node& node = nodes_.emplace_back();
    node.name = name;
    node.own = context_.remotes(
        {.endpoints = {address},
         .timeout = context_.options.timeout.value_or(kDefaultWait) + std::chrono::seconds(1),
         .author = context_.host.author});
    node.remote = node.own.get();
  }
  return {};
}

Status FibWaiter::reach(Revision revision) {
  revision_ = revision;
  if (Status status = find_nodes(); !status.ok()) return status;
  const auto wait = context_.options.timeout.value_or(kDefaultWait);
  rpc::Request request;
  request.set_deadline_ms(static_cast<uint32_t>(wait.count()));
  request.mutable_fib_wait()->set_revision(revision.value());
  const auto ask = [&request](Node& node) {
    const Result<rpc::End> end = node.remote->call(request, {});
    node.reached = end.ok() && end->fib_wait().reached();
    // A node answers so where kernel_sync is off.
    if (!end.ok() && end.error().code == ErrorCode::kFailedPrecondition) node.has_kernel_sync = false;
    if (!end.ok()) node.problem = end.error().message;
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < nodes_.size(); ++i) threads.emplace_back(ask, std::ref(nodes_[i]));
  ask(nodes_[0]);
  for (std::thread& thread : threads) thread.join();
  return {};
}

Status FibWaiter::check(const ChangedRows& rows) {
  rpc::Request request = new_request(context_.options);
  rpc::FibWait& wait = *request.mutable_fib_wait();
  wait.set_revision(revision_.value());
  for (const NexthopId id : rows.nexthops) wait.add_nexthops(id.value());
  for (const std::string& key : rows.route_keys) wait.add_route_keys(key);
  for (Node& node : nodes_) {
    if (!node.reached) continue;
    const Result<rpc::End> end = node.remote->call(request, {});
    if (!end.ok()) {
      node.reached = false;
      node.problem = end.error().message;
      continue;
    }
    node.not_installed += end->fib_wait().not_installed_count();
    if (node.example.empty() && end->fib_wait().not_installed_size() > 0)
      node.example = report_words(end->fib_wait().not_installed(0));
  }
  return {};
}

int FibWaiter::wanted() const {
  int with = 0;
  for (const Node& node : nodes_) with += node.has_kernel_sync ? 1 : 0;
  return (with * context_.options.wait.percent + 99) / 100;
}

int FibWaiter::report() {
  const std::string stored = "stored at revision " + std::to_string(revision_.value());
  int with = 0, reached = 0, installed = 0;
  const Node* bad = nullptr;
  std::string problem;
  for (const Node& node : nodes_) {
    with += node.has_kernel_sync ? 1 : 0;
    reached += node.reached ? 1 : 0;
    installed += node.reached && node.not_installed == 0 ? 1 : 0;
    if (bad == nullptr && node.reached && node.not_installed > 0) bad = &node;
    if (problem.empty() && node.has_kernel_sync && !node.reached && !node.problem.empty())
      problem = node.name + ": " + node.problem;
  }
  Error error{ErrorCode::kFailedPrecondition, stored + "; no node runs kernel_sync, so no kernel has it",
              "start waypostd with --kernel-sync, or wait for `stored`"};
  ExitCode code = kExitNotInstallable;
  if (with > 0 && installed >= wanted()) return kExitOk;
  if (with > 0 && reached < wanted()) {
    code = kExitUnknown;
    error = {ErrorCode::kDeadlineExceeded,
             stored + "; " + std::to_string(reached) + " of " + std::to_string(with) + " nodes have it",
             problem.empty() ? "`waypost fib status` on the others says why; a longer --timeout waits on"
                             : problem};
  } else if (bad != nullptr) {
    error.message = stored + "; not installable on " + bad->name + ": " + bad->example;
    if (bad->not_installed > 1) error.message += " (and " + grouped(bad->not_installed - 1) + " more)";
    error.hint = "it is retried when that can change; `waypost fib status` there lists what waits";
  }
  print_error(context_.err, context_.options, error, code);
  return code;
}

int wait_for_fib(const Context& context, Revision revision, const ChangedRows& rows) {
  FibWaiter waiter(context);
  Status status = waiter.reach(revision);
  if (status.ok() && rows.size() > 0) status = waiter.check(rows);
  return status.ok() ? waiter.report() : context.fail(status.error());
}

}  // namespace waypost::cli
