#include "tests/sim/client.h"

#include "model/check.h"
#include "model/row_codec.h"

namespace waypost::sim {

using replication::ProposeOutcome;

namespace {

constexpr uint32_t kRegisters = 6;
constexpr uint64_t kAttempts = 10;
constexpr uint64_t kGap = 1'000;  // above any number that the client will come to
constexpr uint64_t kAttemptUs = 3'000'000;
constexpr uint64_t kValuesOfAClient = 1u << 16;

// 10.a.b.c: the value in 24 bits.
NexthopObject register_row(uint32_t key, uint64_t value) {
  Nexthop nexthop;
  nexthop.gateway = parse_address("10." + std::to_string(value >> 16 & 255) + "." +
                                  std::to_string(value >> 8 & 255) + "." + std::to_string(value & 255))
                        .value();
  nexthop.device = "eth0";
  return {.id = NexthopId(key), .protocol = 0, .body = nexthop};
}

Command command_of(const Action& action) {
  if (action.kind == ActionKind::kDelete) return DeleteNexthop{.id = NexthopId(action.key), .cascade = false};
  return PutNexthop{.verb = action.kind == ActionKind::kAdd ? Verb::kAdd : Verb::kReplace,
                    .object = register_row(action.key, action.value)};
}

}  // namespace

uint64_t value_of_row(NexthopId id, const std::string& row) {
  if (row.empty()) return 0;
  const auto object = decode_nexthop_value(id, row);
  WAYPOST_CHECK(object.ok() && object->nexthop().gateway, "a register is a nexthop with a gateway");
  const auto& bytes = object->nexthop().gateway->bytes;
  return uint64_t{bytes[1]} << 16 | uint64_t{bytes[2]} << 8 | bytes[3];
}

Member& Client::pick_member() {
  return *cluster_.members[pick(0, cluster_.members.size() - 1)];
}

void Client::think() {
  const bool sleeps = cluster_.world.chance(Concern::kClients, faults.sleeps);
  cluster_.world.after(sleeps ? pick(0, 5'000'000) : pick(0, 150'000), [this] { next(); });
}

void Client::next() {
  idle_ = stopping_;
  if (stopping_) return;
  if (!session_) return open_session();
  const uint64_t kind = pick(0, 99);
  if (kind < 35) return read(false);
  if (kind < 40) return read(true);
  if (cluster_.world.chance(Concern::kClients, faults.misnumbers)) return misnumber();
  write();
}

void Client::open_session() {
  current_ = nullptr;
  OpenSession open;
  for (uint8_t& byte : open.random) byte = static_cast<uint8_t>(pick(0, 255));
  request_ = {.author = "client", .member = {}, .incarnation = 0, .body = open};
  first_attempt_ = attempt_ + 1;
  attempt();
}

// One or two registers, mostly; sometimes routes and groups, for which only the log is asked what is right.
void Client::write() {
  asked_.push_back(std::make_unique<Asked>());
  current_ = asked_.back().get();
  current_->operation.client = number_;
  current_->operation.call_us = cluster_.world.monotonic_us();
  const bool registers = pick(0, 3) != 0;
  SessionTransaction request{.session = *session_, .number = ++last_number_, .transaction = {}};
  request.transaction = registers ? transaction(current_->operation.actions) : background();
  current_->session = session_;
  current_->number = request.number;
  request_ = {.author = "client", .member = {}, .incarnation = 0, .body = std::move(request)};
  first_attempt_ = attempt_ + 1;
  attempt();
}

Transaction Client::transaction(std::vector<Action>& actions) {
  Transaction transaction;
  const uint64_t count = pick(0, 9) == 0 ? 2 : 1;
  for (uint64_t i = 0; i < count; ++i) {
    Action action;
    action.kind = static_cast<ActionKind>(pick(0, 2));
    action.key = static_cast<uint32_t>(1 + (pick(0, kRegisters - 1) + i) % kRegisters);
    if (action.kind != ActionKind::kDelete) action.value = number_ * kValuesOfAClient + ++values_;
    transaction.commands.push_back(command_of(action));
    actions.push_back(action);
  }
  return transaction;
}

Transaction Client::background() {
  Transaction transaction;
  transaction.on_refusal = static_cast<OnRefusal>(pick(0, 2));
  transaction.chained = pick(0, 9) == 0;
  const uint64_t count = pick(1, 4);
  for (uint64_t i = 0; i < count; ++i) {
    const auto single = static_cast<uint32_t>(pick(100, 103));
    const auto group = static_cast<uint32_t>(pick(110, 111));
    Route route;
    route.key.prefix = parse_prefix("10." + std::to_string(pick(0, 7)) + ".0.0/16").value();
    route.nexthop = NexthopId(pick(0, 1) == 0 ? single : group);
    switch (pick(0, 5)) {
      case 0:
        transaction.commands.push_back(
            PutNexthop{.verb = Verb::kReplace, .object = register_row(single, pick(1, 1'000))});
        break;
      case 1: {
        NexthopGroup members;
        members.members = {{.id = NexthopId(single), .weight = static_cast<uint16_t>(pick(1, 300))}};
        transaction.commands.push_back(PutNexthop{
            .verb = Verb::kReplace, .object = {.id = NexthopId(group), .protocol = 0, .body = members}});
        break;
      }
      case 2:
        transaction.commands.push_back(DeleteNexthop{.id = route.nexthop, .cascade = pick(0, 1) == 0});
        break;
      case 3: {
        DeleteRoute remove;
        remove.prefix = route.key.prefix;
        transaction.commands.push_back(remove);
        break;
      }
      default: {
        PutRoute put{.verb = pick(0, 1) == 0 ? Verb::kAdd : Verb::kReplace, .route = route, .paths = {}};
        if (pick(0, 2) == 0) {
          put.route.nexthop = {};
          put.paths.push_back({.nexthop = register_row(1, pick(1, 4)).nexthop(), .weight = 1});
        }
        transaction.commands.push_back(std::move(put));
      }
    }
  }
  return transaction;
}

// What a wrong client sends; it must change nothing and burn no number.
void Client::misnumber() {
  if (last_number_ == 0) return think();
  SessionTransaction request{.session = *session_, .number = last_number_, .transaction = {}};
  if (pick(0, 1) == 0) request.number += kGap;
  std::vector<Action> ignored;
  request.transaction = transaction(ignored);
  const Proposal proposal{.author = "client", .member = {}, .incarnation = 0, .body = std::move(request)};
  pick_member().propose(proposal, [](const Member::Answer&) {});
  cluster_.world.reach("misnumbered request");
  think();
}

void Client::attempt() {
  const uint64_t attempt = ++attempt_;
  const bool last = attempt - first_attempt_ >= kAttempts ||
                    cluster_.world.chance(Concern::kClients, attempt == first_attempt_ ? 0 : faults.gives_up);
  if (last) {
    if (current_ != nullptr) {
      const bool unknown = current_->handed_over;
      session_.reset();  // its next number may not be the last plus one
      finish(unknown ? Outcome::kUnknown : Outcome::kNotDone);
    } else {
      think();
    }
    return;
  }
  if (attempt != first_attempt_) cluster_.world.reach("request repeated");
  Member& member = pick_member();
  deliver(member, request_, attempt);
  if (cluster_.world.chance(Concern::kNetwork, faults.duplicated)) {
    if (current_ != nullptr) current_->handed_over = true;
    deliver(pick_member(), request_, attempt);
  }
  cluster_.world.after(kAttemptUs, [this, attempt] {
    if (attempt_ != attempt) return;
    if (current_ != nullptr) current_->handed_over = true;
    this->attempt();
  });
}

void Client::deliver(Member& member, const Proposal& proposal, uint64_t attempt) {
  SimWorld& world = cluster_.world;
  const bool request_lost = world.chance(Concern::kNetwork, faults.request_lost);
  const bool reply_lost = world.chance(Concern::kNetwork, faults.reply_lost);
  const uint64_t travel_us = world.pick(Concern::kNetwork, 100, 3'000);
  if (request_lost) return;
  if (!member.running()) {  // the connection is refused
    world.after(travel_us, [this, attempt] { on_answer(attempt, {}); });
    return;
  }
  member.node().after(travel_us, [this, &member, proposal, attempt, reply_lost] {
    member.propose(proposal, [this, attempt, reply_lost](const Member::Answer& answer) {
      if (reply_lost) return cluster_.world.reach("reply to a client lost");
      cluster_.world.after(1'000, [this, attempt, answer] { on_answer(attempt, answer); });
    });
  });
}

void Client::on_answer(uint64_t attempt, const Member::Answer& answer) {
  if (attempt != attempt_) return;
  if (answer.outcome != ProposeOutcome::kApplied) {
    const bool nothing_happened = answer.outcome != ProposeOutcome::kUnknown;
    if (!nothing_happened && current_ != nullptr) current_->handed_over = true;
    // Not at once: what is refused now is refused in a millisecond too.
    ++attempt_;
    cluster_.world.after(200'000, [this, expected = attempt_] {
      if (attempt_ == expected) this->attempt();
    });
    return;
  }
  const auto decoded = decode_proposal_answer(answer.bytes);
  if (!decoded.ok() || answer.bytes.empty())
    return cluster_.fail("client " + std::to_string(number_) + " was answered before its entry was applied");
  const bool of_another_life = decoded->refusal && (decoded->refusal->code == RefusalCode::kMemberUnknown ||
                                                    decoded->refusal->code == RefusalCode::kMemberSuperseded);
  if (of_another_life) {
    cluster_.world.reach("answer from a superseded member");
    return this->attempt();
  }
  ++attempt_;
  ++answered_;
  if (current_ == nullptr) {
    session_ = decoded->session;
    last_number_ = 0;
    return think();
  }
  current_->position = answer.position;
  current_->index = answer.index;
  current_->answer = answer.bytes;
  current_->operation.revision = decoded->transaction ? decoded->transaction->revision.value() : 0;
  const bool done = decoded->transaction && decoded->transaction->refusals.empty();
  finish(done ? Outcome::kDone : Outcome::kRefused);
}

void Client::finish(Outcome outcome) {
  current_->operation.outcome = outcome;
  if (outcome != Outcome::kUnknown) current_->operation.return_us = cluster_.world.monotonic_us();
  cluster_.world.trace("client " + std::to_string(number_) + " " + to_json_line(current_->operation));
  current_ = nullptr;
  ++attempt_;
  think();
}

void Client::read(bool stale) {
  asked_.push_back(std::make_unique<Asked>());
  current_ = asked_.back().get();
  const auto key = static_cast<uint32_t>(pick(1, kRegisters));
  current_->operation.client = number_;
  current_->operation.call_us = cluster_.world.monotonic_us();
  current_->operation.actions = {{ActionKind::kRead, key, 0}};
  current_->stale = stale;
  const uint64_t attempt = ++attempt_;
  Member& member = pick_member();
  cluster_.world.after(kAttemptUs, [this, attempt] {
    if (attempt_ == attempt) finish(Outcome::kNotDone);
  });
  if (!member.running()) return finish(Outcome::kNotDone);
  member.node().after(pick(100, 3'000), [this, &member, attempt, key, stale] {
    member.read(NexthopId(key), stale, [this, attempt, key](const Member::Row& row) {
      cluster_.world.after(1'000, [this, attempt, key, row] {
        if (attempt_ != attempt) return;
        if (!row.ok) return finish(Outcome::kNotDone);
        current_->position = row.position;
        current_->row = row.value;
        current_->operation.actions[0].value = value_of_row(NexthopId(key), row.value);
        ++answered_;
        finish(Outcome::kDone);
      });
    });
  });
}

}  // namespace waypost::sim
