#include "node/settings.h"

#include "model/transaction.h"
#include "node/logging.h"
#include "node/membership.h"
#include "node/parts_internal.h"

namespace waypost::node {

namespace {

void propose(Parts& parts, const std::string& name, uint64_t value) {
  if (parts.store.view().setting(name) == std::to_string(value)) return;
  Proposal proposal;
  proposal.author = "waypostd@" + parts.config.name;
  if (parts.membership.signs()) {
    proposal.member = parts.config.name;
    proposal.incarnation = parts.membership.incarnation();
  }
  proposal.body = SetSetting{name, std::to_string(value)};
  parts.replica.propose(encode(proposal), [name](replication::ProposeResult result) {
    if (result.outcome != replication::ProposeOutcome::kApplied) {
      return log_warning("setting " + name + " of the config file was not taken: " + result.words);
    }
    const Result<ProposalAnswer> answer = decode_proposal_answer(result.answer);
    if (answer.ok() && answer->refusal) {
      log_warning("setting " + name +
                  " of the config file was refused: " + in_words(describe(*answer->refusal)));
    }
  });
}

}  // namespace

void propose_configured_settings(Parts& parts) {
  if (parts.config.history_revisions) propose(parts, "history.revisions", *parts.config.history_revisions);
  if (parts.config.history_bytes) propose(parts, "history.bytes", *parts.config.history_bytes);
}

}  // namespace waypost::node
