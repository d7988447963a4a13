// Golden pages: commands, `----`, what they print. Each page of golden/ runs on a fresh daemon, through the
// same run() as the binary. WAYPOST_REWRITE=1 writes the pages anew.
//
// A block is lines up to `----`, then its output up to an empty line. A line is a command of waypost, a word
// with spaces in "quotes"; `< FILE` and `> FILE` in front of it are its standard input and output; `file
// NAME` makes a file of the lines behind it, `corrupt FILE BYTE` and `cut FILE BYTES` damage one. Of the
// output, lines of standard error have
// `! ` in front, and `-> N` is an exit code that is not 0.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <regex>
#include <sstream>

#include "cli/app.h"
#include "tests/cli/daemon.h"
#include "tests/cli/files.h"

namespace waypost::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kPages = fs::path(WAYPOST_SOURCE_DIR) / "tests/cli/golden";

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> split(const std::string& line) {
  std::istringstream rest(line);
  std::vector<std::string> words;
  for (std::string word; rest >> std::quoted(word);) words.push_back(word);
  return words;
}

class Page {
 public:
  explicit Page(const fs::path& path) : path_(path) {
    for (const auto& entry : fs::directory_iterator(fs::path(WAYPOST_SOURCE_DIR) / "tests/data/json"))
      if (entry.path().extension() == ".bin") fs::copy_file(entry.path(), place(entry.path().filename()));
  }

  // The page as it is today.
  std::string run() {
    std::istringstream page(read_file(path_));
    std::string line, written;
    std::vector<std::string> block;
    bool in_output = false;
    while (std::getline(page, line)) {
      if (in_output) {
        in_output = !line.empty();
        if (!in_output) written += "\n";
      } else if (line == "----") {
        written += "----\n" + output_of(block);
        block.clear();
        in_output = true;
      } else {
        written += line + "\n";
        if (!line.starts_with("#") && !line.empty()) block.push_back(line);
      }
    }
    return written;
  }

 private:
  fs::path place(const fs::path& name) const { return fs::path(daemon_.directory()) / name; }

  std::string output_of(const std::vector<std::string>& block) {
    std::string output;
    for (size_t i = 0; i < block.size(); ++i) {
      const std::vector<std::string> words = split(block[i]);
      if (words[0] == "file") {
        std::string content;
        while (++i < block.size()) content += block[i] + "\n";
        write_file(place(words[1]), content);
      } else if (words[0] == "corrupt") {
        std::string bytes = read_file(place(words[1]));
        bytes[std::stoul(words[2])] ^= 0x55;
        write_file(place(words[1]), bytes);
      } else if (words[0] == "cut") {
        write_file(place(words[1]), read_file(place(words[1])).substr(0, std::stoul(words[2])));
      } else {
        output += command(words);
      }
    }
    return output;
  }

  std::string command(std::vector<std::string> words) {
    std::string input = "/dev/null", target;
    for (; words[0] == "<" || words[0] == ">"; words.erase(words.begin(), words.begin() + 2))
      (words[0] == "<" ? input : target) = words[0] == "<" ? place(words[1]).string() : words[1];
    for (size_t i = 1; i < words.size(); ++i)
      if (words[i - 1] == "-batch" || words[i - 1] == "--links")
        if (words[i] != "-") words[i] = place(words[i]);
    Output out, err;
    const int standard_input = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
    const std::string endpoint = daemon_.endpoint();
    const Host host{
        .environment =
            [&](const char* name) { return std::string(name) == "WAYPOST_ENDPOINTS" ? endpoint : ""; },
        .links =
            [] {
              return std::vector<std::pair<uint32_t, std::string>>{{1, "lo"}, {3, "e0"}, {5, "e1"}};
            },
        .standard_input = standard_input,
        .program_directory = {},
        .author = "operator@host"};
    const int code = run_cli(words, host, out, err);
    ::close(standard_input);
    std::string text;
    if (target.empty()) {
      text = out.text();
    } else {
      write_file(place(target), out.text());
    }
    std::istringstream lines(err.text());
    for (std::string line; std::getline(lines, line);) text += "! " + line + "\n";
    if (code != 0) text += "-> " + std::to_string(code) + "\n";
    return normal(text);
  }

  int run_cli(const std::vector<std::string>& words, const Host& host, Output& out, Output& err) {
    return waypost::cli::run(words, host, NameTables::defaults(), real_remotes(), out, err);
  }

  // What differs from run to run.
  std::string normal(std::string text) const {
    text = std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"), "TIME");
    text = std::regex_replace(text, std::regex(daemon_.endpoint()), "ENDPOINT");
    text = std::regex_replace(text, std::regex(daemon_.directory() + "/"), "");
    text = std::regex_replace(text, std::regex(R"([0-9a-f]{32})"), "HEX");
    text = std::regex_replace(text, std::regex(R"(at revision \d+: digest)"), "at revision N: digest");
    // An empty line ends a block's output.
    return std::regex_replace(text, std::regex("\n(?=\n)"), "\n.");
  }

  const fs::path path_;
  Daemon daemon_;
};

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, PageIsWhatIsPrinted) {
  const fs::path path = kPages / (GetParam() + ".txt");
  const std::string printed = Page(path).run();
  if (std::getenv("WAYPOST_REWRITE") != nullptr) write_file(path, printed);
  EXPECT_EQ(printed, read_file(path));
}

INSTANTIATE_TEST_SUITE_P(Pages, Golden,
                         testing::Values("usage", "nexthop", "route", "batch", "batch_force", "batch_atomic",
                                         "save", "past", "cluster", "paging", "misplaced"),
                         [](const auto& page) { return page.param; });

}  // namespace
}  // namespace waypost::cli
