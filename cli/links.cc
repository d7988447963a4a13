#include "cli/links.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace waypost::cli {

Links::Links(const std::vector<std::pair<uint32_t, std::string>>& links) {
  for (const auto& [index, name] : links) {
    names_[index] = name;
    indexes_[name] = index;
  }
}

Result<Links> Links::from_json(std::string_view text) {
  const Error wrong{ErrorCode::kInvalidArgument, "this is not what `ip -j link` prints", "ip -j link >FILE"};
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return wrong;
  std::vector<std::pair<uint32_t, std::string>> links;
  for (const auto& item : json) {
    if (!item.is_object()) return wrong;
    const auto index = item.find("ifindex");
    const auto name = item.find("ifname");
    if (index == item.end() || name == item.end() || !index->is_number_unsigned() || !name->is_string())
      return wrong;
    links.emplace_back(index->get<uint32_t>(), name->get<std::string>());
  }
  return Links(links);
}

Result<Links> Links::from_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kInvalidArgument, "cannot open " + path, "ip -j link >" + path};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<Links> links = from_json(text);
  if (links.ok()) return links;
  Error error = links.error();
  error.message = path + ": " + error.message;
  return error;
}

const std::string* Links::name(uint32_t index) const {
  const auto found = names_.find(index);
  return found == names_.end() ? nullptr : &found->second;
}

std::optional<uint32_t> Links::index(std::string_view name) const {
  const auto found = indexes_.find(name);
  if (found == indexes_.end()) return std::nullopt;
  return found->second;
}

}  // namespace waypost::cli
