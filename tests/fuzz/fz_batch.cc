// Any bytes as an `ip -batch` file: no crash, and a line that is taken prints as words that read back as the
// same command.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "model/parse.h"

namespace waypost {
namespace {

std::string bytes_of(const Command& command) {
  return encode(Transaction{.commands = {command}});
}

std::optional<Family> open_family(const Command& command) {
  const auto* put = std::get_if<PutNexthop>(&command);
  if (put == nullptr || put->object.is_group()) return std::nullopt;
  return put->object.nexthop().family;
}

// Names of devices and congestion controls may hold white space, quotes or `#` where the line quotes them:
// such words are not printed in quotes, so they do not read back.
bool prints_plainly(const std::string& words) {
  return words.find_first_of("'\"#\\\t\r\n") == std::string::npos;
}

void check(const Command& command, std::span<const Word> words) {
  for (const Word& word : words)
    if (word.text.empty() || word.text.find(' ') != std::string_view::npos) return;
  static const NameTables names = NameTables::defaults();
  const std::string text = command_words(command, names);
  if (!prints_plainly(text)) return;
  size_t lines = 0;
  BatchReader reader;
  const auto visit = [&](BatchReader::Line line) {
    ++lines;
    const auto again =
        parse_command(line.words, {.names = &names, .family = open_family(command), .cascade = false});
    if (!std::holds_alternative<Command>(again) || bytes_of(std::get<Command>(again)) != bytes_of(command))
      std::abort();
  };
  if (!reader.feed(text, visit).ok() || !reader.finish(visit).ok() || lines != 1) std::abort();
}

void run(std::string_view text) {
  // The first byte chooses the family and where the text is cut in two.
  const auto choice = static_cast<uint8_t>(text[0]);
  text.remove_prefix(1);
  ParseContext context;
  if (choice % 3 != 0) context.family = choice % 3 == 1 ? Family::kIpv4 : Family::kIpv6;
  const size_t cut = text.size() * (choice / 3) / 85;
  BatchReader reader;
  const auto visit = [&](BatchReader::Line line) {
    const auto parsed = parse_command(line.words, context);
    if (const auto* command = std::get_if<Command>(&parsed)) check(*command, line.words);
  };
  if (!reader.feed(text.substr(0, cut), visit).ok()) return;
  if (!reader.feed(text.substr(cut), visit).ok()) return;
  (void)reader.finish(visit);
}

}  // namespace
}  // namespace waypost

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) waypost::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
