#include "tests/cli/files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace waypost::cli {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace waypost::cli
