#include "tests/store/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

#include "model/row_codec.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

// Commands over few ids, prefixes and gateways, so that most of them meet each other.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  uint64_t pick(uint64_t below) { return random_() % below; }

  Transaction transaction(const std::string& dumped) {
    Transaction transaction;
    transaction.on_refusal = static_cast<OnRefusal>(pick(3));
    const bool in_key_order = pick(4) == 0;  // as bulk work is, which is read ahead of
    const uint64_t count = 1 + pick(in_key_order ? 60 : 12);
    for (uint64_t i = 0; i < count; ++i) transaction.commands.push_back(command(dumped));
    if (in_key_order) {
      std::stable_sort(transaction.commands.begin(), transaction.commands.end(),
                       [](const Command& a, const Command& b) { return order_of(a) < order_of(b); });
    }
    return transaction;
  }

 private:
  // Nexthops by id, then routes by key.
  static std::pair<uint32_t, std::optional<RouteKey>> order_of(const Command& command) {
    if (const auto* put = std::get_if<PutNexthop>(&command)) return {put->object.id.value(), {}};
    if (const auto* drop = std::get_if<DeleteNexthop>(&command)) return {drop->id.value(), {}};
    if (const auto* guard = std::get_if<GuardedNexthop>(&command)) return {guard->id.value(), {}};
    if (const auto* put = std::get_if<PutRoute>(&command)) return {UINT32_MAX, put->route.key};
    if (const auto* guard = std::get_if<GuardedRoute>(&command)) return {UINT32_MAX, guard->key};
    return {UINT32_MAX, {}};
  }

  NexthopId id() {
    return NexthopId(static_cast<uint32_t>(pick(40) == 0 ? 0x8000'0000 + pick(5) : 1 + pick(12)));
  }

  Nexthop nexthop() {
    switch (pick(12)) {
      case 0:
        return blackhole(pick(2) == 0 ? Family::kIpv4 : Family::kIpv6);
      case 1:
        return on_device("e" + std::to_string(pick(2)), pick(2) == 0 ? Family::kIpv4 : Family::kIpv6);
      case 2:
        return fdb("10.0.0.1");
      case 3:
      case 4:
      case 5:
        return onlink(via("2001:db8::" + std::to_string(1 + pick(3)), "e0"));
      case 6:
        return via("10.0.0.1");  // without a device: refused
      default:
        return onlink(via("10.0.0." + std::to_string(1 + pick(4)), "e" + std::to_string(pick(2))));
    }
  }

  Nexthop onlink(Nexthop nexthop) {
    nexthop.onlink = pick(8) == 0;
    return nexthop;
  }

  NexthopGroup group() {
    NexthopGroup group;
    const uint64_t count = 1 + pick(3);
    for (uint64_t i = 0; i < count; ++i)
      group.members.push_back({.id = id(), .weight = static_cast<uint16_t>(1 + pick(3))});
    group.fdb = pick(10) == 0;
    return group;
  }

  std::vector<InlinePath> paths(bool ipv6) {
    std::vector<InlinePath> paths;
    const uint64_t count = 1 + pick(3);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string device = pick(3) == 0 ? "" : "e" + std::to_string(pick(2));
      Nexthop hop = pick(10) == 0 ? on_device("e0")
                    : ipv6        ? via("2001:db8::" + std::to_string(1 + pick(4)), device)
                                  : via("10.0.0." + std::to_string(1 + pick(4)), device);
      if (pick(12) == 0) hop.onlink = true;
      paths.push_back({.nexthop = hop, .weight = static_cast<uint16_t>(1 + pick(2))});
    }
    return paths;
  }

  Route route(bool ipv6) {
    const std::string prefix = ipv6 ? "2001:db8:" + std::to_string(1 + pick(6)) + "::/48"
                                    : "192.0." + std::to_string(pick(6)) + ".0/24";
    const uint32_t metric = pick(4) == 0 ? 10 : 0;
    Route route = route_over(prefix, 0, metric, pick(5) == 0 ? 100 : 254);
    if (pick(10) == 0) route.type = RouteType::kUnreachable;
    if (!ipv6 && pick(5) == 0) route.scope = pick(2) == 0 ? kScopeLink : kScopeHost;
    if (pick(6) == 0) route.protocol = 4;
    return route;
  }

  PutRoute put_route() {
    const bool ipv6 = pick(3) == 0;
    PutRoute put{.verb = static_cast<Verb>(1 + pick(5)), .route = route(ipv6), .paths = {}};
    if (put.route.type == RouteType::kUnicast && pick(2) == 0)
      put.paths = paths(ipv6);
    else if (put.route.type == RouteType::kUnicast || pick(3) == 0)
      put.route.nexthop = id();
    return put;
  }

  // The guard of a row that is there, from the dump, or a wrong one.
  Command guarded(const std::string& dumped) {
    const RouteKey key = route(pick(3) == 0).key;
    std::string bytes;
    append_route_key(bytes, key);
    GuardedRoute command{.key = key, .expected = guard_in(dumped, "route ", bytes), .value = {}, .paths = {}};
    if (pick(4) == 0) command.expected ^= 1;
    if (pick(2) == 0) {
      const bool ipv6 = key.prefix.family() == Family::kIpv6;
      command.value = route(ipv6);
      command.value->type = RouteType::kUnicast;
      command.paths = paths(ipv6);
    }
    return command;
  }

  static uint64_t guard_in(const std::string& dumped, const std::string& table, const std::string& key) {
    std::string wanted = table;
    for (unsigned char byte : key) {
      char pair[3];
      std::snprintf(pair, sizeof(pair), "%02x", byte);
      wanted += pair;
    }
    const size_t at = dumped.find(wanted + " ");
    if (at == std::string::npos) return 0;
    const size_t start = at + wanted.size() + 1;
    std::string value;
    for (size_t i = start; dumped[i] != '\n'; i += 2)
      value.push_back(static_cast<char>(std::stoi(dumped.substr(i, 2), nullptr, 16)));
    return row_guard(value);
  }

  Command command(const std::string& dumped) {
    const auto verb = static_cast<Verb>(1 + pick(3));
    switch (pick(12)) {
      case 0:
      case 1:
        return put(id().value(), nexthop(), verb, static_cast<uint8_t>(pick(2)));
      case 2:
        return put(0, nexthop());
      case 3:
        return put_group(id().value(), group(), verb);
      case 4:
        return drop(id().value(), pick(3) == 0);
      case 5: {
        std::string key;
        const NexthopId of = id();
        append_nexthop_key(key, of);
        GuardedNexthop guard{.id = of, .expected = guard_in(dumped, "nexthop ", key), .value = {}};
        if (pick(2) == 0) guard.value = NexthopObject{.id = {}, .protocol = 1, .body = nexthop()};
        return guard;
      }
      case 6:
        return guarded(dumped);
      case 7:
      case 8: {
        const Route of = route(pick(3) == 0);
        DeleteRoute command;
        command.table = of.key.table;
        command.prefix = of.key.prefix;
        if (pick(3) == 0) command.metric = of.key.metric;
        if (pick(4) == 0) command.protocol = of.protocol;
        if (pick(6) == 0) command.nexthop = id();
        if (pick(4) == 0) command.paths = paths(of.key.prefix.family() == Family::kIpv6);
        return command;
      }
      default:
        return put_route();
    }
  }

  std::mt19937_64 random_;
};

