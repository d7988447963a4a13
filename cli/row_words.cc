#include "cli/row_words.h"

#include <array>
#include <ctime>

#include "model/row_codec.h"
#include "rpc/waypost.pb.h"

namespace waypost::cli {

std::string_view state_word(uint32_t state) {
  // kernel_sync/status.h, RowState: numbers that are sent are never reused.
  constexpr std::array<std::string_view, 8> kWords = {"unknown",  "installed", "pending",  "local here",
                                                      "degraded", "refused",   "conflict", "unknown"};
  return state < kWords.size() ? kWords[state] : "unknown";
}

std::string report_object(const rpc::RowReport& report) {
  if (!report.is_route()) return "nexthop " + std::to_string(report.nexthop());
  const auto key = decode_route_key(report.route_key());
  return "route " + (key ? to_string(*key) : std::string("with a damaged key"));
}

std::string report_words(const rpc::RowReport& report) {
  std::string words = report_object(report) + ": " + std::string(state_word(report.state()));
  if (!report.reason().empty()) words += ", " + report.reason();
  return words;
}

std::string age_words(uint64_t milliseconds) {
  const uint64_t seconds = milliseconds / 1000;
  if (seconds < 1) return std::to_string(milliseconds) + " ms";
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + " min";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86400) + " days";
}

std::string time_words(uint64_t microseconds_since_1970) {
  const auto seconds = static_cast<std::time_t>(microseconds_since_1970 / 1'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "?";
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string full_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

std::string short_hex(std::string_view bytes) {
  return full_hex(bytes.substr(0, 4));
}

}  // namespace waypost::cli
