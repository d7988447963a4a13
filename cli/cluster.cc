#include "cli/cluster.h"

#include <thread>

#include "cli/node_report.h"
#include "cli/requests_internal.h"
#include "cli/verbs.h"
#include "model/transaction.h"

namespace waypost::cli {
namespace {

constexpr std::chrono::seconds kWatchEvery{2};
constexpr std::chrono::milliseconds kCheckTimeout{600'000};

Result<rpc::End> ask_members(const Context& context) {
  rpc::Request request = new_request(context.options);
  request.mutable_members()->set_stale(context.options.stale);
  return context.remote.call(request, {});
}

Result<rpc::End> ask_status(const Context& context, Remote& remote) {
  rpc::Request request = new_request(context.options);
  request.mutable_node_status()->set_stale(true);
  return remote.call(request, {});
}

bool all_live(const rpc::MembersAnswer& members) {
  for (const rpc::Member& member : members.members())
    if (!member.live()) return false;
  return true;
}

int run_status(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "cluster status", words);
  const Result<rpc::End> status = ask_status(context, context.remote);
  if (!status.ok()) return context.fail(status.error());
  const Result<rpc::End> members = ask_members(context);
  if (!members.ok()) return context.fail(members.error());
  Report report(context);
  add_node(report, status->node_status(), context.options.print.details);
  const bool clustered = status->node_status().engine() != "local";
  report.fact_if_any("members_age", "members", clustered ? members_age(members->members()) : "");
  report.table("members", "members", member_table(members->members()));
  report.print();
  const bool healthy =
      status->node_status().problems_size() == 0 && (!clustered || all_live(members->members()));
  return healthy ? kExitOk : kExitDifferences;
}

void note_age(const Context& context, const rpc::MembersAnswer& members) {
  if (const std::string age = members_age(members); !age.empty())
    print_note(context.err, context.options, age);
}

int run_members(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "cluster members", words);
  const Result<rpc::End> end = ask_members(context);
  if (!end.ok()) return context.fail(end.error());
  print_table(context, member_table(end->members()));
  note_age(context, end->members());
  return kExitOk;
}

int run_remove(const Context& context, Words words) {
  if (words.size() != 1)
    return context.usage("cluster remove takes the name of one member", "waypost cluster remove n3");
  Proposal proposal;
  proposal.author = context.host.author;
  proposal.body = RemoveMember{words[0]};
  rpc::Request request = new_request(context.options);
  request.mutable_control()->set_proposal(encode(proposal));
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  const Result<ProposalAnswer> answer = decode_proposal_answer(end->propose().answer());
  if (!answer.ok()) return context.fail(answer.error());
  if (answer->refusal) return context.fail(describe(*answer->refusal));
  print_note(context.err, context.options, "member " + words[0] + " is removed");
  return kExitOk;
}

int run_check(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "cluster check", words);
  rpc::Request request = new_request(context.options);
  // The whole store is walked before the node says anything.
  if (!context.options.timeout) request.set_deadline_ms(static_cast<uint32_t>(kCheckTimeout.count()));
  request.mutable_check();
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  const rpc::CheckAnswer& answer = end->check();
  Report report(context);
  report.fact("healthy", "healthy", answer.healthy());
  report.words("findings", "findings", {answer.findings().begin(), answer.findings().end()});
  report.words("facts", "looked at", {answer.facts().begin(), answer.facts().end()});
  report.print();
  return answer.healthy() ? kExitOk : kExitDifferences;
}

int run_trim(const Context& context, Words words) {
  const bool number = words.size() == 1 && words[0].find_first_not_of("0123456789") == std::string::npos;
  if (!words.empty() && !number)
    return context.usage("cluster trim takes at most a position",
                         "without one, what every live member holds durably");
  rpc::Request request = new_request(context.options);
  if (number) request.mutable_trim()->set_below(std::strtoull(words[0].c_str(), nullptr, 10));
  request.mutable_trim();
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  if (Report::wants_json(context.options)) {
    Report report(context);
    report.fact("first", "first", end->trim().first());
    return report.print(), kExitOk;
  }
  print_note(context.err, context.options,
             "the log begins at position " + std::to_string(end->trim().first()));
  return kExitOk;
}

