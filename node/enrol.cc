// A member's name and incarnation in the state (LOG.md rule 9): added at its first start, claimed at each
// one.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "model/transaction.h"
#include "node/enrol_internal.h"
#include "node/logging.h"
#include "node/membership.h"

namespace waypost::node {

namespace {

constexpr uint64_t kRetryUs = 1'000'000;
constexpr uint64_t kBarrierMs = 5'000;

// Says that this data directory's member was in the list once. Where it is and the name is not, the member
// was removed, and must not put itself back.
std::string joined_path(const NodeConfig& config) {
  return config.data_dir + "/joined";
}

std::string encode_proposal(decltype(Proposal::body) body, const NodeConfig& config) {
  Proposal proposal;
  proposal.author = "waypostd@" + config.name;
  proposal.body = std::move(body);
  return encode(proposal);
}

}  // namespace

bool is_member(const std::vector<store::ReadView::Member>& members, const std::string& name) {
  return std::any_of(members.begin(), members.end(),
                     [&name](const auto& member) { return member.name == name; });
}

std::string removed_words(const NodeConfig& config) {
  return "member " + config.name +
         " was removed from the cluster; to join again, start it with an empty data directory and --join";
}

void Membership::enrol() {
  given_.replica.barrier(kBarrierMs, [this](Result<Position> point) {
    if (stopped_) return;
    if (!point.ok()) return enrol_again(in_words(point.error()));
    const bool listed = is_member(given_.store.view().members(), given_.config.name);
    std::error_code ignored;
    const bool was_listed = std::filesystem::exists(joined_path(given_.config), ignored);
    if (listed) return claim();
    if (was_listed) return given_.must_exit(removed_words(given_.config));
    add_self();
  });
}

void Membership::enrol_again(const std::string& why) {
  log_warning("joining the members of the cluster: " + why);
  given_.order.after(kRetryUs, [this] {
    if (!stopped_) enrol();
  });
}

void Membership::add_self() {
  given_.replica.propose(
      encode_proposal(AddMember{given_.config.name, given_.config.advertise}, given_.config),
      [this](replication::ProposeResult result) {
        if (stopped_) return;
        if (result.outcome != replication::ProposeOutcome::kApplied) return enrol_again(result.words);
        claim();
      });
}

void Membership::claim() {
  given_.replica.propose(
      encode_proposal(ClaimIncarnation{given_.config.name, given_.incarnation}, given_.config),
      [this](replication::ProposeResult result) {
        if (stopped_) return;
        if (result.outcome != replication::ProposeOutcome::kApplied) return enrol_again(result.words);
        const Result<ProposalAnswer> answer = decode_proposal_answer(result.answer);
        if (answer.ok() && answer->refusal) {
          return given_.must_exit(in_words(describe(*answer->refusal)));
        }
        std::ofstream(joined_path(given_.config)) << given_.config.name << "\n";
        enrolled_ = true;
        log_info("member " + given_.config.name + " of the cluster, incarnation " +
                 std::to_string(given_.incarnation));
      });
}

}  // namespace waypost::node
