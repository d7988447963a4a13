// Interface indexes and names of one host: the one we run on, or one whose `ip -j link` is at hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace waypost::cli {

class Links {
 public:
  explicit Links(const std::vector<std::pair<uint32_t, std::string>>& links);
  // What `ip -j link` prints: an array of objects with "ifindex" and "ifname".
  static Result<Links> from_json(std::string_view text);
  static Result<Links> from_file(const std::string& path);

  const std::string* name(uint32_t index) const;
  std::optional<uint32_t> index(std::string_view name) const;

 private:
  std::map<uint32_t, std::string> names_;
  std::map<std::string, uint32_t, std::less<>> indexes_;
};

}  // namespace waypost::cli
