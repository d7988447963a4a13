#include "node/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>

#include "node/jobs.h"
#include "node/membership.h"
#include "node/parts_internal.h"
#include "node/version.h"
#include "node/watchers.h"

namespace waypost::node {

namespace {

using Labels = std::map<std::string, std::string>;

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  std::map<std::string, prometheus::Family<prometheus::Gauge>*> gauges;
  std::map<std::string, prometheus::Family<prometheus::Counter>*> counters;

  void gauge(const std::string& name, const std::string& help, double value, const Labels& labels = {}) {
    auto*& family = gauges[name];
    if (family == nullptr)
      family = &prometheus::BuildGauge().Name("waypost_" + name).Help(help).Register(registry);
    family->Add(labels).Set(value);
  }
  // The total as it stands; a source that began anew begins the counter anew too, by never going back.
  void counter(const std::string& name, const std::string& help, uint64_t total, const Labels& labels = {}) {
    auto*& family = counters[name];
    if (family == nullptr)
      family = &prometheus::BuildCounter().Name("waypost_" + name + "_total").Help(help).Register(registry);
    prometheus::Counter& one = family->Add(labels);
    const double ahead = static_cast<double>(total) - one.Value();
    if (ahead > 0) one.Increment(ahead);
  }

  void sample_store(const Parts& parts) {
    const store::StateStamp stamp = parts.store.stamp();
    const store::Counts counts = parts.store.counts();
    gauge("info", "Always 1; the labels say who this is", 1,
          {{"node", parts.config.name}, {"version", kVersion}, {"engine", parts.engine}});
    gauge("revision", "Newest revision in this node's store", static_cast<double>(stamp.revision.value()));
    gauge("applied_position", "Newest log position applied here",
          static_cast<double>(stamp.position.value()));
    gauge("nexthops", "Single nexthops and groups stored, without interned ones",
          static_cast<double>(counts.nexthops));
    gauge("groups", "Of these, groups", static_cast<double>(counts.groups));
    gauge("interned_nexthops", "Nexthops made of inline paths", static_cast<double>(counts.interned));
    gauge("routes", "Routes stored", static_cast<double>(counts.routes));
    gauge("disk_free_bytes", "Free bytes of the data directory's file system",
          static_cast<double>(parts.space.free_bytes()));
    gauge("disk_reserve_bytes", "Below this many free bytes changes are refused",
          static_cast<double>(parts.space.reserve_bytes()));
  }

  void sample_log(const Parts& parts) {
    const replication::ReplicaStatus status = parts.replica.status();
    gauge("log_tail_position", "Newest log position known here",
          static_cast<double>(status.known_tail.value()));
    gauge("log_durable_position", "Newest log position that this node's disk holds",
          static_cast<double>(parts.membership.durable().value()));
    gauge("log_first_position", "Oldest log position that is not trimmed",
          static_cast<double>(parts.membership.first().value()));
    gauge("log_engine_problems", "What the log's engine needs help with; cluster status has the words",
          static_cast<double>(parts.membership.engine_problems()));
    gauge("log_trim_limit", "Below this position the log may be trimmed",
          static_cast<double>(parts.membership.trim_limit().value()));
    gauge("log_reachable", "1 while the log answers", status.reachable ? 1 : 0);
    gauge("log_halted", "1 while the log takes no appends", status.halted.empty() ? 0 : 1);
    gauge("proposals_waiting", "Changes neither answered nor expired",
          static_cast<double>(status.proposals_waiting));
    gauge("append_seconds", "Latency of the newest appends", status.append_ms_p50 / 1'000,
          {{"quantile", "0.5"}});
    gauge("append_seconds", "Latency of the newest appends", status.append_ms_p99 / 1'000,
          {{"quantile", "0.99"}});
    counter("appends", "Entries appended by this node", status.appends);
    counter("append_bytes", "Their bytes", status.append_bytes);
    counter("proposals", "Changes asked of this node", status.proposals);
    gauge("append_batch_size", "Changes an entry of this node held, on average",
          status.appends == 0 ? 0
                              : static_cast<double>(status.proposals) / static_cast<double>(status.appends));
    counter("snapshot_sent_bytes", "Bytes of snapshots streamed to members and files",
            parts.snapshot_sent_bytes);
    counter("snapshot_received_bytes", "Bytes of the snapshot that this start fetched",
            parts.snapshot_received_bytes);
    counter("lost_races", "Appends whose position another member took", status.lost_races);
    counter("unknown_outcomes", "Appends whose answer did not come", status.unknown_outcomes);
    counter("digest_checks", "Comparisons of this node's digests with another's",
            parts.membership.digest_checks());
    gauge("diverged", "1 where this node's state differs from the others'",
          parts.membership.refusal() ? 1 : 0);
    gauge("members_live", "Members whose presence is known",
          static_cast<double>(parts.membership.presences().size()));
  }

