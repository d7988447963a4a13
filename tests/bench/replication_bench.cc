// usage: replication_bench ENDPOINTS DIRECTORY: one member's path from proposal to answer on a running etcd,
// beside bare puts of the same bytes to the same servers, interleaved, medians of ROUNDS (default 3). Run by
// replication.sh.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <sstream>
#include <vector>

#include "model/transaction.h"
#include "replication/etcd/client.h"
#include "replication/etcd/etcd.pb.h"
#include "replication/etcd/etcd_log.h"
#include "replication/replica.h"
#include "store/store.h"
#include "tests/replication/serial_thread.h"

namespace waypost::replication {
namespace {

constexpr uint64_t kBulkRoutes = 200'000;
constexpr uint64_t kBulkCommands = 1'024;
constexpr size_t kBulkInFlight = 8;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[noreturn]] void die(const std::string& words) {
  std::fprintf(stderr, "error: %s\n", words.c_str());
  std::_Exit(1);
}

struct Figures {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double appends_per_second = 0;
  double bytes_per_second = 0;
};

// Keeps `in_flight` operations going until `count` are answered. `one(slot, done)` starts one, on the order
// thread.
using One = std::function<void(size_t slot, std::function<void()> done)>;

class Load {
 public:
  Load(SerialThread& order, size_t in_flight, size_t count, One one)
      : order_(order), in_flight_(in_flight), count_(count), one_(std::move(one)) {}

  Figures run() {
    const auto start = std::chrono::steady_clock::now();
    order_.call([this] {
      for (size_t slot = 0; slot < in_flight_; ++slot) next(slot);
    });
    finished_.get_future().wait();
    const double seconds = seconds_since(start);
    std::sort(latencies_.begin(), latencies_.end());
    Figures figures;
    figures.per_second = static_cast<double>(count_) / seconds;
    figures.p50_ms = latencies_[latencies_.size() / 2];
    figures.p99_ms = latencies_[latencies_.size() * 99 / 100];
    return figures;
  }

 private:
  void next(size_t slot) {
    if (started_ == count_) return;
    ++started_;
    one_(slot, [this, slot, start = std::chrono::steady_clock::now()] {
      latencies_.push_back(seconds_since(start) * 1e3);
      if (latencies_.size() == count_) return finished_.set_value();
      next(slot);
    });
  }

  SerialThread& order_;
  const size_t in_flight_;
  const size_t count_;
  const One one_;
  size_t started_ = 0;
  std::vector<double> latencies_;
  std::promise<void> finished_;
};

// A member as a node builds it: the store on a writer thread, the replica on the order thread.
class BenchMember {
 public:
  BenchMember(const EtcdOptions& options, const std::string& directory) {
    auto opened = store::Store::open({.directory = directory, .create = true});
    if (!opened.ok()) die(opened.error().message);
    store_ = std::move(*opened);
    auto log = EtcdLog::open(options, order.executor());
    if (!log.ok()) die(log.error().message);
    log_ = std::move(*log);
    std::promise<Status> made;
    order.call([&] {
      log_->create_genesis({Hash128{7, 7}, Position(), {}}, [&](const Status& s) { made.set_value(s); });
    });
    if (const Status status = made.get_future().get(); !status.ok()) die(status.error().message);
    order.call([this] {
      ReplicaOptions replica;
      replica.name = "bench";
      replica.incarnation = 1;
      replica.propose_timeout_ms = 60'000;
      replica_ = std::make_unique<Replica>(replica, *log_, order,
                                           [this](std::vector<AppliedEntry> entries, ApplyCallback done) {
                                             apply(std::move(entries), std::move(done));
                                           });
      replica_->start();
    });
  }
  ~BenchMember() {
    order.call([this] {
      replica_->stop();
      replica_.reset();
      log_.reset();
    });
    writer_.join();
    order.join();
  }

