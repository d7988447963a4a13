#include "cli/names_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace waypost::cli {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargestFile = 1u << 20;

void read_file(const fs::path& path, NumberNames& names) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error || size > kLargestFile) return;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  (void)read_names(text, names);
}

void read_with_directory(const fs::path& file, NumberNames& names) {
  read_file(file, names);
  std::vector<fs::path> parts;
  std::error_code error;
  for (fs::directory_iterator at(file.string() + ".d", error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".conf") parts.push_back(at->path());
  std::sort(parts.begin(), parts.end());
  for (const fs::path& part : parts) read_file(part, names);
}

}  // namespace

NameTables read_host_names(const std::string& root) {
  NameTables names = NameTables::defaults();
  for (const char* directory : {"/usr/share/iproute2/", "/etc/iproute2/"}) {
    const std::string base = root + directory;
    read_with_directory(base + "rt_tables", names.tables);
    read_with_directory(base + "rt_protos", names.protocols);
    read_with_directory(base + "rt_scopes", names.scopes);
    read_with_directory(base + "rt_dsfield", names.dsfields);
  }
  return names;
}

}  // namespace waypost::cli