  void sample_states(const char* kind, const kernel_sync::StateCounts& counts) {
    const auto one = [&](const char* state, uint64_t count) {
      gauge("fib_rows", "Rows of the store by their state in this kernel", static_cast<double>(count),
            {{"kind", kind}, {"state", state}});
    };
    one("installed", counts.installed);
    one("pending", counts.pending);
    one("local_here", counts.local_here);
    one("degraded", counts.degraded);
    one("refused", counts.refused);
    one("conflict", counts.conflict);
    one("unknown", counts.unknown);
  }

  void sample_fib(const kernel_sync::FibStatus& fib) {
    gauge("fib_synced_revision", "Revision up to which every row has its state in this kernel",
          static_cast<double>(fib.synced_revision.value()));
    gauge("fib_lag_revisions", "Revisions the kernel is behind the store",
          static_cast<double>(fib.store_revision.value() -
                              std::min(fib.synced_revision, fib.store_revision).value()));
    gauge("fib_in_sync", "1 while nothing is left to do", fib.in_sync ? 1 : 0);
    gauge("fib_clean", "1 while everything is installed as asked", fib.clean ? 1 : 0);
    gauge("fib_held_objects", "Objects whose removal waits for a person",
          static_cast<double>(fib.held_objects));
    sample_states("nexthop", fib.nexthops);
    sample_states("route", fib.routes);
    counter("fib_repaired", "Objects put right after something else changed them", fib.repaired_nexthops,
            {{"kind", "nexthop"}});
    counter("fib_repaired", "Objects put right after something else changed them", fib.repaired_routes,
            {{"kind", "route"}});
    counter("fib_audits", "Audits of the kernel", fib.audits);
    gauge("fib_audit_seconds", "What the last audit took", static_cast<double>(fib.last_audit_took_us) / 1e6);
    gauge("fib_memory_bytes", "Memory of desired and installed", static_cast<double>(fib.agent_bytes));
    counter("netlink_messages", "Netlink messages sent", fib.kernel.messages_sent);
    counter("netlink_errors", "Steps that the kernel refused", fib.kernel.errors);
    counter("netlink_events", "Events heard", fib.kernel.events);
    counter("netlink_overruns", "Times that events were lost", fib.kernel.overruns);
    counter("netlink_dumps", "Dumps", fib.kernel.dumps);
    counter("netlink_dumps_interrupted", "Dumps that were torn", fib.kernel.dumps_interrupted);
    counter("fib_false_missing", "Rows that a dump did not show and that were there", fib.false_missing);
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::sample(const Parts& parts, size_t connections) {
  impl_->sample_store(parts);
  impl_->sample_log(parts);
  impl_->gauge("connections", "Client connections open", static_cast<double>(connections));
  impl_->gauge("watchers", "Clients that follow the changes", static_cast<double>(parts.watchers.count()));
  impl_->gauge("jobs", "Jobs running", static_cast<double>(parts.jobs.running()));
  impl_->gauge("reads_waiting", "Reads waiting for a reader", static_cast<double>(parts.readers.waiting()));
  if (parts.syncer != nullptr) impl_->sample_fib(parts.syncer->status());
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace waypost::node
