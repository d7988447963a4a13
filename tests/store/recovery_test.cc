#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "model/bytes.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

namespace fs = std::filesystem;

// A row of the local log in these tests: the chain hash in front of the proposal.
std::string log_row(const Hash128& chain, const std::string& proposal) {
  std::string row;
  append_u64(row, chain.high);
  append_u64(row, chain.low);
  return row + proposal;
}

std::optional<Hash128> chain_of(std::string_view row) {
  ByteReader reader(row);
  Hash128 chain;
  chain.high = reader.u64();
  chain.low = reader.u64();
  return reader.failed() ? std::nullopt : std::optional(chain);
}

Hash128 chain_at(Position position) {
  return {.high = position.value(), .low = 99};
}

std::string proposal_at(Position position) {
  const auto number = static_cast<uint32_t>(position.value());
  const auto encoded = [](auto body) {
    return encode(Proposal{.author = "t", .member = {}, .incarnation = 0, .body = std::move(body)});
  };
  if (number == 1) return encoded(OpenSession{});
  return encoded(SessionTransaction{
      .session = {.position = Position(1), .index = 0, .random = {}},
      .number = number - 1,
      .transaction = {.on_refusal = OnRefusal::kAbort,
                      .chained = false,
                      .commands = {put(number, via("10.0.0.1", "e" + std::to_string(number % 7)))}}});
}

void apply_at(Store& store, Position position) {
  const std::string bytes = proposal_at(position);
  const std::string_view views[] = {bytes};
  store.apply({.position = position, .time_us = 5, .chain = chain_at(position), .proposals = views});
}

// As the local engine: a synced append, then apply, unsynced.
void append_and_apply(Store& store, Position position) {
  std::string key;
  append_u64(key, position.value());
  rocksdb::WriteOptions synced;
  synced.sync = true;
  ASSERT_TRUE(store.database()
                  ->Put(synced, store.log_family(), key, log_row(chain_at(position), proposal_at(position)))
                  .ok());
  apply_at(store, position);
}

// A data directory with `entries` entries, stopped without a flush: everything is in the write-ahead log.
class Directory {
 public:
  Directory() {
    options_.directory = temporary_.path() + "/data";
    options_.create = true;
    options_.cluster = {.high = 1, .low = 1};
    options_.history = {.high = 2, .low = 2};
    options_.chain_of_log_row = chain_of;
  }

  void fill(uint64_t entries, uint64_t marked) {
    auto store = open();
    ASSERT_TRUE(store.ok());
    for (uint64_t i = 1; i <= entries; ++i) append_and_apply(**store, Position(i));
    (*store)->note_durable(
        {.of = DurableMark::Of::kLog, .position = Position(marked), .chain = chain_at(Position(marked))});
  }

  Result<std::unique_ptr<Store>> open() const { return Store::open(options_); }
  std::string words() const {
    const auto store = open();
    return store.ok() ? "open" : store.error().message;
  }
  StoreOptions& options() { return options_; }
  std::string path() const { return options_.directory; }
  std::string database() const { return path() + "/db-1"; }

  // The file of this extension with the most bytes.
  std::string file(const std::string& extension) const {
    std::string largest;
    for (const auto& each : fs::directory_iterator(database()))
      if (each.path().extension() == extension &&
          (largest.empty() || fs::file_size(each) > fs::file_size(largest)))
        largest = each.path().string();
    return largest;
  }

 private:
  TemporaryDirectory temporary_;
  StoreOptions options_;
};

void flip(const std::string& path, uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 0x10));
}

void cut(const std::string& path, uint64_t bytes) {
  fs::resize_file(path, fs::file_size(path) - bytes);
}

bool has_copy_of_damaged_log(const Directory& directory) {
  return fs::exists(directory.path() + "/damaged-wal-1") &&
         !fs::is_empty(directory.path() + "/damaged-wal-1");
}

// What the local engine does after a crash: applies again what its log holds behind the applied position.
void replay(Store& store) {
  for (Position next = store.stamp().position.next();; next = next.next()) {
    std::string key;
    append_u64(key, next.value());
    std::string row;
    if (!store.database()->Get(rocksdb::ReadOptions(), store.log_family(), key, &row).ok()) return;
    apply_at(store, next);
  }
}

