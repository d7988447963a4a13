#include "tests/store/harness.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "model/row_codec.h"

namespace waypost::store {

namespace {

// With the pid namespace, since a process number says nothing about processes of another one.
std::string directory_prefix() {
  std::error_code error;
  std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  std::erase_if(space, [](char c) { return c < '0' || c > '9'; });
  return "waypost-store-" + space + "-";
}

// Memory where there is some: tests make hundreds of stores, and none of them is about the disk.
std::string where_stores_go() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path().string();
}

// Processes that a test kills, or that end by a failed write, leave their directories; each names its
// process.
class Sweeper : public testing::Environment {
 public:
  void TearDown() override {
    std::vector<std::string> left;
    const std::string prefix = directory_prefix();
    for (const auto& each : std::filesystem::directory_iterator(where_stores_go())) {
      const std::string name = each.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      const int process = std::atoi(name.c_str() + prefix.size());
      if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) left.push_back(each.path().string());
    }
    std::error_code error;
    for (const std::string& path : left) std::filesystem::remove_all(path, error);
  }
};

const testing::Environment* const sweeper = testing::AddGlobalTestEnvironment(new Sweeper);

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = where_stores_go() + "/" + directory_prefix() + std::to_string(::getpid()) + "-XXXXXX";
  path_ = ::mkdtemp(pattern.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

TestStore::TestStore(StoreOptions options) : options_(std::move(options)) {
  if (options_.directory.empty()) options_.directory = temporary_.path() + "/data";
  options_.create = true;
  if (options_.cluster == Hash128{}) options_.cluster = {.high = 1, .low = 2};
  if (options_.history == Hash128{}) options_.history = {.high = 3, .low = 4};
  reopen();
}

void TestStore::reopen() {
  store_.reset();
  auto opened = Store::open(options_);
  if (!opened.ok()) {
    ADD_FAILURE() << opened.error().message;
    std::abort();
  }
  store_ = std::move(opened).value();
}

std::vector<ProposalAnswer> TestStore::propose_together(const std::vector<Proposal>& proposals) {
  std::vector<std::string> bytes;
  for (const Proposal& proposal : proposals) bytes.push_back(encode(proposal));
  const std::vector<std::string_view> views(bytes.begin(), bytes.end());
  const Position position = store_->stamp().position.next();
  const auto answers = store_->apply({.position = position,
                                      .time_us = ++time_us,
                                      .chain = {.high = position.value(), .low = 7},
                                      .proposals = views});
  std::vector<ProposalAnswer> decoded;
  for (const std::string& answer : answers) {
    auto each = decode_proposal_answer(answer);
    EXPECT_TRUE(each.ok()) << each.error().message;
    decoded.push_back(std::move(each).value());
  }
  EXPECT_EQ(decoded.size(), proposals.size());
  return decoded;
}

ProposalAnswer TestStore::propose(const Proposal& proposal) {
  return propose_together({proposal}).front();
}

SessionId open_session(TestStore& store) {
  const ProposalAnswer answer = store.propose(
      {.author = "test", .member = {}, .incarnation = 0, .body = OpenSession{.random = {1, 2, 3}}});
  EXPECT_TRUE(answer.session.has_value());
  return *answer.session;
}

Proposal TestStore::next_proposal(Transaction transaction) {
  if (session_ == SessionId{}) session_ = open_session(*this);
  return {.author = "test",
          .member = {},
          .incarnation = 0,
          .body = SessionTransaction{
              .session = session_, .number = ++number_, .transaction = std::move(transaction)}};
}

TransactionAnswer TestStore::run(std::vector<Command> commands, OnRefusal on_refusal) {
  const ProposalAnswer answer =
      propose(next_proposal({.on_refusal = on_refusal, .chained = false, .commands = std::move(commands)}));
  if (answer.refusal || !answer.transaction) {
    ADD_FAILURE() << (answer.refusal ? describe(*answer.refusal).message : "no answer");
    return {};
  }
  return *answer.transaction;
}

std::string TestStore::say(Command command) {
  std::vector<Command> commands;
  commands.push_back(std::move(command));
  const TransactionAnswer answer = run(std::move(commands));
  return answer.refusals.empty() ? "ok" : describe(answer.refusals.front().refusal).message;
}

Nexthop via(const std::string& gateway, const std::string& device) {
  Nexthop nexthop;
  nexthop.gateway = parse_address(gateway).value();
  nexthop.family = nexthop.gateway->family;
  nexthop.device = device;
  return nexthop;
}

Nexthop on_device(const std::string& device, Family family) {
  Nexthop nexthop;
  nexthop.family = family;
  nexthop.device = device;
  return nexthop;
}

Nexthop blackhole(Family family) {
  Nexthop nexthop;
  nexthop.family = family;
  nexthop.blackhole = true;
  return nexthop;
}

Nexthop fdb(const std::string& gateway) {
  Nexthop nexthop = via(gateway);
  nexthop.fdb = true;
  return nexthop;
}

Command put(uint32_t id, Nexthop nexthop, Verb verb, uint8_t protocol) {
  return PutNexthop{.verb = verb,
                    .object = {.id = NexthopId(id), .protocol = protocol, .body = std::move(nexthop)}};
}

Command put_group(uint32_t id, NexthopGroup group, Verb verb) {
  return PutNexthop{.verb = verb, .object = {.id = NexthopId(id), .protocol = 0, .body = std::move(group)}};
}

Command put_group(uint32_t id, std::vector<uint32_t> members, Verb verb) {
  NexthopGroup group;
  for (uint32_t member : members) group.members.push_back({.id = NexthopId(member), .weight = 1});
  return put_group(id, std::move(group), verb);
}

Command drop(uint32_t id, bool cascade) {
  return DeleteNexthop{.id = NexthopId(id), .cascade = cascade};
}

RouteKey key_of(const std::string& prefix, uint32_t metric, uint32_t table) {
  RouteKey key;
  key.table = TableId(table);
  key.prefix = parse_prefix(prefix).value();
  key.metric = metric == 0 && key.prefix.family() == Family::kIpv6 ? 1024 : metric;
  return key;
}

Route route_over(const std::string& prefix, uint32_t id, uint32_t metric, uint32_t table) {
  Route route;
  route.key = key_of(prefix, metric, table);
  route.nexthop = NexthopId(id);
  return route;
}

Command put_route(Route route, Verb verb) {
  return PutRoute{.verb = verb, .route = std::move(route), .paths = {}};
}

Command put_route(const std::string& prefix, uint32_t id, Verb verb, uint32_t metric) {
  return put_route(route_over(prefix, id, metric), verb);
}

Command put_route(const std::string& prefix, std::vector<InlinePath> paths, Verb verb, uint32_t metric) {
  return PutRoute{.verb = verb, .route = route_over(prefix, 0, metric), .paths = std::move(paths)};
}

DeleteRoute drop_route(const std::string& prefix) {
  DeleteRoute command;
  command.prefix = parse_prefix(prefix).value();
  return command;
}

namespace {

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::string dump(const ReadView& view) {
  std::string text;
  view.scan_nexthops({}, [&](std::string_view key, std::string_view value) {
    text += "nexthop " + hex(key) + " " + hex(value) + "\n";
    return true;
  });
  view.scan_routes({}, [&](std::string_view key, std::string_view value) {
    text += "route " + hex(key) + " " + hex(value) + "\n";
    return true;
  });
  return text;
}

std::string dump(const Store& store) {
  return dump(store.view());
}

}  // namespace waypost::store
