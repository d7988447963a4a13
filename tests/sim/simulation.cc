#include "tests/sim/simulation.h"

#include "store/verify.h"
#include "tests/sim/client.h"
#include "tests/sim/verify_run.h"

namespace waypost::sim {
namespace {

constexpr uint64_t kSecondUs = 1'000'000;
constexpr uint64_t kHealOneUs = 30 * kSecondUs;
constexpr uint64_t kHealAllUs = 60 * kSecondUs;

class Simulation {
 public:
  Simulation(uint64_t seed, const std::set<std::string>& without)
      : without_(without),
        world_(seed),
        server_(world_),
        cluster_{world_, server_, {.high = seed, .low = 1}} {
    const size_t members = pick(1, 4);
    for (size_t i = 0; i < members; ++i)
      cluster_.members.push_back(std::make_unique<Member>(cluster_, "n" + std::to_string(i + 1)));
    for (uint32_t i = 0; i < 5; ++i) clients_.push_back(std::make_unique<Client>(cluster_, i + 1));
  }

  SeedResult run();

 private:
  uint64_t pick(uint64_t low, uint64_t high) { return world_.pick(Concern::kFaults, low, high); }
  // Swarm: half of the seeds have a fault, each with a strength of its own.
  double strength(const char* name, uint64_t most_percent, double chance = 0.5);
  bool on(const char* name, double chance = 0.5) { return strength(name, 100, chance) > 0; }
  void choose_faults();
  void safety_phase();
  void disturb();
  void disturb_log();
  void disturb_all();
  Member& any_member() { return *cluster_.members[pick(0, cluster_.members.size() - 1)]; }
  void calm(Member& member);
  void heal_one();
  void heal_all();
  void cold_restart();
  void remove_member();
  bool all_caught_up() const;
  std::string state_of(const Member& member) const;
  bool may_lose(const Member& member) const;
  std::string states() const;
  void verify_rewound();

  std::set<std::string> without_;
  SimWorld world_;
  SimLogServer server_;
  Cluster cluster_;
  std::vector<std::unique_ptr<Client>> clients_;
  SeedResult result_;

