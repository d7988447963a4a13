// The small parts: the buffer in front of standard output, progress words, tables, names from the host's
// files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "cli/exit_code.h"
#include "cli/input_file.h"
#include "cli/names_files.h"
#include "cli/nexthop_cache.h"
#include "cli/past.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/row_words.h"
#include "model/row_codec.h"
#include "tests/cli/scripted_remote.h"

namespace waypost::cli {
namespace {

std::string read_now(int descriptor) {
  char buffer[64];
  const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
}

// The first row of a listing is shown at once; those behind it wait for the buffer or the end.
TEST(Output, ShowsTheFirstRowAtOnce) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  {
    Output out(ends[1]);
    out.put("one\n");
    EXPECT_EQ(read_now(ends[0]), "");
    out.end_row();
    EXPECT_EQ(read_now(ends[0]), "one\n");
    out.put("two\n");
    out.end_row();
    EXPECT_EQ(read_now(ends[0]), "");
  }
  EXPECT_EQ(read_now(ends[0]), "two\n");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Output, KeepsWhatIsLargerThanItsBuffer) {
  Output out;
  std::string expected;
  for (int i = 0; i < 100'000; ++i) {
    out.put_number(static_cast<uint64_t>(i));
    out.put(' ');
    expected += std::to_string(i) + " ";
  }
  out.put(std::string(1u << 20, 'x'));
  EXPECT_EQ(out.text(), expected + std::string(1u << 20, 'x'));
}

TEST(Output, AFullDiskIsKept) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  Output out(full);
  out.put("row");
  out.flush();
  EXPECT_EQ(out.error(), ENOSPC);
  ::close(full);
}

TEST(Progress, SaysHowFarHowFastAndHowLong) {
  EXPECT_EQ(Progress::words("importing", "routes", 412'000, 1'062'046, 4.68),
            "importing 412,000/1,062,046 routes  88 k/s  7 s left");
  EXPECT_EQ(Progress::words("flushing", "rows", 10, 0, 2), "flushing 10 rows  5/s");
  EXPECT_EQ(Progress::words("flushing", "rows", 0, 10, 0), "flushing 0/10 rows");
  EXPECT_EQ(Progress::words("importing", "lines", 100, 100'000, 1),
            "importing 100/100,000 lines  100/s  17 min left");
}

TEST(Progress, IsSilentForASecondAndClearsItself) {
  Output err;
  auto now = std::chrono::steady_clock::time_point();
  {
    Progress progress(err, "importing", "lines", 100, true, [&now] { return now; });
    progress.show(1);
    now += std::chrono::milliseconds(1'001);
    progress.show(50);
    now += std::chrono::milliseconds(10);
    progress.show(51);
  }
  EXPECT_EQ(err.text(), "\r\033[Kimporting 50/100 lines  50/s  1 s left\r\033[K");
}

TEST(Words, NumbersAgesAndBytesRead) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(1'062'046), "1,062,046");
  EXPECT_EQ(age_words(12), "12 ms");
  EXPECT_EQ(age_words(12'000), "12 s");
  EXPECT_EQ(age_words(600'000), "10 min");
  EXPECT_EQ(age_words(7'200'000), "2 h");
  EXPECT_EQ(age_words(200'000'000), "2 days");
  EXPECT_EQ(time_words(1'700'000'000'000'000), "2023-11-14T22:13:20Z");
  EXPECT_EQ(short_hex(std::string("\x01\xff\x10\xab\xcd", 5)), "01ff10ab");
}

TEST(Table, AlignsItsColumnsAndNumbersToTheRight) {
  Table table({{"name", "NAME"}, {"rows", "ROWS"}, {"live", "LIVE"}});
  table.add({std::string("n1"), uint64_t{7}, true});
  table.add({std::string("node-2"), uint64_t{12'345}, false});
  EXPECT_EQ(table.text(),
            "NAME     ROWS  LIVE\n"
            "n1          7  yes\n"
            "node-2  12345  no\n");
}

TEST(Names, ComeFromTheHostsFilesTheLaterOneWins) {
  namespace fs = std::filesystem;
  char root[] = "/tmp/waypost-names-XXXXXX";
  ASSERT_NE(::mkdtemp(root), nullptr);
  const fs::path base(root);
  fs::create_directories(base / "usr/share/iproute2");
  fs::create_directories(base / "etc/iproute2/rt_tables.d");
  std::ofstream(base / "usr/share/iproute2/rt_tables") << "100 shared\n200 blue\n";
  std::ofstream(base / "etc/iproute2/rt_tables") << "# tables\n100\tred # mine\nbad line\n";
  std::ofstream(base / "etc/iproute2/rt_tables.d/a.conf") << "300 green\n";
  std::ofstream(base / "etc/iproute2/rt_tables.d/ignored") << "400 grey\n";
  std::ofstream(base / "etc/iproute2/rt_protos") << "0x60 mine\n";
  const NameTables names = read_host_names(root);
  EXPECT_EQ(names.tables.text(100), "red");
  EXPECT_EQ(names.tables.text(200), "blue");
  EXPECT_EQ(names.tables.text(300), "green");
  EXPECT_EQ(names.tables.text(400), "400");
  EXPECT_EQ(names.tables.text(254), "main");
  EXPECT_EQ(names.protocols.number("mine"), 0x60u);
  EXPECT_EQ(read_host_names("/nonexistent").tables.text(254), "main");
  fs::remove_all(base);
}

TEST(NexthopCache, ForgetsWhenTheServerSaysSo) {
  std::string block, key;
  append_nexthop_key(key, NexthopId(5));
  append_row(block, key, encode_nexthop_value({.id = NexthopId(5), .protocol = 0, .body = NexthopGroup{}}));
  NexthopCache cache;
  ASSERT_TRUE(cache.absorb(block, false).ok());
  EXPECT_NE(cache.find(NexthopId(5)), nullptr);
  ASSERT_TRUE(cache.absorb("", true).ok());
  EXPECT_EQ(cache.find(NexthopId(5)), nullptr);
  EXPECT_FALSE(cache.absorb("\x09zz", false).ok());
}

TEST(InputFile, APipeIsKeptSoThatItCanBeReadTwice) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "two\nlines\n", 10), 10);
  ::close(ends[1]);
  Result<InputFile> file = InputFile::open("-", ends[0]);
  ASSERT_TRUE(file.ok());
  for (int i = 0; i < 2; ++i) {
    std::string text;
    ASSERT_TRUE(file->read([&](std::string_view piece) { return text += piece, true; }).ok());
    EXPECT_EQ(text, "two\nlines\n");
  }
  ::close(ends[0]);
  EXPECT_EQ(InputFile::open("/nonexistent", 0).error().message,
            "cannot open /nonexistent: No such file or directory");
}

TEST(Completion, KnowsEveryObject) {
  Script script;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Printed printed = run_scripted(script, std::string("completion ") + shell);
    EXPECT_EQ(printed.code, kExitOk);
    for (const char* object :
         {"nexthop", "route", "fib", "cluster", "node", "snapshot", "history", "rollback"})
      EXPECT_NE(printed.out.find(object), std::string::npos) << shell << " " << object;
  }
}

TEST(Help, EveryObjectHasItsPage) {
  Script script;
  for (const char* object :
       {"nexthop", "route", "monitor", "fib", "cluster", "node", "snapshot", "history"}) {
    const Printed printed = run_scripted(script, std::string("help ") + object);
    EXPECT_EQ(printed.code, kExitOk);
    EXPECT_NE(printed.out.find(std::string("waypost ") + object), std::string::npos) << object;
  }
}

}  // namespace
}  // namespace waypost::cli
