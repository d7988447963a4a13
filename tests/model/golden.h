// Golden pages: blocks of an input, a line of four dashes and the output. With WAYPOST_REWRITE set the page
// is written anew from what the code says now; the difference is then read in the review.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace waypost::test {

// `run` gets an input with its newline and returns the output with its newlines. Lines that begin with ## are
// headings.
inline void check_golden_page(const std::string& name,
                              const std::function<std::string(const std::string&)>& run,
                              const std::string& room = "model") {
  const std::string path = std::string(WAYPOST_SOURCE_DIR) + "/tests/" + room + "/golden/" + name;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::string page, rewritten, input, expected, line;
  bool in_output = false;
  const auto end_block = [&] {
    if (!in_output) return;
    const std::string output = run(input);
    EXPECT_EQ(output, expected) << name << ": " << input;
    rewritten += input + "----\n" + output + "\n";
    input.clear();
    expected.clear();
    in_output = false;
  };
  while (std::getline(file, line)) {
    page += line + "\n";
    if (line.empty())
      end_block();
    else if (line.starts_with("##"))
      rewritten += line + "\n\n";
    else if (line == "----")
      in_output = true;
    else
      (in_output ? expected : input) += line + "\n";
  }
  end_block();
  if (std::getenv("WAYPOST_REWRITE") != nullptr && rewritten != page) std::ofstream(path) << rewritten;
}

}  // namespace waypost::test
