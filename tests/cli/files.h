// Files that the tests here read whole.
#pragma once

#include <filesystem>
#include <string>

namespace waypost::cli {

// Fails the test that runs where there is no such file.
std::string read_file(const std::filesystem::path& path);

}  // namespace waypost::cli
