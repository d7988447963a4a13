#include "node/node.h"

#include <unistd.h>

#include <atomic>
#include <mutex>

#include "node/applier.h"
#include "node/engine.h"
#include "node/free_space.h"
#include "node/http.h"
#include "node/jobs.h"
#include "node/kernel.h"
#include "node/logging.h"
#include "node/membership.h"
#include "node/metrics.h"
#include "node/order_thread.h"
#include "node/parts_internal.h"
#include "node/settings.h"
#include "node/version.h"
#include "node/watchers.h"
#include "node/workers.h"
#include "replication/entry.h"
#include "rpc/server.h"

namespace waypost::node {

namespace {

constexpr size_t kReaders = 2;
constexpr uint64_t kTickUs = 1'000'000;
constexpr uint64_t kWithdrawUs = 1'000'000;
constexpr uint64_t kLogSilenceUs = 2'000'000;
constexpr uint64_t kRememberTicks = 5;
// Ready means: this close behind the newest position known.
constexpr uint64_t kReadyLag = 1'000;

store::StoreOptions store_options(const NodeConfig& config) {
  store::StoreOptions options;
  options.directory = config.data_dir;
  options.create = config.bootstrap;
  options.cache_bytes = config.cache_bytes;
  options.write_buffer_bytes = config.write_buffer_bytes;
  options.chain_of_log_row = [](std::string_view row) { return std::optional(replication::entry_hash(row)); };
  return options;
}

}  // namespace

struct Node::Impl {
  explicit Impl(NodeConfig given)
      : config(std::move(given)), space(config.data_dir, config.free_space_bytes) {}

  const NodeConfig config;
  RateLimitedLog limited;
  std::atomic<bool> stopping = false;
  bool withdrawn = false;
  std::atomic<bool> told_to_quit = false;
  std::atomic<uint64_t> beats = 0;
  std::string exit_reason;  // order thread
  bool restart_wanted = false;

  // In the order in which they feed each other.
  OrderThread order;
  FreeSpace space;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Workers> readers = std::make_unique<Workers>("wp-reader", kReaders);
  std::unique_ptr<Workers> disk = std::make_unique<Workers>("wp-log", 1);
  std::unique_ptr<Workers> writer = std::make_unique<Workers>("wp-writer", 1);
  Engine engine;
  std::unique_ptr<replication::Replica> replica;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<KernelSync> kernel;
  Watchers watchers;
  Jobs jobs;
  Metrics metrics;
  std::unique_ptr<Parts> parts;
  std::unique_ptr<rpc::Server> server;
  std::unique_ptr<HttpServer> http;

  // What /readyz says, written by the order thread once a second.
  std::mutex ready_mutex;
  bool ready = false;
  std::string ready_words = "starting\n";

