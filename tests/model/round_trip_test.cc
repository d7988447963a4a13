// Whatever a command says, its words say the same: generated commands go to words, through the reader and the
// parser, and must come back equal.
#include <gtest/gtest.h>

#include <cstdlib>

#include "model/parse.h"
#include "tests/model/command_generator.h"
#include "tests/model/hex.h"

namespace waypost {
namespace {

std::string bytes_of(const Command& command) {
  return encode(Transaction{.commands = {command}});
}

// The family of nexthops without an address is given by -4 or -6.
std::optional<Family> open_family(const Command& command) {
  const auto* put = std::get_if<PutNexthop>(&command);
  if (put == nullptr || put->object.is_group()) return std::nullopt;
  return put->object.nexthop().family;
}

Command read_back(const std::string& words, const NameTables& names, std::optional<Family> family) {
  Command command;
  BatchReader reader;
  const auto visit = [&](BatchReader::Line line) {
    auto parsed = parse_command(line.words, {.names = &names, .family = family, .cascade = false});
    if (const auto* error = std::get_if<ParseError>(&parsed))
      ADD_FAILURE() << words << "\n" << error->column << ": " << error->error.message;
    else
      command = std::get<Command>(std::move(parsed));
  };
  EXPECT_TRUE(reader.feed(words, visit).ok());
  EXPECT_TRUE(reader.finish(visit).ok());
  return command;
}

uint32_t seed() {
  const char* given = std::getenv("WAYPOST_SEED");
  return given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 20240611;
}

TEST(RoundTrip, CommandsThroughWords) {
  std::printf("seed %u (WAYPOST_SEED)\n", seed());
  test::CommandGenerator generator(seed());
  const NameTables names = NameTables::defaults();
  for (int round = 0; round < 20'000; ++round) {
    const Command command = generator.next();
    const std::string words = command_words(command, names);
    const Command back = read_back(words, names, open_family(command));
    ASSERT_EQ(test::hex(bytes_of(back)), test::hex(bytes_of(command))) << "round " << round << ": " << words;
  }
}

// What `show` prints is taken back too, behind a verb.
TEST(RoundTrip, RowsThroughShownWords) {
  test::CommandGenerator generator(seed() + 1);
  const NameTables names = NameTables::defaults();
  for (int round = 0; round < 20'000; ++round) {
    const Command command = generator.next();
    std::string words;
    std::optional<Family> family = open_family(command);
    if (const auto* put = std::get_if<PutNexthop>(&command)) {
      words = "nexthop add " + nexthop_words(put->object, names);
    } else if (const auto* route = std::get_if<PutRoute>(&command)) {
      words = "route add " + route_words(route->route, route->paths, names);
      family = route->route.key.prefix.family();
    } else {
      continue;
    }
    Command expected = command;
    if (auto* put = std::get_if<PutNexthop>(&expected)) put->verb = Verb::kAdd;
    if (auto* put = std::get_if<PutRoute>(&expected)) put->verb = Verb::kAdd;
    ASSERT_EQ(test::hex(bytes_of(read_back(words, names, family))), test::hex(bytes_of(expected)))
        << "round " << round << ": " << words;
  }
}

// The bytes of transactions hold the same commands.
TEST(RoundTrip, CommandsThroughBytes) {
  test::CommandGenerator generator(seed() + 2);
  for (int round = 0; round < 500; ++round) {
    Transaction transaction;
    for (int i = 0; i < 20; ++i) transaction.commands.push_back(generator.next());
    const std::string bytes = encode(transaction);
    const auto decoded = decode_transaction(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    ASSERT_EQ(test::hex(encode(*decoded)), test::hex(bytes));
  }
}

}  // namespace
}  // namespace waypost