uint64_t first_seed() {
  const char* text = std::getenv("WAYPOST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

int seed_count() {
  const char* text = std::getenv("WAYPOST_SEEDS");
  return text == nullptr ? 12 : std::atoi(text);
}

std::string in_words(const TransactionAnswer& answer) {
  std::string text = "revision " + std::to_string(answer.revision.value()) + " applied " +
                     std::to_string(answer.applied) + " skipped " + std::to_string(answer.skipped) + "\n";
  for (const CommandRefusal& refusal : answer.refusals)
    text += std::to_string(refusal.index) + ": " + describe(refusal.refusal).message + " (" +
            describe(refusal.refusal).hint + ")\n";
  for (const auto& [index, id] : answer.assigned_ids)
    text += std::to_string(index) + ": id " + std::to_string(id.value()) + "\n";
  return text;
}

// Random transactions, some of several a piece in one entry, on the oracle, on a store, and on a second store
// with tiny buffers that is opened anew now and then: the same answers, rows and digests everywhere. A seed
// that fails is printed first: WAYPOST_SEED=N WAYPOST_SEEDS=1 repeats it.
TEST(Oracle, RandomTransactionsAgree) {
  for (uint64_t seed = first_seed(); seed < first_seed() + static_cast<uint64_t>(seed_count()); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generator(seed);
    Oracle oracle;
    TestStore store;
    StoreOptions small;
    small.write_buffer_bytes = 64u << 10;
    TestStore other(small);
    std::string dumped;
    uint64_t refused = 0;
    for (int round = 0; round < 80; ++round) {
      std::vector<Proposal> proposals;
      std::vector<Transaction> transactions;
      for (uint64_t i = 0; i < 1 + generator.pick(3); ++i) {
        transactions.push_back(generator.transaction(dumped));
        proposals.push_back(store.next_proposal(transactions.back()));
      }
      other.time_us = store.time_us;
      if (round == 0) open_session(other);
      const auto answers = store.propose_together(proposals);
      const auto others = other.propose_together(proposals);
      for (size_t i = 0; i < answers.size(); ++i) {
        const TransactionAnswer expected = oracle.run(transactions[i]);
        ASSERT_TRUE(answers[i].transaction.has_value());
        ASSERT_EQ(in_words(*answers[i].transaction), in_words(expected)) << "round " << round;
        ASSERT_EQ(encode(answers[i]), encode(others[i]));
        refused += expected.refusals.size();
      }
      dumped = dump(*store);
      ASSERT_EQ(dumped, oracle.dump()) << "round " << round;
      ASSERT_EQ(store->stamp().data_digest, oracle.data_digest());
      ASSERT_EQ(store->stamp().data_digest, other->stamp().data_digest);
      ASSERT_EQ(store->stamp().control_digest, other->stamp().control_digest);
      if (generator.pick(20) == 0) {
        const Status status = store->verify();
        ASSERT_TRUE(status.ok()) << status.error().message;
        other.reopen();  // what was in the write-ahead log is in sorted files now
      }
    }
    for (TestStore* each : {&store, &other}) {
      const Status status = (*each)->verify();
      ASSERT_TRUE(status.ok()) << status.error().message;
    }
    EXPECT_GT(refused, 50u) << "the generator should meet the rules";
  }
}

}  // namespace
}  // namespace waypost::store
