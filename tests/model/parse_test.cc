// The text seam: what lines of `ip -batch` become, in which words they come back, and what is refused at
// which column.
#include "model/parse.h"

#include <gtest/gtest.h>

#include "model/row_codec.h"
#include "tests/model/golden.h"
#include "tests/model/hex.h"

namespace waypost {
namespace {

using test::hex;

const NameTables& names() {
  static const NameTables names = NameTables::defaults();
  return names;
}

std::string bytes_of(const Command& command) {
  return encode(Transaction{.commands = {command}});
}

// The family that a command's words may leave open: device-only and blackhole nexthops.
std::optional<Family> open_family(const Command& command) {
  const auto* put = std::get_if<PutNexthop>(&command);
  if (put == nullptr || put->object.is_group()) return std::nullopt;
  return put->object.nexthop().family;
}

// "ok: WORDS", where the words read back are the same command; or "error at LINE:COLUMN: ...".
std::string outcome(std::span<const Word> words, const ParseContext& context) {
  const auto parsed = parse_command(words, context);
  if (const auto* error = std::get_if<ParseError>(&parsed)) {
    std::string text = "error at " + std::to_string(error->line) + ":" + std::to_string(error->column) +
                       ": " + error->error.message + "\n";
    return error->error.hint.empty() ? text : text + "hint: " + error->error.hint + "\n";
  }
  const Command& command = std::get<Command>(parsed);
  const std::string text = command_words(command, names());
  ParseContext again = context;
  again.family = open_family(command);
  BatchReader reader;
  const auto read_back = [&](BatchReader::Line line) {
    const auto second = parse_command(line.words, again);
    const auto* error = std::get_if<ParseError>(&second);
    ASSERT_EQ(error, nullptr) << text << "\n" << error->error.message;
    EXPECT_EQ(hex(bytes_of(std::get<Command>(second))), hex(bytes_of(command))) << text;
  };
  EXPECT_TRUE(reader.feed(text, read_back).ok());
  EXPECT_TRUE(reader.finish(read_back).ok());
  return "ok: " + text + "\n";
}

// Options of the command that a page gives to one line: `-4`, `-6`, `--cascade`.
ParseContext take_options(std::string* text) {
  ParseContext context{.names = &names(), .family = std::nullopt, .cascade = false};
  const auto take = [&](const std::string& option) {
    if (!text->starts_with(option)) return false;
    text->erase(0, option.size());
    return true;
  };
  if (take("-4 ")) context.family = Family::kIpv4;
  if (take("-6 ")) context.family = Family::kIpv6;
  if (take("--cascade ")) context.cascade = true;
  return context;
}

std::string run_batch(const std::string& input) {
  std::string text = input;
  const ParseContext context = take_options(&text);
  std::string output;
  BatchReader reader;
  const auto visit = [&](BatchReader::Line line) { output += outcome(line.words, context); };
  Status status = reader.feed(text, visit);
  if (status.ok()) status = reader.finish(visit);
  if (!status.ok()) output += "error: " + status.error().message + "\n";
  return output;
}

// Every word of nexthop lines, in ip's spellings, comes back as the words that say the same.
TEST(ParseCommand, NexthopLines) {
  test::check_golden_page("nexthop.txt", run_batch);
}

TEST(ParseCommand, RouteLines) {
  test::check_golden_page("route.txt", run_batch);
}

// Everything that is refused, with the column of the word that is wrong, and the cure.
TEST(ParseCommand, RefusedLines) {
  test::check_golden_page("refused.txt", run_batch);
}

// Comments, continued lines, quotes, and the columns of words behind them.
TEST(BatchReader, Pages) {
  test::check_golden_page("batch.txt", [](const std::string& input) {
    std::string output;
    BatchReader reader;
    const auto visit = [&](BatchReader::Line line) {
      for (const Word& word : line.words)
        output += std::to_string(word.line) + ":" + std::to_string(word.column) + "[" +
                  std::string(word.text) + "] ";
      output.back() = '\n';
    };
    Status status = reader.feed(input, visit);
    if (status.ok()) status = reader.finish(visit);
    if (!status.ok()) output += "error: " + status.error().message + "\n";
    return output;
  });
}

// A file arrives in pieces of any size: the lines are the same wherever it is cut.
TEST(BatchReader, PiecesMakeNoDifference) {
  const std::string text = "route add \\\n10.0.0.0/8 nhid 7 # why\n\n'a b' \"c\"d\nlast one";
  const auto read = [&](size_t piece_bytes) {
    std::string output;
    BatchReader reader;
    const auto visit = [&](BatchReader::Line line) {
      for (const Word& word : line.words)
        output +=
            std::to_string(word.line) + ":" + std::to_string(word.column) + std::string(word.text) + ",";
      output += "\n";
    };
    for (size_t at = 0; at < text.size(); at += piece_bytes)
      EXPECT_TRUE(reader.feed(std::string_view(text).substr(at, piece_bytes), visit).ok());
    EXPECT_TRUE(reader.finish(visit).ok());
    return output;
  };
  for (size_t piece_bytes = 1; piece_bytes < text.size(); ++piece_bytes)
    EXPECT_EQ(read(piece_bytes), read(text.size()));
}

// A reader holds one logical line at most, and says where it gave up.
TEST(BatchReader, IsBounded) {
  BatchReader reader;
  const auto visit = [](BatchReader::Line) {};
  EXPECT_TRUE(reader.feed("route add 10.0.0.0/8 nhid 1\n", visit).ok());
  const Status status = reader.feed(std::string(70'000, 'x'), visit);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "line 2, column 1: the line is longer than 64 KiB");
  BatchReader with_nul;
  const Status nul = with_nul.feed(std::string_view("route\0add\n", 10), visit);
  ASSERT_FALSE(nul.ok());
  EXPECT_EQ(nul.error().message, "line 1, column 6: a NUL byte");
}

// `show` adds what `ip` shows too and what is read back all the same.
TEST(RowWords, ShowForm) {
  const auto shown = [](const std::string& line, std::optional<Family> family = std::nullopt) {
    std::string text;
    BatchReader reader;
    const auto visit = [&](BatchReader::Line words) {
      const auto parsed = parse_command(words.words, {.names = &names(), .family = family, .cascade = false});
      if (const auto* error = std::get_if<ParseError>(&parsed)) {
        text = error->error.message;
        return;
      }
      const Command& command = std::get<Command>(parsed);
      if (const auto* put = std::get_if<PutNexthop>(&command)) text = nexthop_words(put->object, names());
      if (const auto* put = std::get_if<PutRoute>(&command))
        text = route_words(put->route, put->paths, names());
    };
    EXPECT_TRUE(reader.feed(line + "\n", visit).ok());
    return text;
  };
  EXPECT_EQ(shown("nexthop add id 1 via 172.16.1.2 dev veth1"), "id 1 via 172.16.1.2 dev veth1 scope link");
  EXPECT_EQ(shown("nexthop add id 1 via 172.16.1.2 dev veth1 scope link"),
            "id 1 via 172.16.1.2 dev veth1 scope link");
  EXPECT_EQ(shown("nexthop add id 3 dev veth1"), "id 3 dev veth1 scope host");
  EXPECT_EQ(shown("nexthop add id 10 dev veth1", Family::kIpv6), "id 10 dev veth1 scope link");
  EXPECT_EQ(shown("nexthop add id 4 blackhole"), "id 4 blackhole");
  EXPECT_EQ(shown("nexthop add id 13 via 172.16.1.5 fdb"), "id 13 via 172.16.1.5 scope link fdb");
  EXPECT_EQ(shown("nexthop add id 102 group 1,10/2,20"), "id 102 group 1,10/2,20");
  EXPECT_EQ(shown("route add default via 10.0.0.1 dev e0"), "default via 10.0.0.1 dev e0");
  EXPECT_EQ(shown("route add ::/0 nhid 7"), "default nhid 7 metric 1024 pref medium");
  EXPECT_EQ(shown("route add 10.1.1.1 via 10.0.0.1 rto_min 20ms mtu lock 1400"),
            "10.1.1.1 via 10.0.0.1 mtu lock 1400 rto_min lock 20ms");
  EXPECT_EQ(shown("route add 10.1.6.0/24 nexthop via 10.0.0.1 dev e0 nexthop via 10.0.0.2 dev e1 weight 20"),
            "10.1.6.0/24 nexthop via 10.0.0.1 dev e0 weight 1 nexthop via 10.0.0.2 dev e1 weight 20");
  EXPECT_EQ(shown("route add 10.1.0.0/24 dev e0"), "10.1.0.0/24 dev e0 scope link");
}

}  // namespace
}  // namespace waypost