int run_grow(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "cluster grow", words);
  if (!context.options.log || !context.options.cluster)
    return context.usage("cluster grow needs the new log and the cluster's name",
                         "waypost cluster grow --log etcd://A:2379,B:2379,C:2379 --cluster NAME");
  rpc::Request request = new_request(context.options);
  request.mutable_grow()->set_log(*context.options.log);
  request.mutable_grow()->set_cluster(*context.options.cluster);
  const Result<rpc::End> end = context.remote.call(request, {});
  if (!end.ok()) return context.fail(end.error());
  print_note(context.err, context.options, "the log goes on at " + *context.options.log);
  return kExitOk;
}

// A row a node: the members, or this node alone where its log is its own or it has heard of nobody yet.
Result<rpc::MembersAnswer> nodes(const Context& context) {
  Result<rpc::End> end = ask_members(context);
  if (!end.ok()) return end.error();
  if (end->members().members_size() > 0) return std::move(*end->mutable_members());
  const Result<rpc::End> status = ask_status(context, context.remote);
  if (!status.ok()) return status.error();
  const rpc::NodeStatus& node = status->node_status();
  rpc::MembersAnswer alone;
  rpc::Member& member = *alone.add_members();
  member.set_name(node.name());
  member.set_live(true);
  member.set_applied(node.position());
  member.set_durable(node.position());
  member.set_revision(node.revision());
  member.set_data_digest(node.data_digest());
  const bool local = node.engine() == "local";
  member.set_status(local ? "alone, log local" : "no member has been heard of since this node started");
  alone.set_from_log(local || node.log_reachable());
  alone.set_age_ms(node.log_silent_ms());
  return alone;
}

int run_list(const Context& context, Words words) {
  if (!words.empty()) return no_words(context, "node list", words);
  while (true) {
    const Result<rpc::MembersAnswer> members = nodes(context);
    if (!members.ok()) return context.fail(members.error());
    // On a terminal the table stays in place.
    if (context.options.watch && context.out.is_terminal()) context.out.put("\033[H\033[2J");
    print_table(context, member_table(*members));
    note_age(context, *members);
    if (!context.options.watch || context.out.error() != 0) return kExitOk;
    std::this_thread::sleep_for(kWatchEvery);
  }
}

int show(const Context& context, Remote& remote) {
  const Result<rpc::End> status = ask_status(context, remote);
  if (!status.ok()) return context.fail(status.error());
  Report report(context);
  add_node(report, status->node_status(), true);
  report.print();
  return status->node_status().problems_size() == 0 ? kExitOk : kExitDifferences;
}

int run_show(const Context& context, Words words) {
  if (words.size() > 1) return context.usage("node show takes the name of one node", "waypost node show n2");
  const Result<rpc::End> own = ask_status(context, context.remote);
  if (!own.ok()) return context.fail(own.error());
  if (words.empty() || own->node_status().name() == words[0]) return show(context, context.remote);
  const Result<rpc::End> members = ask_members(context);
  if (!members.ok()) return context.fail(members.error());
  for (const rpc::Member& member : members->members().members()) {
    if (member.name() != words[0]) continue;
    const std::unique_ptr<Remote> remote =
        context.remotes({.endpoints = {member.address()}, .author = context.host.author});
    return show(context, *remote);
  }
  return context.fail(
      {ErrorCode::kNotFound, "no node is named " + words[0], "`waypost node list` names them"});
}

constexpr OwnVerb kClusterVerbs[] = {{"status", run_status}, {"members", run_members}, {"remove", run_remove},
                                     {"check", run_check},   {"trim", run_trim},       {"grow", run_grow}};
constexpr OwnVerb kNodeVerbs[] = {{"list", run_list}, {"show", run_show}};

}  // namespace

int run_cluster(const Context& context, Words words) {
  return run_verb(context, "cluster", kClusterVerbs, words);
}

int run_node(const Context& context, Words words) {
  return run_verb(context, "node", kNodeVerbs, words);
}

}  // namespace waypost::cli
