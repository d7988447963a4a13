#include <algorithm>
#include <random>
#include <thread>

#include "model/limits.h"
#include "rpc/client_internal.h"

namespace waypost::rpc {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kResendDelay{100};
// A lost session is opened anew this often for one transaction.
constexpr uint32_t kMaxSendsUnderNewSession = 3;

std::array<uint8_t, 16> random_bits() {
  std::random_device device;
  std::array<uint8_t, 16> bits;
  for (size_t i = 0; i < bits.size(); i += sizeof(uint32_t)) {
    const uint32_t word = device();
    std::copy_n(reinterpret_cast<const uint8_t*>(&word), sizeof word, bits.begin() + static_cast<long>(i));
  }
  return bits;
}

Error outcome_unknown(const Error& why) {
  return {ErrorCode::kOutcomeUnknown,
          "the transaction was sent, and no node said what became of it: " + why.message,
          "look whether it is there before asking again"};
}

Request request_of(const std::string& proposal) {
  Request request;
  request.mutable_propose()->set_proposal(proposal);
  return request;
}

}  // namespace

Status ClientSession::open_session(TimePoint deadline) {
  Proposal proposal;
  proposal.author = options_.author;
  proposal.body = OpenSession{random_bits()};
  const std::string bytes = encode(proposal);
  size_t refused_rounds = 0;
  while (true) {
    if (Status status = connection_.ensure(deadline, connection_.ever_connected()); !status.ok())
      return status;
    const Result<uint64_t> id = connection_.send(request_of(bytes), deadline);
    if (!id.ok()) continue;  // the connection ended; ensure() is bounded by the deadline
    Envelope envelope;
    Status status;
    do {
      status = connection_.receive(&envelope, deadline);
      if (status.ok() && envelope.id() != *id) take(envelope);
    } while (status.ok() && envelope.id() != *id);
    if (!status.ok()) {
      if (status.error().code == ErrorCode::kDeadlineExceeded) {
        return Error{ErrorCode::kUnavailable, status.error().message + "; nothing was changed",
                     status.error().hint};
      }
      continue;
    }
    const End& end = envelope.end();
    if (end.has_error()) {
      const bool try_again = end.error().retry_after_ms() > 0 ||
                             end.error().code() == static_cast<uint32_t>(ErrorCode::kUnavailable) ||
                             end.error().code() == static_cast<uint32_t>(ErrorCode::kOutcomeUnknown);
      if (!try_again || ++refused_rounds >= 2 * connection_.endpoint_count() ||
          steady_clock::now() >= deadline) {
        Error error = error_of(end.error());
        if (error.code == ErrorCode::kOutcomeUnknown) error.code = ErrorCode::kUnavailable;  // only a session
        return error;
      }
      connection_.leave_endpoint();
      std::this_thread::sleep_for(milliseconds(std::max<uint32_t>(end.error().retry_after_ms(), 20)));
      continue;
    }
    Result<ProposalAnswer> answer = decode_proposal_answer(end.propose().answer());
    if (!answer.ok()) return answer.error();
    if (answer->refusal) return describe(*answer->refusal);
    if (!answer->session) return Error{ErrorCode::kInternal, "the node opened no session", ""};
    session_ = answer->session;
    next_number_ = 1;
    return {};
  }
}

void ClientSession::submit(const Transaction& transaction, size_t window, Done done) {
  while (pending_.size() >= window) finish_front();
  const TimePoint deadline =
      options_.timeout.count() == 0 ? kNoDeadline : steady_clock::now() + options_.timeout;
  if (!session_) {
    drain();
    if (Status status = open_session(deadline); !status.ok()) return done(status.error());
  }
  Pending pending;
  pending.number = next_number_;
  Proposal proposal;
  proposal.author = options_.author;
  proposal.body = SessionTransaction{*session_, pending.number, transaction};
  pending.proposal = encode(proposal);
  if (pending.proposal.size() > limits::kMaxProposalBytes) {
    return done(Error{ErrorCode::kInvalidArgument,
                      "a transaction of " + std::to_string(pending.proposal.size()) + " bytes; at most " +
                          std::to_string(limits::kMaxProposalBytes) + " are taken",
                      "cut it into smaller ones"});
  }
  ++next_number_;
  pending.done = std::move(done);
  pending.deadline = deadline;
  pending_.push_back(std::move(pending));
  // Behind one that must be sent again it waits for its turn.
  const bool in_turn = std::all_of(pending_.begin(), pending_.end() - 1, [this](const Pending& earlier) {
    return earlier.result || on_the_wire(earlier);
  });
  if (in_turn) (void)send_incomplete();
}

