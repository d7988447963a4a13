#include "model/names.h"

#include <algorithm>
#include <utility>

#include "model/number.h"

namespace waypost {
namespace {

constexpr std::pair<uint32_t, const char*> kTables[] = {
    {0, "unspec"}, {253, "default"}, {254, "main"}, {255, "local"}};

constexpr std::pair<uint32_t, const char*> kProtocols[] = {
    {0, "unspec"}, {1, "redirect"}, {2, "kernel"},      {3, "boot"},   {4, "static"},    {8, "gated"},
    {9, "ra"},     {10, "mrt"},     {11, "zebra"},      {12, "bird"},  {13, "dnrouted"}, {14, "xorp"},
    {15, "ntk"},   {16, "dhcp"},    {18, "keepalived"}, {42, "babel"}, {87, "waypost"},  {99, "openr"},
    {186, "bgp"},  {187, "isis"},   {188, "ospf"},      {189, "rip"},  {192, "eigrp"}};

constexpr std::pair<uint32_t, const char*> kScopes[] = {
    {0, "global"}, {200, "site"}, {253, "link"}, {254, "host"}, {255, "nowhere"}};

constexpr std::pair<uint32_t, const char*> kDsfields[] = {
    {0x00, "default"}, {0x28, "AF11"}, {0x30, "AF12"}, {0x38, "AF13"}, {0x48, "AF21"}, {0x50, "AF22"},
    {0x58, "AF23"},    {0x68, "AF31"}, {0x70, "AF32"}, {0x78, "AF33"}, {0x88, "AF41"}, {0x90, "AF42"},
    {0x98, "AF43"},    {0x20, "CS1"},  {0x40, "CS2"},  {0x60, "CS3"},  {0x80, "CS4"},  {0xA0, "CS5"},
    {0xC0, "CS6"},     {0xE0, "CS7"},  {0xB8, "EF"}};

std::string_view next_word(std::string_view& line) {
  static constexpr std::string_view kBlank = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  return word;
}

// True for an empty line and for "NUMBER NAME"; what follows the name is ignored, as iproute2 does.
bool read_line(std::string_view line, NumberNames& names) {
  line = line.substr(0, line.find('#'));
  const std::string_view first = next_word(line);
  if (first.empty()) return true;
  const std::string_view name = next_word(line);
  const auto number = parse_number(first, UINT32_MAX);
  if (name.empty() || !number) return false;
  names.add(static_cast<uint32_t>(*number), std::string(name));
  return true;
}

}  // namespace

void NumberNames::add(uint32_t number, std::string name) {
  numbers_[name] = number;
  names_[number] = std::move(name);
}

std::optional<uint32_t> NumberNames::number(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

std::string NumberNames::text(uint32_t number) const {
  const auto found = names_.find(number);
  return found == names_.end() ? std::to_string(number) : found->second;
}

NameTables NameTables::defaults() {
  NameTables names;
  for (const auto& [number, name] : kTables) names.tables.add(number, name);
  for (const auto& [number, name] : kProtocols) names.protocols.add(number, name);
  for (const auto& [number, name] : kScopes) names.scopes.add(number, name);
  for (const auto& [number, name] : kDsfields) names.dsfields.add(number, name);
  return names;
}

int read_names(std::string_view text, NumberNames& names) {
  int first_bad = 0;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (!read_line(text.substr(0, end), names) && first_bad == 0) first_bad = line_number;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return first_bad;
}

}  // namespace waypost
