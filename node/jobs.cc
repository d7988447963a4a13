#include "node/jobs.h"

#include <algorithm>
#include <deque>
#include <random>

#include "node/job_plan_internal.h"
#include "node/membership.h"
#include "node/parts_internal.h"
#include "rpc/utf8.h"

namespace waypost::node {

namespace {

constexpr uint64_t kProgressUs = 200'000;
constexpr int kRefusalsNamed = 16;

std::array<uint8_t, 16> random_bits() {
  std::random_device device;
  std::array<uint8_t, 16> bits;
  for (uint8_t& byte : bits) byte = static_cast<uint8_t>(device());
  return bits;
}

Result<SharedPlan> make_plan(const Parts& parts, const rpc::Job& job,
                             std::shared_ptr<const store::ReadView> view) {
  switch (job.what_case()) {
    case rpc::Job::kFlushNexthops:
      return plan_flush_nexthops(std::move(view), job.flush_nexthops());
    case rpc::Job::kFlushRoutes:
      return plan_flush_routes(std::move(view), job.flush_routes());
    case rpc::Job::kCascadeDelete:
      return plan_cascade_delete(std::move(view), NexthopId(job.cascade_delete().nexthop()));
    case rpc::Job::kRollback:
      return plan_rollback(parts.store, std::move(view), Revision(job.rollback().revision()));
    default:
      return Error{ErrorCode::kInvalidArgument, "a job without work", ""};
  }
}

}  // namespace

// Planning runs on a reader, everything else on the order thread; at any time the plan is in one place only.
class Jobs::Job : public std::enable_shared_from_this<Job> {
 public:
  Job(Parts& parts, SharedCall call, std::shared_ptr<std::atomic<size_t>> running)
      : parts_(parts), call_(std::move(call)), running_(std::move(running)) {
    ++*running_;
  }
  ~Job() { --*running_; }

  // On a reader.
  void plan(store::ReadView view) {
    Result<SharedPlan> made =
        make_plan(parts_, job(), std::make_shared<const store::ReadView>(std::move(view)));
    if (!made.ok()) {
      failure_ = made.error();
    } else {
      plan_ = std::move(*made);
      if (job().dry_run()) return dry_run();
    }
    parts_.order.post(
        [self = shared_from_this()] { self->failure_ ? self->finish() : self->open_session(); });
  }

 private:
  struct Batch {
    std::vector<Command> commands;
    std::string proposal;
    std::string phase;
    uint64_t total = 0;
  };
  using SharedBatch = std::shared_ptr<Batch>;

  const rpc::Job& job() const { return call_->request().job(); }

  // Says what would be done, and does nothing; a turn at a time.
  void dry_run() {
    if (call_->closed() || parts_.stopping) return on_order(&Job::finish);
    if (!call_->writable()) {
      return call_->when_writable(
          [self = shared_from_this()] { self->parts_.readers.post([self] { self->dry_run(); }); });
    }
    size_t taken = 0;
    const Result<bool> finished = plan_->next([&](const Command& command, size_t) {
      ++answer_.changed;
      if (plan_->show) {
        rpc::Part part;
        *part.mutable_difference() = plan_->show(command);
        call_->send(std::move(part));
      }
      return ++taken < (plan_->show ? 64 : limits::kJobCommands);
    });
    if (!finished.ok()) failure_ = finished.error();
    if (!finished.ok() || *finished) return on_order(&Job::finish);
    parts_.readers.post([self = shared_from_this()] { self->dry_run(); });
  }

  void on_order(void (Job::*work)()) {
    parts_.order.post([self = shared_from_this(), work] { (self.get()->*work)(); });
  }

  Proposal proposal_of(decltype(Proposal::body) body) const {
    Proposal proposal;
    proposal.author = rpc::valid_utf8(job().author()).substr(0, 128);
    if (parts_.membership.signs()) {
      proposal.member = parts_.config.name;
      proposal.incarnation = parts_.membership.incarnation();
    }
    proposal.body = std::move(body);
    return proposal;
  }