  Status start();
  Status open_store();
  Status open_member();
  Status open_kernel();
  void open_kernel_early();
  void say_stage(const std::string& words);
  Status open_http();
  void build_replica();
  Status open_ports();
  HttpHandlers http_handlers();
  void tick();
  void watch_log();
  void assess_readiness();
  void exit_for(const std::string& why);
  void take_down();
  void withdraw();
};

Status Node::Impl::start() {
  if (Status status = config.etcd.endpoints.empty() ? open_store() : open_member(); !status.ok())
    return status;
  for (const std::string& note : store->notes()) log_warning(note);
  build_replica();
  if (Status status = open_kernel(); !status.ok()) return status;
  store->on_revision([this](Revision) {
    if (kernel) kernel->syncer().notify();
    order.post([this] { watchers.on_revision(); });
  });
  parts.reset(new Parts{config, order, *readers, *store, *engine.log, *replica, space, *membership, watchers,
                        jobs, kernel ? &kernel->syncer() : nullptr, engine.name, engine.local,
                        order.wall_us(), stopping, engine.snapshot_bytes});
  return open_ports();
}

Status Node::Impl::open_kernel() {
  if (!config.kernel_sync || kernel) return {};
  Result<std::unique_ptr<KernelSync>> opened = KernelSync::open(config, *store);
  if (!opened.ok()) return opened.error();
  kernel = std::move(*opened);
  return {};
}

void Node::Impl::say_stage(const std::string& words) {
  const std::lock_guard lock(ready_mutex);
  ready_words = "[-] start: " + words + "\n";
}

// Before this member has its place. What goes wrong here goes wrong again at the end of the start.
void Node::Impl::open_kernel_early() {
  if (store) (void)open_kernel();
}

// A node of its own: its log is in its store.
Status Node::Impl::open_store() {
  Result<std::unique_ptr<store::Store>> opened = store::Store::open(store_options(config));
  if (!opened.ok()) return opened.error();
  store = std::move(*opened);
  Result<Engine> log = open_local_engine(*store, *disk, order);
  if (!log.ok()) return log.error();
  engine = std::move(*log);
  return {};
}

// A member: its cluster says first whose store this must be, and whether it needs a snapshot.
Status Node::Impl::open_member() {
  store::StoreOptions options = store_options(config);
  options.create = false;
  Result<std::unique_ptr<store::Store>> existing = store::Store::open(options);
  if (!existing.ok() && existing.error().code != ErrorCode::kNotFound) return existing.error();
  if (!existing.ok() && !config.bootstrap && !config.join) return existing.error();
  if (existing.ok()) store = std::move(*existing);
  if (Status status = open_http(); !status.ok()) return status;
  const auto ours = store ? std::optional(store->stamp()) : std::nullopt;
  // Routes of a data directory that belongs elsewhere never reach this kernel. But a host that reboots while
  // its cluster is out of reach has its routes again, from its own disk.
  if (store && remembers_cluster(config)) order.after(kLogSilenceUs, [this] { open_kernel_early(); });
  const PlaceEvents events{.belongs = [this] { open_kernel_early(); },
                           .close_store =
                               [this] {
                                 kernel.reset();
                                 store.reset();
                               },
                           .stage = [this](const std::string& words) { say_stage(words); }};
  Result<ClusterPlace> place = find_place(config, order, ours, events);
  if (!place.ok()) return place.error();
  remember_cluster(config);
  if (!store) {
    options.create = true;
    Result<std::unique_ptr<store::Store>> made = store::Store::open(with_cluster(options, place->cluster));
    if (!made.ok()) return made.error();
    store = std::move(*made);
  }
  engine = engine_of(std::move(*place), config);
  return {};
}

void Node::Impl::build_replica() {
  const store::StateStamp stamp = store->stamp();
  replication::ReplicaOptions options;
  options.name = config.name;
  options.incarnation = engine.incarnation;
  options.applied = stamp.position;
  options.applied_hash = stamp.chain;
  options.highest_engine_revision = engine.highest_revision;
  options.alone = !engine.clustered;
  replica =
      std::make_unique<replication::Replica>(options, *engine.log, order, apply_to(*store, *writer, order));
  membership = std::make_unique<Membership>(Membership::Dependencies{
      config, order, *writer, *readers, *store, *engine.log, *replica, engine.clustered, engine.incarnation,
      [this](const std::string& why) { exit_for(why); }});
}

Status Node::Impl::open_ports() {
  rpc::ServerOptions options;
  options.node = config.name;
  options.version = kVersion;
  options.cluster_id = [this] { return hash_bytes(store->stamp().cluster); };
  options.log = [this](const std::string& words) { limited.warning("connection", words); };
  options.max_connections = config.max_connections;
  server = std::make_unique<rpc::Server>(order.io(), std::move(options),
                                         [this](SharedCall call) { serve(*parts, std::move(call)); });
  if (Status status = server->listen(*rpc::parse_endpoint(config.listen)); !status.ok()) return status;
  return open_http();
}

// Behind the client port; a member's before it waits for its cluster or a snapshot, since it is alive
// meanwhile.
Status Node::Impl::open_http() {
  if (config.http.empty() || http) return {};
  http = std::make_unique<HttpServer>(http_handlers());
  return http->listen(*rpc::parse_endpoint(config.http));
}

HttpHandlers Node::Impl::http_handlers() {
  HttpHandlers handlers;
  // Alive means that the order thread goes round; asked twice within a second it may not have.
  handlers.livez = [this, last = uint64_t{0}, since = uint64_t{0}]() mutable -> HttpAnswer {
    const uint64_t now_us = order.monotonic_us(), count = beats;
    if (count == 0) return {200, "starting\n"};
    if (count != last || since == 0) {
      last = count;
      since = now_us;
    }
    if (now_us - since < 10 * kTickUs) return {200, "ok\n"};
    return {503,
            "the order thread has not moved for " + std::to_string((now_us - since) / 1'000'000) + " s\n"};
  };
  handlers.readyz = [this](bool verbose) -> HttpAnswer {
    const std::lock_guard lock(ready_mutex);
    return {ready ? 200u : 503u, verbose || !ready ? ready_words : "ok\n"};
  };
  handlers.metrics = [this] { return metrics.text(); };
  handlers.log = [this](const std::string& words) { limited.warning("http", words); };
  return handlers;
}

void Node::Impl::tick() {
  if (stopping) return;
  ++beats;
  if (engine.clustered) watch_log();
  assess_readiness();
  metrics.sample(*parts, server->connections());
  order.after(kTickUs, [this] { tick(); });
}

// Behind the oldest entry only a snapshot helps, which a start fetches.
void Node::Impl::watch_log() {
  const replication::ReplicaStatus status = replica->status();
  if (beats % kRememberTicks == 0) remember_engine_revision(config.data_dir, status.engine_revision);
  if (!status.trimmed_past) return;
  restart_wanted = true;
  exit_for("this member is behind the oldest entry of the log; it starts again and fetches a snapshot");
}

void Node::Impl::assess_readiness() {
  const replication::ReplicaStatus status = replica->status();
  std::string words;
  bool all = true;
  const auto judge = [&](const char* name, bool good, const std::string& detail) {
    words += std::string(good ? "[+] " : "[-] ") + name + ": " + detail + "\n";
    all = all && good;
  };
  judge("log", status.reachable,
        status.reachable ? engine.name + " answers" : engine.name + " does not answer");
  const uint64_t lag = status.known_tail.value() - std::min(status.applied, status.known_tail).value();
  judge("applied", lag <= kReadyLag && !status.trimmed_past,
        std::to_string(status.applied.value()) + ", " + std::to_string(lag) + " behind");
  if (engine.clustered)
    judge("member", membership->enrolled(), membership->enrolled() ? "joined" : "still joining its cluster");
  judge("writes", status.halted.empty(), status.halted.empty() ? "taken" : status.halted);
  const std::optional<Error> refused = membership->refusal();
  judge("state", !refused, refused ? refused->message : membership->status_line());
  const std::optional<Error> full = space.refusal();
  judge("disk", !full, full ? full->message : std::to_string(space.free_bytes() >> 20) + " MiB free");
  if (kernel) {
    const kernel_sync::FibStatus fib = kernel->syncer().status();
    const bool good = fib.problem.empty();
    judge("kernel", good,
          good ? "in sync at revision " + std::to_string(fib.synced_revision.value()) : fib.problem);
  }
  const std::lock_guard lock(ready_mutex);
  ready = all;
  ready_words = std::move(words);
}

void Node::Impl::exit_for(const std::string& why) {
  if (exit_reason.empty()) exit_reason = why;
  stopping = true;
  order.quit();
}

// The others see it go at once, where the log can be told.
void Node::Impl::withdraw() {
  if (!engine.clustered || !replica || !replica->status().reachable || std::exchange(withdrawn, true)) return;
  const auto gone = std::make_shared<bool>(false);
  engine.log->withdraw(config.name, [gone](const Status&) { *gone = true; });
  order.linger(kWithdrawUs, [&gone] { return *gone; });
}

// Clients first, then what they asked for, then what it was asked of. The FIB stays as it is (SEMANTICS.md
// B7).
void Node::Impl::take_down() {
  stopping = true;
  if (server) server->stop();
  if (http) http->stop();
  watchers.stop();
  if (membership) membership->stop();
  if (replica) replica->stop();
  withdraw();
  if (kernel) kernel->syncer().stop();
  if (readers) readers->join();
  if (disk) disk->join();
  if (writer) writer->join(true);
  if (!store) return;
  store->sync();
  engine.close();
  if (replica && engine.clustered)
    remember_engine_revision(config.data_dir, replica->status().engine_revision);
}

Node::Node(NodeConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Node::~Node() {
  impl_->take_down();
}

Status Node::start() {
  return impl_->start();
}

Status Node::run(const std::function<void()>& ready) {
  Impl& impl = *impl_;
  impl.order.post([&impl, ready] {
    impl.replica->start();
    impl.membership->start();
    propose_configured_settings(*impl.parts);
    impl.tick();
    if (ready) ready();
  });
  impl.order.run();
  impl.take_down();
  if (!impl.exit_reason.empty()) return Error{ErrorCode::kFailedPrecondition, impl.exit_reason, ""};
  return {};
}

void Node::quit() {
  impl_->told_to_quit = true;
  impl_->stopping = true;
  impl_->order.quit();
}

uint16_t Node::port() const {
  return impl_->server->port();
}
uint16_t Node::http_port() const {
  return impl_->http ? impl_->http->port() : 0;
}
bool Node::wants_restart() const {
  return impl_->restart_wanted;
}
bool Node::was_told_to_quit() const {
  return impl_->told_to_quit;
}
uint64_t Node::heartbeats() const {
  return impl_->beats;
}

}  // namespace waypost::node
