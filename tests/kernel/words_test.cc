// The parser against the real `ip`: a line and the words that we make of it must leave the same objects in
// the kernel, and what the parser calls wrong must be wrong to `ip` too.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "model/parse.h"
#include "tests/kernel/namespace_guard.h"

namespace waypost::kernel_sync {
namespace {

constexpr const char* kHost =
    "link set lo up\n"
    "link add e0 type veth peer name e0p\n"
    "link add e1 type veth peer name e1p\n"
    "link set e0 up\nlink set e0p up\nlink set e1 up\nlink set e1p up\n"
    "addr add 10.7.0.1/24 dev e0\naddr add 10.7.1.1/24 dev e1\n"
    "addr add 2001:db8:70::1/64 dev e0 nodad\naddr add 2001:db8:71::1/64 dev e1 nodad\n"
    "nexthop add id 1 via 10.7.0.2 dev e0\nnexthop add id 2 via 10.7.1.2 dev e1\n"
    "nexthop add id 3 via 2001:db8:70::2 dev e0\nnexthop add id 4 via 2001:db8:71::2 dev e1\n"
    "nexthop add id 10 blackhole\n"
    "nexthop add id 20 via 10.7.0.20 fdb\nnexthop add id 21 via 10.7.0.21 fdb\n";

// A scratch directory for batch files and what `ip` says.
class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/waypost-words.XXXXXX";
    path_ = mkdtemp(name);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs `ip OPTIONS -batch` on `text`; the exit code, and what it wrote.
struct IpRun {
  int exit_code = 0;
  std::string output;
  std::string errors;
};
IpRun run_ip(const std::string& options, const std::string& text) {
  static const Scratch scratch;
  std::ofstream(scratch.file("batch")) << text;
  const std::string command = "ip " + options + " -batch " + scratch.file("batch") + " >" +
                              scratch.file("out") + " 2>" + scratch.file("err");
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 255, read_file(scratch.file("out")),
          read_file(scratch.file("err"))};
}

void make_host() {
  for (const char* knob : {"all/accept_dad", "default/accept_dad"})
    std::ofstream(std::string("/proc/sys/net/ipv6/conf/") + knob) << 0;
  // The kernel gives link-local addresses of its own: they are no matter here, but must not come in the
  // middle.
  std::ofstream("/proc/sys/net/ipv6/conf/default/addr_gen_mode") << 1;
  const IpRun made = run_ip("", kHost);
  ASSERT_EQ(made.exit_code, 0) << made.errors;
}

const NameTables& names() {
  static const NameTables names = NameTables::defaults();
  return names;
}

std::variant<Command, ParseError> parsed(const std::string& line, std::optional<Family> family) {
  std::variant<Command, ParseError> result;
  BatchReader reader;
  const auto visit = [&](BatchReader::Line words) {
    result = parse_command(words.words, {.names = &names(), .family = family, .cascade = false});
  };
  EXPECT_TRUE(reader.feed(line + "\n", visit).ok());
  return result;
}

// The command that takes away what `command` put.
std::string undo_words(const Command& command) {
  if (const auto* put = std::get_if<PutNexthop>(&command))
    return command_words(DeleteNexthop{.id = put->object.id, .cascade = false}, names());
  const RouteKey& key = std::get<PutRoute>(command).route.key;
  DeleteRoute undo;
  undo.table = key.table;
  undo.prefix = key.prefix;
  undo.tos = key.tos;
  undo.metric = key.metric;
  return command_words(undo, names());
}

// What `now` has between the parts in front and behind that it shares with `before`.
std::string added(const std::string& now, const std::string& before) {
  const size_t shortest = std::min(now.size(), before.size());
  size_t front = 0, behind = 0;
  while (front < shortest && now[front] == before[front]) ++front;
  while (behind < shortest - front && now[now.size() - 1 - behind] == before[before.size() - 1 - behind])
    ++behind;
  return now.substr(front, now.size() - front - behind);
}

constexpr const char* kShow = "nexthop show\nroute show table all\n";

// One corpus line, our words for it, and what takes it away again.
struct Sample {
  std::string line;
  std::string words;
  std::string undo;
};

// In `ip -d -j` every show is one line of output: for each sample, the two after the line and the two after
// the words.
void compare(const std::string& options, const std::vector<Sample>& samples) {
  std::string batch = kShow;
  for (const Sample& sample : samples)
    for (const std::string& put : {sample.line, sample.words})
      batch += put + "\n" + kShow + sample.undo + "\n";
  batch += kShow;
  const IpRun run = run_ip(options + " -d -j", batch);
  ASSERT_EQ(run.exit_code, 0) << run.errors << batch;
  std::vector<std::string> shown;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) shown.push_back(line);
  ASSERT_EQ(shown.size(), 4 * samples.size() + 4) << run.output << run.errors;
  const auto at = [&](size_t show) { return shown[2 * show] + "\n" + shown[2 * show + 1]; };
  EXPECT_EQ(at(2 * samples.size() + 1), at(0)) << "the last state is not the first";
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(added(at(2 * i + 1), at(0)), added(at(2 * i + 2), at(0))) << samples[i].line << "\n"
                                                                        << samples[i].words;
    EXPECT_NE(at(2 * i + 1), at(0)) << "nothing came of: " << samples[i].line;
  }
}