  void propose(std::string payload, std::function<void(ProposalAnswer)> done) {
    replica_->propose(std::move(payload), [done = std::move(done)](const ProposeResult& result) {
      if (result.outcome != ProposeOutcome::kApplied) die("a proposal was not applied: " + result.words);
      auto answer = decode_proposal_answer(result.answer);
      if (!answer.ok() || answer->refusal) die("a proposal was refused");
      done(std::move(*answer));
    });
  }
  ReplicaStatus status() {
    ReplicaStatus status;
    order.call([&] { status = replica_->status(); });
    return status;
  }
  uint64_t routes() const { return store_->counts().routes; }

  SerialThread order;

 private:
  void apply(std::vector<AppliedEntry> entries, ApplyCallback done) {
    writer_.executor()([this, entries = std::move(entries), done = std::move(done)] {
      std::vector<std::vector<std::string>> answers;
      for (const AppliedEntry& entry : entries) {
        const std::vector<std::string_view> views(entry.proposals.begin(), entry.proposals.end());
        answers.push_back(store_->apply(
            {.position = entry.position, .time_us = entry.time_us, .chain = entry.hash, .proposals = views}));
      }
      order.executor()([done, answers = std::move(answers)] { done(answers); });
    });
  }

  SerialThread writer_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<EtcdLog> log_;
  std::unique_ptr<Replica> replica_;
};

// A client session a slot, and transactions of new routes.
class Sessions {
 public:
  Sessions(BenchMember& member, size_t count) : member_(member), numbers_(count) {
    Load(member.order, std::min<size_t>(count, 64), count, [this](size_t, std::function<void()> done) {
      member_.propose(
          encode(Proposal{.author = "bench", .member = {}, .incarnation = 0, .body = OpenSession{}}),
          [this, done](const ProposalAnswer& answer) {
            ids_.push_back(*answer.session);
            done();
          });
    }).run();
  }

  // Of the last proposal.
  size_t last_bytes() const { return bytes_; }

  std::string next(size_t slot, uint64_t routes) {
    SessionTransaction request{.session = ids_[slot], .number = ++numbers_[slot], .transaction = {}};
    if (numbers_[slot] == 1 && slot == 0 && next_route_ == 0) {
      Nexthop via;
      via.gateway = parse_address("10.9.0.254").value();
      via.device = "eth0";
      request.transaction.commands.push_back(
          PutNexthop{.verb = Verb::kReplace, .object = {.id = NexthopId(1), .protocol = 0, .body = via}});
    }
    for (uint64_t i = 0; i < routes; ++i) {
      const uint64_t n = next_route_++;
      Route route;
      route.key.prefix =
          parse_prefix(std::to_string(16 + (n >> 20)) + "." + std::to_string(n >> 12 & 255) + "." +
                       std::to_string(n >> 4 & 255) + "." + std::to_string((n & 15) << 4) + "/28")
              .value();
      route.nexthop = NexthopId(1);
      request.transaction.commands.push_back(PutRoute{.verb = Verb::kReplace, .route = route, .paths = {}});
    }
    std::string bytes =
        encode(Proposal{.author = "bench", .member = {}, .incarnation = 0, .body = std::move(request)});
    bytes_ = bytes.size();
    return bytes;
  }