bool ClientSession::on_the_wire(const Pending& pending) const {
  return !pending.answered && pending.generation == connection_.generation() &&
         !connection_.endpoint().empty();
}

void ClientSession::note_lost_connection() {
  for (Pending& pending : pending_) {
    if (pending.answered || on_the_wire(pending)) continue;
    pending.answered = true;
    pending.maybe_handed = true;
  }
}

// Sends, in order, all that has no result and is not on its way. An error has ended the connection.
Status ClientSession::send_incomplete() {
  for (Pending& pending : pending_) {
    if (pending.result || on_the_wire(pending)) continue;
    if (Status status = connection_.ensure(pending.deadline, connection_.ever_connected()); !status.ok())
      return status;
    if (pending.sends > 0 && !pending.answered) pending.maybe_handed = true;
    const Result<uint64_t> id = connection_.send(request_of(pending.proposal), pending.deadline);
    ++pending.sends;
    if (!id.ok()) {
      pending.maybe_handed = true;  // the frame may have gone out whole
      pending.last_error = id.error();
      note_lost_connection();
      return id.error();
    }
    pending.generation = connection_.generation();
    pending.id = *id;
    pending.answered = false;
  }
  return {};
}

// Brings the oldest one nearer to its result. False: gave up on all.
bool ClientSession::step() {
  Pending& front = pending_.front();
  note_lost_connection();
  if (steady_clock::now() >= front.deadline) return give_up(front.last_error), false;
  const bool idle =
      std::none_of(pending_.begin(), pending_.end(), [this](const Pending& p) { return on_the_wire(p); });
  if (idle) {
    if (resend_delay_.count() > 0) std::this_thread::sleep_for(std::exchange(resend_delay_, milliseconds(0)));
    if (std::exchange(leave_when_idle_, false)) connection_.leave_endpoint();
    if (std::exchange(need_new_session_, false)) {
      if (Status status = renumber(); !status.ok()) return give_up(status.error()), false;
    }
    const bool patient = connection_.ever_connected();
    if (Status status = connection_.ensure(front.deadline, patient); !status.ok()) {
      return give_up(status.error()), false;
    }
    (void)send_incomplete();
    return true;
  }
  Envelope envelope;
  const Status status = connection_.receive(&envelope, front.deadline);
  if (status.ok()) {
    take(envelope);
  } else if (front.last_error.message.empty()) {
    front.last_error = status.error();
  }
  return true;
}

bool ClientSession::take(const Envelope& envelope) {
  for (Pending& pending : pending_) {
    if (pending.answered || pending.id != envelope.id() || !on_the_wire(pending)) continue;
    if (!envelope.has_end()) return true;
    pending.answered = true;
    take_end(pending, envelope.end());
    return true;
  }
  return false;
}

void ClientSession::take_end(Pending& pending, const End& end) {
  if (end.has_error()) return take_error(pending, end.error());
  Result<ProposalAnswer> answer = decode_proposal_answer(end.propose().answer());
  if (!answer.ok()) {
    pending.maybe_handed = true;
    return again(pending, answer.error(), kResendDelay);
  }
  if (answer->refusal) return take_refusal(pending, *answer->refusal);
  if (!answer->transaction)
    return again(pending, {ErrorCode::kInternal, "an answer without a transaction", ""}, kResendDelay);
  pending.result = Submitted{std::move(*answer->transaction), Position(end.propose().position())};
}

