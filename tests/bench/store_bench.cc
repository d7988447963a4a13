// The store beside a bare loop on RocksDB that does the least a store could do: get the old row, put route
// and index, one change record and one synced log entry per 1,000. Same prefixes, same run, rounds
// interleaved, medians.
//
// usage: store_bench [ROUTES [ROUNDS [DIRECTORY]]]
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/bytes.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "store/snapshot.h"
#include "store/store.h"

namespace waypost::store {
namespace {

constexpr size_t kBatch = limits::kBatchCommandsPerTransaction;
constexpr uint32_t kNexthops = 64;

struct Seconds {
  double wall = 0;
  double cpu = 0;  // of the thread that works; flushes and compactions run beside it
};

class Stopwatch {
 public:
  Stopwatch() : wall_(std::chrono::steady_clock::now()), cpu_(cpu_seconds()) {}
  Seconds seconds() const {
    return {.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count(),
            .cpu = cpu_seconds() - cpu_};
  }

 private:
  static double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }
  std::chrono::steady_clock::time_point wall_;
  double cpu_;
};

std::vector<Prefix> read_prefixes(size_t count) {
  std::vector<Prefix> prefixes;
  FILE* pipe = ::popen("xzcat " WAYPOST_SOURCE_DIR "/tests/data/ipv4.txt.xz", "r");
  char line[64];
  while (pipe != nullptr && prefixes.size() < count && std::fgets(line, sizeof(line), pipe) != nullptr) {
    std::string text(line);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    if (auto prefix = parse_prefix(text); prefix.ok()) prefixes.push_back(*prefix);
  }
  if (pipe != nullptr) ::pclose(pipe);
  return prefixes;
}

Nexthop via(uint32_t gateway, const char* device) {
  Nexthop nexthop;
  nexthop.gateway = IpAddress::v4(gateway);
  nexthop.device = device;
  return nexthop;
}

class Run {
 public:
  Run(const std::string& base, const std::string& name) : directory_(base + "/waypost-store-bench-" + name) {
    std::filesystem::remove_all(directory_);
    StoreOptions options;
    options.directory = directory_;
    options.create = true;
    auto opened = Store::open(options);
    if (!opened.ok()) {
      std::fprintf(stderr, "%s\n", opened.error().message.c_str());
      std::exit(1);
    }
    store_ = std::move(opened).value();
    const std::string open = encode(proposal(OpenSession{}));
    session_ = *decode_proposal_answer(apply(open, false)).value().session;
  }
  ~Run() {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  Store& store() { return *store_; }
  const std::string& directory() const { return directory_; }
  Seconds reopen() {
    store_.reset();
    StoreOptions options;
    options.directory = directory_;
    const Stopwatch watch;
    store_ = std::move(Store::open(options)).value();
    return watch.seconds();
  }

  std::string transaction(std::vector<Command> commands) {
    return encode(proposal(SessionTransaction{
        .session = session_,
        .number = ++number_,
        .transaction = {
            .on_refusal = OnRefusal::kAbort, .chained = false, .commands = std::move(commands)}}));
  }

  std::string apply(const std::string& bytes, bool with_log) {
    const Position position = store_->stamp().position.next();
    if (with_log) {
      std::string key;
      append_u64(key, position.value());
      rocksdb::WriteOptions synced;
      synced.sync = true;
      store_->database()->Put(synced, store_->log_family(), key, bytes);
    }
    const std::string_view views[] = {bytes};
    return store_->apply({.position = position, .time_us = 1, .chain = {}, .proposals = views}).front();
  }

  // Applies prepared entries and returns how long it took; every command must have been applied.
  Seconds apply_all(const std::vector<std::string>& entries, bool with_log) {
    const Stopwatch watch;
    for (const std::string& entry : entries) last_answer_ = apply(entry, with_log);
    const Seconds seconds = watch.seconds();
    const auto answer = decode_proposal_answer(last_answer_).value();
    if (!answer.transaction || !answer.transaction->refusals.empty()) {
      std::fprintf(stderr, "a command was refused\n");
      std::exit(1);
    }
    return seconds;
  }

 private:
  template <typename Body>
  Proposal proposal(Body body) {
    return {.author = "bench", .member = {}, .incarnation = 0, .body = std::move(body)};
  }
  std::string directory_;
  std::unique_ptr<Store> store_;
  SessionId session_;
  uint64_t number_ = 0;
  std::string last_answer_;
};

std::vector<std::string> route_entries(Run& run, const std::vector<Prefix>& prefixes, bool inline_paths) {
  std::vector<std::string> entries;
  std::vector<Command> commands;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    PutRoute put;
    put.route.key.prefix = prefixes[i];
    if (inline_paths)
      put.paths = {{.nexthop = via(0x0a000001, "eth0"), .weight = 1},
                   {.nexthop = via(0x0a010001, "eth1"), .weight = 1}};
    else
      put.route.nexthop = NexthopId(1 + static_cast<uint32_t>(i % kNexthops));
    commands.emplace_back(std::move(put));
    if (commands.size() == kBatch || i + 1 == prefixes.size())
      entries.push_back(run.transaction(std::exchange(commands, {})));
  }
  return entries;
}

Seconds scan(Run& run, size_t expected) {
  const ReadView view = run.store().view();
  size_t rows = 0;
  size_t bytes = 0;
  const Stopwatch watch;
  view.scan_routes({}, [&](std::string_view key, std::string_view value) {
    bytes += key.size() + value.size();
    return ++rows != 0;
  });
  if (rows != expected || bytes == 0) std::exit(1);
  return watch.seconds();
}

// The floor. The same keys and values, no rules, no digests, no sessions.
Seconds bare_loop(const std::string& base, const std::vector<Prefix>& prefixes, Seconds* scanned) {
  const std::string directory = base + "/waypost-store-bench-bare";
  std::filesystem::remove_all(directory);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_background_jobs = 2;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : {"default", "route", "index", "change", "log"})
    families.emplace_back(name, options);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  if (!rocksdb::DB::Open(options, directory, families, &handles, &db).ok()) std::exit(1);
  const Stopwatch watch;
  std::string old;
  std::string key;
  std::string index;
  std::string change;
  rocksdb::WriteBatch batch;
  Route route;
  route.nexthop = NexthopId(limits::kFirstInternedId + 2);
  const std::string value = encode_route_value(route);
  uint64_t number = 0;
  const auto write = [&] {
    std::string number_key;
    append_u64(number_key, ++number);
    rocksdb::WriteOptions synced;
    synced.sync = true;
    db->Put(synced, handles[4], number_key, std::string(64u << 10, 'e'));
    batch.Put(handles[3], number_key, change);
    db->Write(rocksdb::WriteOptions(), &batch);
    batch.Clear();
    change.clear();
  };
  for (const Prefix& prefix : prefixes) {
    key.clear();
    route.key.prefix = prefix;
    append_route_key(key, route.key);
    db->Get(rocksdb::ReadOptions(), handles[1], key, &old);
    batch.Put(handles[1], key, value);
    index.clear();
    append_u32(index, route.nexthop.value());
    index += key;
    batch.Put(handles[2], index, {});
    append_row(change, key, value);
    if (batch.Count() >= 2'000) write();
  }
  write();
  const Seconds seconds = watch.seconds();
  const Stopwatch scan_watch;
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions(), handles[1]));
  size_t rows = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) rows += it->value().size() > 0 ? 1 : 0;
  *scanned = scan_watch.seconds();
  it.reset();
  if (rows != prefixes.size()) std::exit(1);
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  delete db;
  std::filesystem::remove_all(directory);
  return seconds;
}

