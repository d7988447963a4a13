#include "model/row_codec.h"
#include "node/fib_status_internal.h"
#include "rpc/utf8.h"

namespace waypost::node {

namespace {

void fill(rpc::StateCounts& out, const kernel_sync::StateCounts& counts) {
  out.set_installed(counts.installed);
  out.set_pending(counts.pending);
  out.set_local_here(counts.local_here);
  out.set_degraded(counts.degraded);
  out.set_refused(counts.refused);
  out.set_conflict(counts.conflict);
  out.set_unknown(counts.unknown);
}

void add_fact(google::protobuf::RepeatedPtrField<rpc::Fact>& facts, const char* name, std::string value) {
  rpc::Fact& fact = *facts.Add();
  fact.set_name(name);
  fact.set_value(rpc::valid_utf8(value));
}

void fill_capabilities(rpc::FibStatus& out, const kernel_sync::Capabilities& can) {
  auto& facts = *out.mutable_capabilities();
  const auto yes_no = [](bool yes) { return std::string(yes ? "yes" : "no"); };
  add_fact(facts, "kernel", can.release);
  add_fact(facts, "wide_weights", yes_no(can.wide_weights));
  add_fact(facts, "resilient_groups", yes_no(can.resilient_groups));
  add_fact(facts, "encap_ip", yes_no(can.encap_ip));
  add_fact(facts, "encap_ip6", yes_no(can.encap_ip6));
  add_fact(facts, "encap_seg6", yes_no(can.encap_seg6));
}

void fill_counters(rpc::FibStatus& out, const kernel_sync::FibStatus& status) {
  const kernel_sync::KernelCounters& counters = status.kernel;
  auto& facts = *out.mutable_counters();
  add_fact(facts, "messages_sent", std::to_string(counters.messages_sent));
  add_fact(facts, "batches", std::to_string(counters.batches));
  add_fact(facts, "errors", std::to_string(counters.errors));
  add_fact(facts, "events", std::to_string(counters.events));
  add_fact(facts, "overruns", std::to_string(counters.overruns));
  add_fact(facts, "dumps", std::to_string(counters.dumps));
  add_fact(facts, "dumps_interrupted", std::to_string(counters.dumps_interrupted));
  add_fact(facts, "false_missing", std::to_string(status.false_missing));
  add_fact(facts, "link_gets", std::to_string(counters.link_gets));
  add_fact(facts, "link_dumps", std::to_string(counters.link_dumps));
}

}  // namespace

void fill(rpc::RowReport& out, const kernel_sync::RowReport& row) {
  out.set_is_route(row.is_route);
  if (row.is_route) {
    append_route_key(*out.mutable_route_key(), row.route);
  } else {
    out.set_nexthop(row.nexthop.value());
  }
  out.set_state(static_cast<uint32_t>(row.state));
  out.set_reason(rpc::valid_utf8(row.reason));
}

void fill(rpc::FibStatus& out, const kernel_sync::FibStatus& status) {
  out.set_enabled(status.enabled);
  out.set_store_revision(status.store_revision.value());
  out.set_synced_revision(status.synced_revision.value());
  out.set_in_sync(status.in_sync);
  out.set_clean(status.clean);
  fill(*out.mutable_nexthops(), status.nexthops);
  fill(*out.mutable_routes(), status.routes);
  for (const kernel_sync::RowReport& row : status.examples) fill(*out.add_examples(), row);
  out.set_hold(rpc::valid_utf8(status.hold));
  out.set_held_objects(status.held_objects);
  out.set_kernel_nexthops(status.kernel_nexthops);
  out.set_kernel_routes(status.kernel_routes);
  out.set_foreign_nexthops(status.foreign_nexthops);
  out.set_foreign_routes(status.foreign_routes);
  out.set_repaired_nexthops(status.repaired_nexthops);
  out.set_repaired_routes(status.repaired_routes);
  out.set_last_drift(rpc::valid_utf8(status.last_drift));
  for (const std::string& fight : status.fights) out.add_fights(rpc::valid_utf8(fight));
  out.set_audits(status.audits);
  out.set_last_audit_us(status.last_audit_us);
  out.set_last_audit_took_us(status.last_audit_took_us);
  out.set_last_audit_result(rpc::valid_utf8(status.last_audit_result));
  out.set_compat_mode(status.compat_mode);
  fill_capabilities(out, status.capabilities);
  fill_counters(out, status);
  out.set_trie_bytes(status.trie_bytes);
  out.set_agent_bytes(status.agent_bytes);
  out.set_problem(rpc::valid_utf8(status.problem));
}

}  // namespace waypost::node