  void open_session() {
    parts_.replica.propose(encode(proposal_of(OpenSession{random_bits()})),
                           [self = shared_from_this()](replication::ProposeResult result) {
                             const std::optional<ProposalAnswer> answer = self->take_outcome(result);
                             if (answer && answer->session) self->session_ = *answer->session;
                             self->go_on();
                           });
  }

  // Plans ahead while there is room in flight.
  void go_on() {
    const bool stop = failure_ || call_->closed() || parts_.stopping || past_deadline();
    if (stop) planned_all_ = true;
    if (in_flight_ == 0 && !planning_ && planned_all_ && (stop || retry_.empty())) return finish();
    if (stop || planning_ || in_flight_ >= limits::kJobWindow || (planned_all_ && retry_.empty())) return;
    planning_ = true;
    const auto batch = std::make_shared<Batch>();
    if (!retry_.empty()) {
      batch->commands = std::move(retry_.front());
      retry_.pop_front();
    }
    parts_.readers.post([self = shared_from_this(), batch] { self->plan_batch(batch); });
  }

  bool past_deadline() {
    if (call_->request().deadline_ms() == 0 || call_->milliseconds_left() > 0) return false;
    failure_ = Error{ErrorCode::kDeadlineExceeded, "the time given ran out with the job half done",
                     "what was done stays; run it again to go on"};
    return true;
  }

  // On a reader. A batch that comes with commands is one that is tried again.
  void plan_batch(const SharedBatch& batch) {
    if (batch->commands.empty()) {
      size_t bytes = 0;
      const Result<bool> finished = plan_->next([&](Command command, size_t command_bytes) {
        batch->commands.push_back(std::move(command));
        bytes += command_bytes;
        return batch->commands.size() < limits::kJobCommands && bytes < limits::kJobTransactionBytes;
      });
      if (!finished.ok()) plan_failure_ = finished.error();
      plan_finished_ = !finished.ok() || *finished;
    }
    if (!batch->commands.empty()) {
      SessionTransaction body{session_, ++last_number_, {}};
      body.transaction.on_refusal = OnRefusal::kContinue;
      body.transaction.commands = batch->commands;
      batch->proposal = encode(proposal_of(std::move(body)));
    }
    batch->phase = plan_->phase;
    batch->total = plan_->total;
    parts_.order.post([self = shared_from_this(), batch] { self->submit(batch); });
  }

  void submit(const SharedBatch& batch) {
    planning_ = false;
    planned_all_ = plan_finished_;
    if (plan_failure_) fail(*plan_failure_);
    if (const std::optional<Error> full = parts_.space.refusal()) fail(*full);
    if (!batch->commands.empty() && !failure_) {
      ++in_flight_;
      parts_.replica.propose(std::move(batch->proposal),
                             [self = shared_from_this(), batch](replication::ProposeResult result) {
                               --self->in_flight_;
                               self->take_answer(result, *batch);
                               self->go_on();
                             });
    }
    go_on();
  }

  std::optional<ProposalAnswer> take_outcome(const replication::ProposeResult& result) {
    using replication::ProposeOutcome;
    if (result.outcome != ProposeOutcome::kApplied) {
      const ErrorCode code = result.outcome == ProposeOutcome::kUnknown       ? ErrorCode::kOutcomeUnknown
                             : result.outcome == ProposeOutcome::kUnreachable ? ErrorCode::kUnavailable
                             : result.outcome == ProposeOutcome::kHalted      ? ErrorCode::kFailedPrecondition
                                                                              : ErrorCode::kResourceExhausted;
      fail({code, result.words, "what was done stays; run it again to go on"});
      return std::nullopt;
    }
    Result<ProposalAnswer> answer = decode_proposal_answer(result.answer);
    if (!answer.ok()) {
      fail(answer.error());
      return std::nullopt;
    }
    if (answer->refusal) fail(describe(*answer->refusal));
    return std::move(*answer);
  }

