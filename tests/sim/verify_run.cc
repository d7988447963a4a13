#include "tests/sim/verify_run.h"

#include <algorithm>

#include "store/verify.h"
#include "tests/sim/linearizability.h"
#include "tests/sim/log_replay.h"

namespace waypost::sim {
namespace {

std::string in_words(const Asked& asked) {
  return to_json_line(asked.operation) + " (number " + std::to_string(asked.number) + ", answered at " +
         std::to_string(asked.position.value()) + "." + std::to_string(asked.index) + ")";
}

// A write against the log: the answer is the one of its first execution; what is not done is not there.
void check_write(Cluster& cluster, const LogReplay& replay, Asked& asked) {
  const auto executed = replay.executed(*asked.session, asked.number);
  const Operation& operation = asked.operation;
  if (operation.outcome == Outcome::kNotDone) {
    if (replay.in_log(*asked.session, asked.number))
      cluster.fail("happened, though its client was told that nothing did: " + in_words(asked));
    return;
  }
  if (operation.outcome == Outcome::kUnknown) {
    cluster.world.reach(executed ? "unknown write happened" : "unknown write did not happen");
    return;
  }
  if (!executed) return cluster.fail("acknowledged, and nowhere in the log: " + in_words(asked));
  const Place answered{asked.position.value(), asked.index};
  const ProposalAnswer* expected = replay.answer_at(answered);
  if (expected == nullptr)
    return cluster.fail("answered at a place that the log has not: " + in_words(asked));
  if (encode(*expected) != asked.answer)
    cluster.fail("answered otherwise than the log says: " + in_words(asked));
  if (answered < *executed) cluster.fail("answered before it was executed: " + in_words(asked));
  if (answered != *executed) cluster.world.reach("answered from the ledger");
}

void check_read(Cluster& cluster, const LogReplay& replay, const Asked& asked) {
  if (asked.operation.outcome != Outcome::kDone) return;
  const NexthopId id(asked.operation.actions[0].key);
  if (replay.nexthop_at(id, asked.position.value()) != asked.row)
    cluster.fail("read what the state never was: " + in_words(asked));
}

// Tier 1: the log's order must agree with the clock. Whoever calls after another's return is behind it.
void check_real_time(Cluster& cluster, const LogReplay& replay, const std::vector<const Asked*>& all) {
  struct Point {
    const Asked* asked;
    Place place;
  };
  std::vector<Point> points;
  for (const Asked* asked : all) {
    const Operation& operation = asked->operation;
    if (asked->stale || operation.outcome == Outcome::kNotDone) continue;
    if (asked->session) {
      if (const auto place = replay.executed(*asked->session, asked->number))
        points.push_back({asked, *place});
    } else if (operation.outcome == Outcome::kDone) {
      points.push_back({asked, {asked->position.value(), UINT32_MAX}});
    }
  }
  std::vector<Point> by_return = points;
  const auto returns = [](const Point& a, const Point& b) {
    return a.asked->operation.return_us < b.asked->operation.return_us;
  };
  const auto calls = [](const Point& a, const Point& b) {
    return a.asked->operation.call_us < b.asked->operation.call_us;
  };
  std::stable_sort(by_return.begin(), by_return.end(), returns);
  std::stable_sort(points.begin(), points.end(), calls);
  size_t returned = 0;
  Point highest{nullptr, {0, 0}};
  for (const Point& point : points) {
    while (returned < by_return.size() &&
           by_return[returned].asked->operation.return_us < point.asked->operation.call_us) {
      if (by_return[returned].place > highest.place) highest = by_return[returned];
      ++returned;
    }
    const bool write = point.asked->session.has_value();
    if (write ? point.place > highest.place : point.place.first >= highest.place.first) continue;
    cluster.fail("older than what had returned before it was asked: " + in_words(*point.asked) + " behind " +
                 in_words(*highest.asked));
    return;
  }
}

// Tier 2, which knows no positions: unknown writes that the log has not are left out, and those that it has
// keep their open end.
void check_order(Cluster& cluster, const LogReplay& replay, const std::vector<const Asked*>& all) {
  std::vector<Operation> operations;
  for (const Asked* asked : all) {
    const bool never = asked->operation.outcome == Outcome::kUnknown && asked->session &&
                       !replay.executed(*asked->session, asked->number);
    if (asked->stale || never) continue;
    operations.push_back(asked->operation);
  }
  const Verdict verdict = check_linearizable(operations, 200'000);
  if (verdict.of == Verdict::Of::kViolation) cluster.fail("not linearizable: " + verdict.words);
  for (uint64_t i = 0; i < verdict.windows; ++i) cluster.world.reach("windows searched for an order");
  for (uint64_t i = 0; i < verdict.undecided; ++i) cluster.world.reach("windows undecided");
}

}  // namespace

void verify_run(Cluster& cluster, const std::vector<std::unique_ptr<Client>>& clients) {
  const LogReplay replay(cluster.server.history());
  if (!replay.wrong().empty()) return cluster.fail(replay.wrong());
  std::vector<const Asked*> all;
  for (const auto& client : clients) {
    for (const auto& asked : client->asked()) {
      if (asked->session) {
        check_write(cluster, replay, *asked);
      } else {
        check_read(cluster, replay, *asked);
      }
      all.push_back(asked.get());
    }
  }
  check_real_time(cluster, replay, all);
  check_order(cluster, replay, all);
  for (const auto& member : cluster.members) {
    if (member->store().stamp().data_digest != replay.data_digest())
      cluster.fail(member->name() + " holds other data than the log says");
    if (const Status status = store::verify_tables(member->store().tables()); !status.ok())
      cluster.fail(member->name() + ": " + status.error().message);
  }
}

}  // namespace waypost::sim