// A line and our words for it are the same to the kernel, for every word of the grammar.
TEST(Words, AreTheSameToTheKernel) {
  NamespaceGuard guard;
  make_host();
  std::vector<Sample> any, ipv6;
  std::ifstream corpus(std::string(WAYPOST_SOURCE_DIR) + "/tests/kernel/words_corpus.txt");
  for (std::string line; std::getline(corpus, line);) {
    if (line.starts_with("#")) continue;
    const bool is_ipv6 = line.starts_with("-6 ");
    if (is_ipv6) line.erase(0, 3);
    const auto result = parsed(line, is_ipv6 ? std::optional(Family::kIpv6) : std::nullopt);
    const auto* error = std::get_if<ParseError>(&result);
    ASSERT_EQ(error, nullptr) << line << "\n" << error->error.message;
    const Command& command = std::get<Command>(result);
    (is_ipv6 ? ipv6 : any).push_back({line, command_words(command, names()), undo_words(command)});
  }
  ASSERT_GT(any.size(), 100u);
  compare("", any);
  compare("-6", ipv6);
}

// What is refused here though `ip` takes it, each for its reason.
const std::set<std::string>& refused_only_here() {
  static const std::set<std::string> lines = {
      "nexthop add id 1 encap seg6 mode encap dev e0",  // `ip` sends what happens to be in its buffer
      "route add 10.0.0.0/8 nhid 1 rtt 4294967295s",    // `ip` lets it overflow
      "route add 10.0.0.0/8 nhid 0",                    // the same as no nhid
  };
  return lines;
}

// The sections of the parser's golden page that are about grammar: `ip` or the kernel refuses every one of
// their lines. (The others are about what is not stored, or about commands.)
TEST(Words, WrongOnesAreWrongToIp) {
  NamespaceGuard guard;
  make_host();
  std::ifstream page(std::string(WAYPOST_SOURCE_DIR) + "/tests/model/golden/refused.txt");
  ASSERT_TRUE(page);
  bool in_section = false, in_output = false;
  int checked = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("##")) {
      in_section = line == "## Words that are not known" || line == "## Values" ||
                   line == "## What does not go together";
    } else if (line.empty() || line == "----") {
      in_output = !line.empty();
    } else if (in_section && !in_output && !refused_only_here().contains(line)) {
      std::string options, text = line;
      if (text.starts_with("-")) {
        options = text.substr(0, 2);
        text.erase(0, 3);
      }
      EXPECT_NE(run_ip(options, text + "\n").exit_code, 0) << line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 60);
}

}  // namespace
}  // namespace waypost::kernel_sync