  void fail(Error error) {
    if (!failure_) failure_ = std::move(error);
  }

  void take_answer(const replication::ProposeResult& result, Batch& batch) {
    const std::optional<ProposalAnswer> answer = take_outcome(result);
    if (!answer || !answer->transaction) return;
    answer_.changed += answer->transaction->applied;
    answer_.skipped += answer->transaction->skipped;
    answer_.revision = std::max(answer_.revision, answer->transaction->revision.value());
    std::vector<Command> again;
    for (const CommandRefusal& refusal : answer->transaction->refusals) {
      // What did not fit beside the others gets a transaction of its own.
      if (refusal.refusal.code == RefusalCode::kTooManyChanges && batch.commands.size() > 1) {
        again.push_back(std::move(batch.commands[refusal.index]));
        continue;
      }
      ++answer_.refused;
      if (answer_.refusals.size() < kRefusalsNamed)
        answer_.refusals.push_back(describe(refusal.refusal).message);
    }
    if (!again.empty()) retry_.push_back(std::move(again));
    report(batch);
  }

  void report(const Batch& batch) {
    if (phase_ != batch.phase) {
      phase_ = batch.phase;
      done_ = 0;
    }
    done_ += batch.commands.size();
    const uint64_t now_us = parts_.order.monotonic_us();
    if (now_us - reported_us_ < kProgressUs) return;
    reported_us_ = now_us;
    rpc::Part part;
    part.mutable_progress()->set_phase(phase_);
    part.mutable_progress()->set_done(done_);
    part.mutable_progress()->set_total(batch.total);
    call_->send(std::move(part));
  }

  void finish() {
    if (std::exchange(finished_, true)) return;
    if (failure_) return call_->fail(*failure_);
    rpc::End end;
    rpc::JobAnswer& out = *end.mutable_job();
    out.set_changed(answer_.changed);
    out.set_skipped(answer_.skipped);
    out.set_refused(answer_.refused);
    out.set_revision(answer_.revision > 0 ? answer_.revision : parts_.store.stamp().revision.value());
    for (const std::string& words : answer_.refusals) out.add_refusals(rpc::valid_utf8(words));
    call_->finish(std::move(end));
  }

  struct Answer {
    uint64_t changed = 0, skipped = 0, refused = 0, revision = 0;
    std::vector<std::string> refusals;
  };

  Parts& parts_;
  const SharedCall call_;
  const std::shared_ptr<std::atomic<size_t>> running_;
  SharedPlan plan_;
  SessionId session_;
  // Handed between the threads with the work itself.
  uint64_t last_number_ = 0;
  bool plan_finished_ = false;
  std::optional<Error> plan_failure_;
  // Order thread.
  std::deque<std::vector<Command>> retry_;  // what was too much beside others
  size_t in_flight_ = 0;
  bool planning_ = false;
  bool planned_all_ = false;
  bool finished_ = false;
  Answer answer_;
  std::optional<Error> failure_;
  uint64_t reported_us_ = 0;
  std::string phase_;
  uint64_t done_ = 0;  // commands answered in this phase
};

void Jobs::start(Parts& parts, SharedCall call) {
  if (*running_ >= limits::kMaxJobs) {
    return call->fail({ErrorCode::kResourceExhausted,
                       "this node runs " + std::to_string(*running_) + " jobs already",
                       "wait for one to end, or ask another node"});
  }
  if (const std::optional<Error> full = parts.space.refusal(); full && !call->request().job().dry_run()) {
    return call->fail(*full);
  }
  const auto job = std::make_shared<Job>(parts, call, running_);
  read(parts, call, false, [job](store::ReadView view) { job->plan(std::move(view)); });
}

}  // namespace waypost::node