void ClientSession::take_error(Pending& pending, const WireError& wire_error) {
  Error error = error_of(wire_error);
  if (wire_error.retry_after_ms() > 0) {
    return again(pending, error, milliseconds(std::min<uint32_t>(wire_error.retry_after_ms(), 1'000)));
  }
  if (error.code == ErrorCode::kOutcomeUnknown || error.code == ErrorCode::kDeadlineExceeded) {
    pending.maybe_handed = true;
    return again(pending, error, kResendDelay);
  }
  if (error.code == ErrorCode::kUnavailable) {
    ++pending.not_handed;
    if (pending.maybe_handed || pending.not_handed < connection_.endpoint_count()) {
      leave_when_idle_ = true;
      return again(pending, error, kResendDelay);
    }
  }
  pending.number_unused = !pending.maybe_handed;
  pending.result = pending.maybe_handed ? outcome_unknown(error) : std::move(error);
}

void ClientSession::take_refusal(Pending& pending, const Refusal& refusal) {
  const Error error = describe(refusal);
  const bool front = &pending == &pending_.front();
  switch (refusal.code) {
    case RefusalCode::kSessionGap:
      // Behind one that must be sent again, so was this one: refused is not executed.
      if (!front) return again(pending, error, milliseconds(0));
      [[fallthrough]];
    case RefusalCode::kUnknownSession:
      if (pending.maybe_handed || pending.sends > kMaxSendsUnderNewSession) {
        pending.result = pending.maybe_handed ? outcome_unknown(error) : error;
        pending.number_unused = true;
        return;
      }
      need_new_session_ = true;
      return again(pending, error, milliseconds(0));
    case RefusalCode::kMemberUnknown:
    case RefusalCode::kMemberSuperseded:
      leave_when_idle_ = true;
      return again(pending, error, kResendDelay);
    case RefusalCode::kAnswerForgotten:
      pending.result = outcome_unknown(error);
      return;
    default:
      pending.result = error;
  }
}

void ClientSession::again(Pending& pending, Error why, milliseconds delay) {
  pending.last_error = std::move(why);
  resend_delay_ = std::max(resend_delay_, delay);
}

// A new session for all that has no result: none of it can have been executed under the old one, since the
// oldest was refused as unknown and numbers leave no gap.
Status ClientSession::renumber() {
  session_.reset();
  if (Status status = open_session(pending_.front().deadline); !status.ok()) return status;
  for (Pending& pending : pending_) {
    if (pending.result) continue;
    Result<Proposal> proposal = decode_proposal(pending.proposal);
    if (!proposal.ok()) return proposal.error();
    auto& body = std::get<SessionTransaction>(proposal->body);
    body.session = *session_;
    body.number = pending.number = next_number_++;
    pending.proposal = encode(*proposal);
  }
  return {};
}

void ClientSession::finish_front() {
  while (!pending_.empty() && !pending_.front().result) {
    if (!step()) return;
  }
  pop_answered();
}

void ClientSession::pop_answered() {
  while (!pending_.empty() && pending_.front().result) {
    Pending front = std::move(pending_.front());
    pending_.pop_front();
    if (front.number_unused) {
      fail_rest(front.result->error(), front.result->error().code == ErrorCode::kOutcomeUnknown);
    }
    front.done(std::move(*front.result));
  }
}

// The session ends with a number that apply never saw: nothing behind it can be executed.
void ClientSession::fail_rest(const Error& error, bool unknown) {
  session_.reset();
  for (Pending& pending : pending_) {
    if (pending.result) continue;
    pending.result = unknown ? outcome_unknown(error) : error;
    pending.answered = true;
  }
}

void ClientSession::give_up(const Error& why) {
  Error error = why;
  if (error.message.empty())
    error = {ErrorCode::kDeadlineExceeded, "no answer in time", "a longer --timeout"};
  const bool unknown = std::any_of(pending_.begin(), pending_.end(), [](const Pending& pending) {
    return !pending.result && (pending.maybe_handed || !pending.answered);
  });
  if (!unknown && error.code == ErrorCode::kDeadlineExceeded) error.code = ErrorCode::kUnavailable;
  if (!connection_.endpoint().empty()) connection_.drop();  // late answers belong to nobody
  fail_rest(error, unknown);
  pop_answered();
}

void ClientSession::drain() {
  while (!pending_.empty()) finish_front();
}

}  // namespace waypost::rpc
