#include "cli/node_report.h"

#include "cli/row_words.h"
#include "rpc/waypost.pb.h"

namespace waypost::cli {
namespace {

std::string fib_words(const rpc::NodeStatus& status) {
  if (!status.has_fib() || !status.fib().enabled()) return "kernel_sync is off";
  const rpc::FibStatus& fib = status.fib();
  std::string words = fib.clean() ? "in sync, clean" : fib.in_sync() ? "in sync, not clean" : "not in sync";
  words += " at revision " + std::to_string(fib.synced_revision());
  if (!fib.hold().empty()) words += "; " + fib.hold();
  if (!fib.problem().empty()) words += "; " + fib.problem();
  return words;
}

std::string log_words(const rpc::NodeStatus& status) {
  std::string words = status.engine();
  if (!status.log_reachable()) words += ", not reached for " + age_words(status.log_silent_ms());
  if (!status.halted().empty()) words += ", halted: " + status.halted();
  return words;
}

}  // namespace

void add_node(Report& report, const rpc::NodeStatus& status, bool details) {
  report.fact("node", "node", status.name());
  report.fact("version", "version", status.version());
  report.fact("cluster", "cluster", full_hex(status.cluster()));
  report.fact("history", "history", full_hex(status.history()));
  report.fact("log", "log", log_words(status));
  report.fact("revision", "revision", status.revision());
  report.fact("oldest_revision", "history from", status.oldest_revision());
  report.fact("position", "position", status.position());
  report.fact("tail", "tail", status.tail());
  report.fact("nexthops", "nexthops", status.nexthops());
  report.fact("groups", "of these groups", status.groups());
  report.fact("interned", "interned", status.interned());
  report.fact("routes", "routes", status.routes());
  report.fact("data_digest", "data digest", full_hex(status.data_digest()));
  report.fact("control_digest", "control digest", full_hex(status.control_digest()));
  report.fact("fib", "kernel", fib_words(status));
  report.fact("started", "started", time_words(status.started_us()));
  if (details) {
    report.fact("lost_races", "lost races", status.lost_races());
    report.fact("unknown_outcomes", "unknown outcomes", status.unknown_outcomes());
  }
  Table facts({{"name", "name"}, {"value", "value"}});
  for (const rpc::Fact& fact : status.engine_facts()) facts.add({fact.name(), fact.value()});
  report.table("engine", "the log's engine", std::move(facts));
  report.words("problems", "problems", {status.problems().begin(), status.problems().end()});
}

Table member_table(const rpc::MembersAnswer& members) {
  Table table({{"name", "NAME"},
               {"address", "ADDRESS"},
               {"live", "LIVE"},
               {"revision", "REVISION"},
               {"applied", "APPLIED"},
               {"durable", "DURABLE"},
               {"data_digest", "DIGEST"},
               {"rules_level", "RULES"},
               {"incarnation", "STARTS"},
               {"status", "STATUS"}});
  for (const rpc::Member& member : members.members())
    table.add({member.name(), member.address(), member.live(), member.revision(), member.applied(),
               member.durable(), short_hex(member.data_digest()), uint64_t{member.rules_level()},
               member.incarnation(), member.status()});
  return table;
}

std::string members_age(const rpc::MembersAnswer& members) {
  if (members.from_log()) return {};
  return "the log does not answer; this is " + age_words(members.age_ms()) + " old";
}

}  // namespace waypost::cli