  bool crashes_ = false, power_ = false, pauses_ = false, cuts_ = false, one_way_ = false, slow_ = false;
  bool clock_jumps_ = false, wipes_ = false, removals_ = false, outages_ = false, full_ = false,
       all_at_once_ = false, rolling_ = false, rewinds_ = false;
  SimLogServer::Backup backup_;
};

double Simulation::strength(const char* name, uint64_t most_percent, double chance) {
  const bool chosen = world_.chance(Concern::kFaults, chance);
  const double percent = static_cast<double>(pick(1, most_percent)) / 100.0;
  if (!chosen || without_.contains(name)) return 0;
  result_.faults.emplace_back(name);
  return percent;
}

void Simulation::choose_faults() {
  SimLogFaults log;
  log.request_lost = strength("log-request-lost", 25);
  log.reply_lost = strength("log-reply-lost", 25);
  log.late = strength("log-late", 20);
  log.refused = strength("log-refused", 25);
  log.read_fails = strength("log-read-fails", 25);
  log.read_repeats = strength("log-read-repeats", 30);
  log.read_single = strength("log-read-single", 50);
  log.tail_fails = strength("log-tail-fails", 25);
  log.max_delay_us += static_cast<uint64_t>(strength("log-slow", 100) * 100'000);
  for (const auto& member : cluster_.members) member->faults() = log;
  ClientFaults client;
  client.request_lost = strength("client-request-lost", 20);
  client.reply_lost = strength("client-reply-lost", 20);
  client.duplicated = strength("client-duplicates", 30);
  client.gives_up = strength("client-gives-up", 40);
  client.misnumbers = strength("client-misnumbers", 10);
  client.sleeps = strength("client-sleeps", 3);
  for (const auto& each : clients_) each->faults = client;
  crashes_ = on("crash");
  power_ = on("power-loss");
  pauses_ = on("pause");
  cuts_ = on("cut");
  one_way_ = on("one-way-cut");
  slow_ = on("slow-apply");
  clock_jumps_ = on("clock-jump");
  cluster_.trim = on("trim", 0.7);
  cluster_.over_cap = cluster_.trim && on("trim-over-cap");
  wipes_ = cluster_.members.size() > 2 && on("wipe");
  removals_ = cluster_.members.size() > 2 && on("remove-member");
  outages_ = on("log-outage", 0.3);
  full_ = on("log-full", 0.2);
  all_at_once_ = on("crash-all", 0.3);
  rolling_ = on("rolling-restart", 0.2);
  rewinds_ = on("rewound-log", 0.08);
}

void Simulation::calm(Member& member) {
  member.faults() = {};
  member.apply_faults();
  member.set_apply_us(200);
  if (!member.running()) member.start();
  member.log()->set_cut(false);
  member.log()->set_replies_cut(false);
  member.node().resume();
}

// One thing happens to one member, or what had happened to it ends.
void Simulation::disturb() {
  Member& member = any_member();
  switch (pick(0, 13)) {
    case 0:
      if (crashes_) member.crash(false);
      return;
    case 1:
      if (power_) member.crash(true);
      return;
    case 2:
      if (pauses_) member.node().pause();
      return;
    case 3:
      if (cuts_ && member.running()) member.log()->set_cut(true);
      return;
    case 4:
      if (one_way_ && member.running()) member.log()->set_replies_cut(true);
      return;
    case 5:
      if (slow_) member.set_apply_us(pick(0, 60'000));
      return;
    case 6:
      if (clock_jumps_) member.node().shift_wall_us(pick(0, 1) * 7'200 * kSecondUs - 3'600 * kSecondUs);
      return;
    case 7:
      return disturb_log();
    case 8:
      return disturb_all();
    default:
      if (!member.running()) return member.start();
      member.node().resume();
      member.log()->set_cut(false);
      member.log()->set_replies_cut(false);
  }
}

void Simulation::disturb_log() {
  switch (pick(0, 3)) {
    case 0:
      if (!outages_) return;
      world_.reach("log outage");
      for (const auto& member : cluster_.members)
        if (member->running()) member->log()->set_cut(true);
      return world_.run_for(pick(0, 4 * kSecondUs));
    case 1:
      if (!full_) return;
      world_.reach("log full");
      server_.set_full(true);
      world_.run_for(pick(0, 2 * kSecondUs));
      return server_.set_full(false);
    case 2:
      if (rewinds_ && !cluster_.forked) backup_ = server_.backup();
      return;
    default:
      if (!rewinds_ || cluster_.forked) return;
      // An old backup, or one that lacks the last entry alone: then both lines soon end at the same position.
      if (pick(0, 1) == 0) backup_ = server_.one_back();
      if (backup_.head == Position() || backup_.head == server_.tail().position) return;
      world_.reach("log rewound");
      cluster_.forked = true;
      server_.restore(backup_);
  }
}

void Simulation::disturb_all() {
  if (all_at_once_ && pick(0, 1) == 0) {
    world_.reach("all crash at once");
    for (const auto& member : cluster_.members) member->crash(power_);
    world_.run_for(pick(0, kSecondUs));
    for (const auto& member : cluster_.members) member->start();
  } else if (rolling_ && pick(0, 1) == 0) {
    for (const auto& member : cluster_.members) {
      member->crash(false);
      world_.run_for(pick(0, kSecondUs));
      if (!member->running()) member->start();
    }
  } else if (wipes_ && pick(0, 3) == 0) {
    Member& member = any_member();
    for (const auto& other : cluster_.members)
      if (other.get() != &member && !other->running()) return;
    if (!may_lose(member)) return;
    world_.reach("disk wiped");
    member.crash(true);
    member.wipe();
    member.start();
    world_.run_until([&] { return member.caught_up(); }, 5 * kSecondUs);
  } else if (removals_ && pick(0, 3) == 0) {
    remove_member();
  }
}

// The rule of two durable copies: somebody else holds a state that the log still continues, or what was
// trimmed would be nowhere.
bool Simulation::may_lose(const Member& member) const {
  for (const auto& other : cluster_.members) {
    const bool holds = other->running() && !(other->durable().next() < server_.first());
    if (other.get() != &member && holds) return true;
  }
  return false;
}

void Simulation::remove_member() {
  Member& gone = any_member();
  Member& asked = any_member();
  if (&gone == &asked || !asked.serving()) return;
  asked.propose(
      {.author = "admin", .member = {}, .incarnation = 0, .body = RemoveMember{.name = gone.name()}},
      [](const Member::Answer&) {});
  world_.run_for(pick(0, kSecondUs));
  world_.reach("member removed");
  if (!may_lose(gone)) return;
  gone.crash(true);
  gone.wipe();
  gone.start();
}

void Simulation::safety_phase() {
  for (const auto& member : cluster_.members) member->start();
  world_.run_until([this] { return cluster_.members[0]->serving(); }, 5 * kSecondUs);
  for (const auto& client : clients_) client->start();
  const uint64_t end_us = world_.monotonic_us() + pick(10, 25) * kSecondUs;
  while (world_.monotonic_us() < end_us && cluster_.wrong.empty()) {
    world_.run_for(pick(0, 400'000));
    disturb();
  }
}

std::string Simulation::state_of(const Member& member) const {
  const replication::ReplicaStatus status = member.replica().status();
  return member.name() + (member.serving() ? " serves" : " does not serve") + ", applied " +
         std::to_string(status.applied.value()) + ", the log has " + std::to_string(server_.first().value()) +
         " to " + std::to_string(server_.tail().position.value()) + ", waiting " +
         std::to_string(status.proposals_waiting) + ", halted: '" + status.halted + "'" +
         (status.reachable ? "" : ", log unreachable");
}

std::string Simulation::states() const {
  std::string words;
  for (const auto& member : cluster_.members) words += "\n  " + state_of(*member);
  return words;
}

// The log and one member whose state the log still continues are enough to serve.
void Simulation::heal_one() {
  Member& member = any_member();
  for (const auto& other : cluster_.members)
    if (other.get() != &member) other->crash(false);
  calm(member);
  for (const auto& client : clients_) client->faults = {};
  const auto answered = [&] {
    uint64_t sum = 0;
    for (const auto& client : clients_) sum += client->answered();
    return sum;
  };
  const uint64_t before = answered();
  // Where the log is trimmed past it, only a peer could help.
  if (!world_.run_until([&] { return answered() > before + 10; }, kHealOneUs) &&
      !member.replica().status().trimmed_past)
    cluster_.fail("one healed member with a healed log does not serve within 30 s: " + state_of(member));
}

bool Simulation::all_caught_up() const {
  for (const auto& member : cluster_.members)
    if (!member->caught_up() || !member->serving()) return false;
  return true;
}

void Simulation::heal_all() {
  for (const auto& member : cluster_.members) calm(*member);
  for (const auto& client : clients_) client->stop();
  const auto quiet = [this] {
    for (const auto& client : clients_)
      if (!client->stopped()) return false;
    return true;
  };
  if (!world_.run_until([&] { return quiet() && all_caught_up(); }, kHealAllUs))
    cluster_.fail("healed members do not converge within 60 s" + states());
  // Appends that were late may still land.
  world_.run_for(5 * kSecondUs);
  if (!world_.run_until([&] { return all_caught_up(); }, kHealAllUs))
    cluster_.fail("members do not converge behind late appends" + states());
}

void Simulation::cold_restart() {
  for (const auto& member : cluster_.members) member->crash(true);
  for (const auto& member : cluster_.members) member->start();
  if (!world_.run_until([&] { return all_caught_up(); }, kHealAllUs))
    cluster_.fail("members do not converge after a cold restart" + states());
}

// After a restore from a backup what was acknowledged may be gone; what must hold is that nobody goes on upon
// a state that the log does not continue, and that everyone with such a state stands still.
void Simulation::verify_rewound() {
  for (const auto& client : clients_) client->stop();
  for (const auto& member : cluster_.members) calm(*member);
  world_.run_for(20 * kSecondUs);
  for (const auto& member : cluster_.members) {
    if (member->caught_up() || member->halted() || member->replica().status().trimmed_past) continue;
    const bool lags = server_.lineage().empty() || member->store().stamp().position < server_.first();
    if (!lags) cluster_.fail(member->name() + " neither follows the restored log nor says that it cannot");
  }
  if (server_.tail().halt_words.empty()) {
    for (const auto& member : cluster_.members)
      if (member->halted()) cluster_.fail(member->name() + " saw a rewound log and did not halt it");
  } else {
    world_.reach("rewound log halted");
  }
}

SeedResult Simulation::run() {
  choose_faults();
  safety_phase();
  if (cluster_.wrong.empty() && cluster_.forked) {
    verify_rewound();
  } else if (cluster_.wrong.empty()) {
    heal_one();
    heal_all();
    if (cluster_.wrong.empty()) cold_restart();
    if (cluster_.wrong.empty()) verify_run(cluster_, clients_);
  }
  result_.wrong = cluster_.wrong;
  result_.trace = world_.trace_hash();
  result_.reached = world_.reached();
  for (const auto& client : clients_) result_.operations += client->asked().size();
  result_.virtual_us = world_.monotonic_us();
  return result_;
}

}  // namespace

SeedResult run_seed(uint64_t seed, const std::set<std::string>& without) {
  return Simulation(seed, without).run();
}

const std::vector<std::string_view>& must_be_reached() {
  static const std::vector<std::string_view> names = {"lost race for a position",
                                                      "append lost on the way",
                                                      "unknown append happened",
                                                      "late append happened",
                                                      "late append did not happen",
                                                      "append refused",
                                                      "read failed",
                                                      "read repeated entries",
                                                      "trimmed under a reader",
                                                      "snapshot installed",
                                                      "snapshot resumed",
                                                      "snapshot cut off",
                                                      "unsynced writes lost",
                                                      "digests compared",
                                                      "request repeated",
                                                      "answered from the ledger",
                                                      "reply to a client lost",
                                                      "answer from a superseded member",
                                                      "misnumbered request",
                                                      "disk wiped",
                                                      "member removed",
                                                      "log outage",
                                                      "log full",
                                                      "all crash at once",
                                                      "log rewound",
                                                      "rewound log halted",
                                                      "unknown write happened",
                                                      "unknown write did not happen"};
  return names;
}

}  // namespace waypost::sim
