// How fast lines become commands and commands become bytes: 500,000 routes of two paths, on one core, best of
// five.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "model/parse.h"

namespace waypost {
namespace {

constexpr size_t kRoutes = 500'000;
constexpr size_t kPieceBytes = 64u << 10;
constexpr size_t kCommands = 1'000;  // of one transaction

std::string batch_text() {
  std::string text;
  for (uint32_t i = 0; i < kRoutes; ++i)
    text += "route add " + to_string(IpAddress::v4(0x0800'0000 + (i << 8))) +
            "/24 nexthop via 10.7.0.2 dev veth1 nexthop via 10.7.1.2 dev veth2\n";
  return text;
}

void measure(const char* name, const std::function<size_t()>& work) {
  double best = 1e9;
  size_t done = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    done = work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("%-28s %9.0f routes/s\n", name, static_cast<double>(done) / best);
}

template <typename Visit>
void read_all(const std::string& text, Visit&& visit) {
  BatchReader reader;
  for (size_t at = 0; at < text.size(); at += kPieceBytes)
    if (!reader.feed(std::string_view(text).substr(at, kPieceBytes), visit).ok()) std::abort();
}

void run() {
  const std::string text = batch_text();
  const NameTables names = NameTables::defaults();
  const ParseContext context{.names = &names, .family = std::nullopt, .cascade = false};
  Transaction transaction;
  measure("file to words", [&] {
    size_t lines = 0;
    read_all(text, [&](BatchReader::Line) { ++lines; });
    return lines;
  });
  measure("file to commands", [&] {
    size_t lines = 0;
    read_all(text, [&](BatchReader::Line line) {
      auto parsed = parse_command(line.words, context);
      auto* command = std::get_if<Command>(&parsed);
      if (command == nullptr) std::abort();
      if (transaction.commands.size() < kCommands) transaction.commands.push_back(std::move(*command));
      ++lines;
    });
    return lines;
  });
  std::string bytes;
  measure("commands to bytes", [&] {
    for (size_t i = 0; i < kRoutes / kCommands; ++i) bytes = encode(transaction);
    return kRoutes;
  });
  measure("bytes to commands", [&] {
    for (size_t i = 0; i < kRoutes / kCommands; ++i)
      if (!decode_transaction(bytes).ok()) std::abort();
    return kRoutes;
  });
  measure("commands to words", [&] {
    size_t length = 0;
    for (size_t i = 0; i < kRoutes; ++i)
      length += command_words(transaction.commands[i % kCommands], names).size();
    return length == 0 ? size_t{0} : kRoutes;
  });
  std::printf("%zu bytes a command\n", bytes.size() / kCommands);
}

}  // namespace
}  // namespace waypost

int main() {
  waypost::run();
}