 private:
  BenchMember& member_;
  std::vector<SessionId> ids_;
  std::vector<uint64_t> numbers_;
  size_t bytes_ = 0;
  static inline uint64_t next_route_ = 0;
};

Figures changes(BenchMember& member, Sessions& sessions, size_t in_flight, size_t count, uint64_t routes) {
  const ReplicaStatus before = member.status();
  const auto start = std::chrono::steady_clock::now();
  Figures figures = Load(member.order, in_flight, count, [&](size_t slot, std::function<void()> done) {
                      member.propose(sessions.next(slot, routes), [done](const ProposalAnswer& answer) {
                        if (!answer.transaction->refusals.empty()) die("a route was refused");
                        done();
                      });
                    }).run();
  const double seconds = seconds_since(start);
  const ReplicaStatus after = member.status();
  figures.appends_per_second = static_cast<double>(after.appends - before.appends) / seconds;
  figures.bytes_per_second = static_cast<double>(after.append_bytes - before.append_bytes) / seconds;
  return figures;
}

Figures bare_puts(const EtcdOptions& options, size_t in_flight, size_t count, size_t bytes) {
  SerialThread order;
  auto client = EtcdClient::create(options, order.executor());
  if (!client.ok()) die(client.error().message);
  uint64_t key = 0;
  Figures figures = Load(order, in_flight, count, [&](size_t, std::function<void()> done) {
                      etcd::PutRequest request;
                      request.set_key("bare/" + std::to_string(key++ % 10'000));
                      request.set_value(std::string(bytes, 'x'));
                      (*client)->call("/etcdserverpb.KV/Put", request.SerializeAsString(), 60'000,
                                      [done](const EtcdAnswer& answer) {
                                        if (!answer.status.ok()) die(answer.status.error().message);
                                        done();
                                      });
                    }).run();
  order.call([&] { client->reset(); });
  order.join();
  return figures;
}

Figures median(std::vector<Figures> rounds) {
  std::sort(rounds.begin(), rounds.end(),
            [](const Figures& a, const Figures& b) { return a.per_second < b.per_second; });
  return rounds[rounds.size() / 2];
}

void run(const EtcdOptions& options, const std::string& directory) {
  const char* text = std::getenv("ROUNDS");
  const int rounds = text == nullptr ? 3 : std::max(1, std::atoi(text));
  BenchMember member(options, directory + "/store");
  std::printf("%-22s %12s %9s %9s %12s %12s\n", "", "changes/s", "p50 ms", "p99 ms", "appends/s", "log MB/s");
  const auto say = [](const char* name, const Figures& f) {
    std::printf("%-22s %12.0f %9.2f %9.2f %12.0f %12.2f\n", name, f.per_second, f.p50_ms, f.p99_ms,
                f.appends_per_second, f.bytes_per_second / 1e6);
    std::fflush(stdout);
  };
  for (const size_t in_flight : {size_t{1}, size_t{64}, size_t{1'024}}) {
    Sessions sessions(member, in_flight);
    changes(member, sessions, 1, 1, 1);  // with the nexthop, the very first time
    changes(member, sessions, 1, 1, 1);
    const size_t bytes = sessions.last_bytes();
    std::vector<Figures> ours;
    std::vector<Figures> bare;
    const size_t count = in_flight == 1 ? 300 : in_flight * 40;
    const size_t puts = in_flight == 1 ? 300 : 6'000;
    for (int round = 0; round < rounds; ++round) {
      ours.push_back(changes(member, sessions, in_flight, count, 1));
      bare.push_back(bare_puts(options, in_flight, puts, bytes));
    }
    const Figures a = median(ours);
    const Figures b = median(bare);
    say((std::to_string(in_flight) + " in flight").c_str(), a);
    say(("  bare puts of " + std::to_string(bytes) + " B").c_str(), b);
    std::printf("  ratio: %.2f of the changes, %.2f of the latency; %.2f of %zu x appends/s\n",
                a.per_second / b.per_second, a.p50_ms / b.p50_ms,
                a.per_second / (static_cast<double>(in_flight) * a.appends_per_second), in_flight);
  }
  Sessions bulk(member, kBulkInFlight);
  Figures figures = changes(member, bulk, kBulkInFlight, kBulkRoutes / kBulkCommands, kBulkCommands);
  figures.per_second *= static_cast<double>(kBulkCommands);
  say("bulk, routes/s", figures);
  std::printf("%lu routes in the store\n", static_cast<unsigned long>(member.routes()));
}

}  // namespace
}  // namespace waypost::replication

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: replication_bench HOST:PORT,... DIRECTORY\n");
    return 1;
  }
  waypost::replication::EtcdOptions options;
  std::istringstream words(argv[1]);
  for (std::string endpoint; std::getline(words, endpoint, ',');) options.endpoints.push_back(endpoint);
  options.cluster = "bench";
  waypost::replication::run(options, argv[2]);
}