// A whole snapshot out of one store and into the database of another, ready to switch to.
Seconds take_snapshot(Run& run) {
  const Stopwatch watch;
  SnapshotSource source(run.store().view());
  const std::string directory = new_database_directory(run.directory());
  auto sink = SnapshotSink::create(directory);
  while (sink.ok()) {
    const auto chunk = source.next();
    if (!chunk) break;
    if (!(*sink)->add(*chunk).ok()) std::exit(1);
  }
  if (!sink.ok() || !(*sink)->finish(false, {}).ok()) std::exit(1);
  const Seconds seconds = watch.seconds();
  std::filesystem::remove_all(directory);
  return seconds;
}

Seconds verify(Run& run) {
  const Stopwatch watch;
  if (Status status = run.store().verify(); !status.ok()) {
    std::printf("%s\n", status.error().message.c_str());
    std::exit(1);
  }
  return watch.seconds();
}

class Table {
 public:
  void add(const std::string& name, size_t rows, Seconds seconds) {
    if (!rates_.contains(name)) order_.push_back(name);
    rates_[name].emplace_back(static_cast<double>(rows) / seconds.wall,
                              static_cast<double>(rows) / seconds.cpu);
  }
  void print() {
    std::printf("%-44s %14s %18s\n", "", "rows/s", "rows/s of its core");
    for (const std::string& name : order_) {
      auto& rates = rates_[name];
      const auto median = [&rates](auto member) {
        std::vector<double> values;
        for (const auto& rate : rates) values.push_back(rate.*member);
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
      };
      std::printf("%-44s %14.0f %18.0f\n", name.c_str(), median(&std::pair<double, double>::first),
                  median(&std::pair<double, double>::second));
    }
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::vector<std::pair<double, double>>> rates_;
};

void round(const std::string& base, const std::vector<Prefix>& prefixes, Table* table) {
  Seconds bare_scan;
  table->add("bare loop: add, with a synced log entry", prefixes.size(),
             bare_loop(base, prefixes, &bare_scan));
  table->add("bare loop: scan", prefixes.size(), bare_scan);
  {
    Run run(base, "inline");
    const auto entries = route_entries(run, prefixes, true);
    table->add("add, two inline paths", prefixes.size(), run.apply_all(entries, false));
    table->add("scan", prefixes.size(), scan(run, prefixes.size()));
  }
  {
    Run run(base, "logged");
    const auto entries = route_entries(run, prefixes, true);
    table->add("add, two inline paths, with a synced log entry", prefixes.size(),
               run.apply_all(entries, true));
    table->add("snapshot, out and in", prefixes.size(), take_snapshot(run));
    table->add("open after a stop", prefixes.size(), run.reopen());
    table->add("verify", prefixes.size(), verify(run));
  }
  Run run(base, "nhid");
  std::vector<Command> nexthops;
  for (uint32_t id = 1; id <= kNexthops; ++id)
    nexthops.emplace_back(
        PutNexthop{.verb = Verb::kAdd,
                   .object = {.id = NexthopId(id), .protocol = 0, .body = via(0x0a000000 + id, "eth0")}});
  run.apply_all({run.transaction(std::move(nexthops))}, false);
  const auto entries = route_entries(run, prefixes, false);
  table->add("add, by nhid", prefixes.size(), run.apply_all(entries, false));
  std::vector<Command> commands;
  std::vector<std::string> deletes;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    DeleteRoute command;
    command.prefix = prefixes[i];
    commands.emplace_back(std::move(command));
    if (commands.size() == kBatch || i + 1 == prefixes.size())
      deletes.push_back(run.transaction(std::exchange(commands, {})));
  }
  table->add("delete", prefixes.size(), run.apply_all(deletes, false));
  verify(run);
}

}  // namespace
}  // namespace waypost::store

int main(int argc, char** argv) {
  using namespace waypost::store;
  const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 720'022;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const std::string directory = argc > 3 ? argv[3] : std::filesystem::temp_directory_path().string();
  const auto prefixes = read_prefixes(count);
  std::printf("%zu routes, transactions of %zu commands, decode included, medians of %d rounds\n",
              prefixes.size(), waypost::limits::kBatchCommandsPerTransaction, rounds);
  Table table;
  for (int i = 0; i < rounds; ++i) round(directory, prefixes, &table);
  table.print();
  return 0;
}