// An ordinary power loss: the last, unsynced record is torn. The store opens behind it and what was synced is
// there.
TEST(Recovery, ATornTailIsCutOff) {
  Directory directory;
  directory.fill(100, 99);
  cut(directory.file(".log"), 7);
  auto store = directory.open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_GE((*store)->stamp().position, Position(99));
  replay(**store);
  EXPECT_TRUE((*store)->verify().ok());
  EXPECT_FALSE(has_copy_of_damaged_log(directory));
}

// Damage in front of rows that were synced: RocksDB's default would open silently with fewer. Here it is data
// loss, in words.
TEST(Recovery, ABitFlipInSyncedRowsIsDataLoss) {
  Directory directory;
  directory.fill(1'000, 1'000);
  flip(directory.file(".log"), fs::file_size(directory.file(".log")) / 2);
  const std::string words = directory.words();
  EXPECT_TRUE(words.starts_with("data loss: the log ends at position ")) << words;
  EXPECT_TRUE(words.ends_with(", the durable mark says 1000")) << words;
  EXPECT_TRUE(has_copy_of_damaged_log(directory)) << "the evidence is kept";
  EXPECT_EQ(directory.words(), words) << "asking again does not help";
}

// Damage behind the mark, as a power loss leaves it when pages are written out of order: the strict mode
// refuses, so the log is read up to the damage, with a copy kept and a note for people.
TEST(Recovery, DamageBehindTheMarkIsSteppedOver) {
  Directory directory;
  directory.fill(1'000, 300);
  const std::string log = directory.file(".log");
  flip(log, fs::file_size(log) * 3 / 4);
  auto store = directory.open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_GE((*store)->stamp().position, Position(300));
  EXPECT_LT((*store)->stamp().position, Position(1'000));
  EXPECT_TRUE(has_copy_of_damaged_log(directory));
  ASSERT_EQ((*store)->notes().size(), 1u);
  EXPECT_TRUE((*store)->notes()[0].find("a copy is in " + directory.path()) != std::string::npos);
  EXPECT_TRUE((*store)->verify().ok());
}

// A log cut at a record's edge, or gone altogether, looks whole to RocksDB in every mode. The mark knows
// better.
TEST(Recovery, ACutOrDeletedLogIsDataLoss) {
  Directory cut_one;
  cut_one.fill(1'000, 1'000);
  cut(cut_one.file(".log"), fs::file_size(cut_one.file(".log")) / 2);
  EXPECT_TRUE(cut_one.words().starts_with("data loss: ")) << cut_one.words();

  Directory deleted;
  deleted.fill(100, 100);
  fs::remove(deleted.file(".log"));
  const std::string words = deleted.words();
  EXPECT_TRUE(words == "data loss: the log ends at position 0, the durable mark says 100" ||
              words.find("has lost its state row") != std::string::npos)
      << words;
}

// Zeros behind the end are what some file systems leave: harmless.
TEST(Recovery, ZerosBehindTheEndAreHarmless) {
  Directory directory;
  directory.fill(100, 100);
  const std::string log = directory.file(".log");
  fs::resize_file(log, fs::file_size(log) + 8'192);
  auto store = directory.open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ((*store)->stamp().position, Position(100));
}

// With etcd, or as an observer, a state that fell back behind its mark is healed from the log: it opens and
// says so.
TEST(Recovery, AnAppliedMarkThatIsNotReachedIsHealed) {
  Directory directory;
  directory.fill(1'000, 1'000);
  (*directory.open())
      ->note_durable({.of = DurableMark::Of::kApplied, .position = Position(2'000), .chain = {}});
  auto store = directory.open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_EQ((*store)->notes().size(), 1u);
  EXPECT_TRUE(
      (*store)->notes()[0].starts_with("the state ends at position 1000, the durable mark says 2000"));
}

// The position alone proves nothing: a directory put together from two stores has another chain there.
TEST(Recovery, AnotherChainAtTheMarkIsRefused) {
  Directory directory;
  directory.fill(50, 50);
  (*directory.open())
      ->note_durable({.of = DurableMark::Of::kLog, .position = Position(40), .chain = {.high = 1, .low = 2}});
  EXPECT_EQ(directory.words(), "the log at position 40 is not the one that the durable mark was written for");
}

// The mark file itself: one damaged slot leaves the other; two are refused; a missing file is a note, never a
// guess.
TEST(Recovery, TheMarkFile) {
  Directory directory;
  directory.fill(20, 10);
  (*directory.open())
      ->note_durable(
          {.of = DurableMark::Of::kLog, .position = Position(20), .chain = chain_at(Position(20))});
  const std::string mark = directory.path() + "/durable_mark";
  EXPECT_EQ((*directory.open())->durable_mark()->position, Position(20));
  for (uint64_t slot : {uint64_t{4'096}, uint64_t{0}}) {
    flip(mark, slot + 20);
    if (slot == 0) continue;
    const auto store = directory.open();
    ASSERT_TRUE(store.ok());
    EXPECT_TRUE((*store)->durable_mark()->position == Position(10) ||
                (*store)->durable_mark()->position == Position(20));
  }
  EXPECT_EQ(directory.words(), "the durable mark " + mark + " is damaged");
  fs::remove(mark);
  const auto store = directory.open();
  ASSERT_TRUE(store.ok());
  ASSERT_EQ((*store)->notes().size(), 1u);
  EXPECT_EQ((*store)->notes()[0], "there was no durable mark: lost entries would not be noticed");
}

// Files of RocksDB that are damaged or gone: refused in words, and never a new, empty store in their place.
TEST(Recovery, DamagedDatabaseFilesAreRefused) {
  const std::map<std::string, std::function<void(const Directory&)>> damages = {
      {"MANIFEST flipped",
       [](const Directory& at) {
         for (const auto& each : fs::directory_iterator(at.database()))
           if (each.path().filename().string().starts_with("MANIFEST")) flip(each.path().string(), 40);
       }},
      {"CURRENT garbage",
       [](const Directory& at) { std::ofstream(at.database() + "/CURRENT") << "nonsense\n"; }},
      {"CURRENT deleted", [](const Directory& at) { fs::remove(at.database() + "/CURRENT"); }},
      {"sorted file truncated", [](const Directory& at) { cut(at.file(".sst"), 30); }},
      {"sorted file missing", [](const Directory& at) { fs::remove(at.file(".sst")); }},
      {"pointer missing", [](const Directory& at) { fs::remove(at.path() + "/database"); }},
      {"pointer garbage", [](const Directory& at) { std::ofstream(at.path() + "/database") << "../x\n"; }},
      {"database directory missing", [](const Directory& at) { fs::remove_all(at.database()); }},
  };
  for (const auto& [name, damage] : damages) {
    Directory directory;
    directory.fill(200, 200);
    { auto reopened = directory.open(); }  // what was in the log is in sorted files now
    damage(directory);
    const auto store = directory.open();
    ASSERT_FALSE(store.ok()) << name;
    EXPECT_NE(store.error().message, "") << name;
    EXPECT_TRUE(store.error().code == ErrorCode::kCorruption || store.error().code == ErrorCode::kIo) << name;
    EXPECT_FALSE(fs::exists(directory.path() + "/db-2")) << name;
  }
}

// Damage inside a sorted file is met when it is read: an iterator stops there as at the end, so its status
// must be asked, and the process ends rather than give a short listing.
TEST(RecoveryDeathTest, ADamagedBlockEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Directory directory;
  directory.fill(3'000, 3'000);
  { auto reopened = directory.open(); }
  uint64_t ended = 0;
  for (const auto& each : fs::directory_iterator(directory.database())) {
    if (each.path().extension() != ".sst" || fs::file_size(each) < 20'000) continue;
    flip(each.path().string(), fs::file_size(each) / 3);
    ++ended;
  }
  ASSERT_GT(ended, 0u);
  EXPECT_EXIT(
      {
        auto store = directory.open();
        if (!store.ok()) ::_exit(74);
        uint64_t rows = 0;
        (*store)->view().scan_nexthops({}, [&](std::string_view, std::string_view) { return ++rows != 0; });
        (void)(*store)->verify();
        ::_exit(rows == 2'999 ? 1 : 2);
      },
      testing::ExitedWithCode(74), "Corruption|checksum");
}

// A disk that takes no more: the process ends with 74 at once; started again with room, everything
// acknowledged is there.
TEST(RecoveryDeathTest, AFailedWriteEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Directory directory;
  directory.fill(10, 10);
  const auto write_until_full = [&directory] {
    auto store = directory.open();
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit small{};
    small.rlim_cur = small.rlim_max = 16'384;
    ::setrlimit(RLIMIT_FSIZE, &small);
    for (uint64_t i = 11; i < 2'000; ++i) apply_at(**store, Position(i));
    ::_exit(0);
  };
  EXPECT_EXIT(write_until_full(), testing::ExitedWithCode(74), "applying an entry failed: ");
  EXPECT_EQ(directory.words(), "open");
}

constexpr const char* kVictimVariable = "WAYPOST_STORE_TEST_VICTIM";
constexpr int kVictimPipe = 100;  // the descriptor through which it says that it is at work

// This program again, as the process of VictimOfKill below: RocksDB's threads do not survive a mere fork.
// Returns once it has appended something.
pid_t spawn_victim(const Directory& directory) {
  int pipe[2] = {};
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], kVictimPipe);
    ::setenv(kVictimVariable, directory.path().c_str(), 1);
    ::execl("/proc/self/exe", "store_test", "--gtest_filter=Recovery.VictimOfKill", nullptr);
    ::_exit(4);
  }
  ::close(pipe[1]);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 1) << "the victim ended before it was at work";
  ::close(pipe[0]);
  return child;
}

// The process that KilledAgainAndAgain kills; by itself it does nothing.
TEST(Recovery, VictimOfKill) {
  const char* path = std::getenv(kVictimVariable);
  if (path == nullptr) return;
  Directory directory;
  directory.options().directory = path;
  auto store = directory.open();
  ASSERT_TRUE(store.ok());
  replay(**store);
  for (Position next = (*store)->stamp().position.next();; next = next.next()) {
    append_and_apply(**store, next);
    if (next.value() % 16 == 0)
      (*store)->note_durable({.of = DurableMark::Of::kLog, .position = next, .chain = chain_at(next)});
    if (::write(kVictimPipe, "x", 1) == 1) ::close(kVictimPipe);
  }
}

// kill -9 at random points, again and again: the store opens, holds a prefix, and after replaying its log it
// is equal to one that was never killed.
TEST(Recovery, KilledAgainAndAgain) {
  Directory directory;
  std::mt19937_64 random(11);
  uint64_t reached = 0;
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const pid_t child = spawn_victim(directory);
    ::usleep(static_cast<useconds_t>(random() % 150'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    auto store = directory.open();
    ASSERT_TRUE(store.ok()) << store.error().message;
    replay(**store);
    EXPECT_GE((*store)->stamp().position.value(), reached);
    reached = (*store)->stamp().position.value();
    const Status verified = (*store)->verify();
    ASSERT_TRUE(verified.ok()) << verified.error().message;
  }
  ASSERT_GT(reached, 0u);
  Directory straight;
  auto expected = straight.open();
  for (uint64_t i = 1; i <= reached; ++i) apply_at(**expected, Position(i));
  auto store = directory.open();
  EXPECT_EQ(dump(**store), dump(**expected));
  EXPECT_EQ((*store)->stamp().data_digest, (*expected)->stamp().data_digest);
  EXPECT_EQ((*store)->stamp().control_digest, (*expected)->stamp().control_digest);
}

// A second process, or a second store in this one, is told who holds the directory. No store is made unless
// asked.
TEST(Recovery, OneStoreADirectory) {
  Directory directory;
  auto store = directory.open();
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(directory.words(),
            "the data directory " + directory.path() + " is in use by process " + std::to_string(::getpid()));
  store->reset();
  EXPECT_EQ(directory.words(), "open");

  StoreOptions options;
  TemporaryDirectory empty;
  options.directory = empty.path();
  auto none = Store::open(options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(empty.path() + "/database"));
  options.directory = empty.path() + "/absent";
  none = Store::open(options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(options.directory));
}

// The making of a store that was cut off is done again; a database that nobody names is not overwritten.
TEST(Recovery, AMakingThatWasCutOff) {
  Directory directory;
  fs::create_directories(directory.database());
  std::ofstream(directory.database() + "/CURRENT") << "half";
  EXPECT_EQ(directory.words(),
            "the data directory " + directory.path() + " holds a database but no file names it");
  std::ofstream(directory.path() + "/making") << "";
  EXPECT_EQ(directory.words(), "open");
  EXPECT_FALSE(fs::exists(directory.path() + "/making"));
  EXPECT_EQ(directory.words(), "open");
}

}  // namespace
}  // namespace waypost::store
