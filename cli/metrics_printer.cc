#include <array>
#include <cstdio>

#include "cli/route_printer.h"

namespace waypost::cli {
namespace {

// RTAX_* numbers that print in ways of their own.
constexpr uint8_t kRtt = 4;
constexpr uint8_t kRttVariance = 5;
constexpr uint8_t kHopLimit = 10;
constexpr uint8_t kFeatures = 12;
constexpr uint8_t kMinimumTimeout = 13;
constexpr uint8_t kCongestionControl = 16;

constexpr std::array<std::string_view, 18> kNames = {
    "",         "",        "mtu",      "window",     "rtt",      "rttvar",
    "ssthresh", "cwnd",    "advmss",   "reordering", "hoplimit", "initcwnd",
    "features", "rto_min", "initrwnd", "quickack",   "congctl",  "fastopen_no_cookie"};

bool is_locked(const RouteMetrics& metrics, uint8_t number) {
  return (metrics.lock >> number & 1) != 0;
}

void print_name(RowWriter& row, const RouteMetrics& metrics, uint8_t number) {
  row.text(kNames[number]);
  row.text(" ");
  if (is_locked(metrics, number)) row.text("lock ");
}

// The kernel keeps a round trip time in eighths, its variance in quarters of a millisecond.
void print_milliseconds(RowWriter& row, uint8_t number, uint32_t value) {
  const uint32_t milliseconds = number == kRtt ? value / 8 : number == kRttVariance ? value / 4 : value;
  if (row.json()) return row.number(kNames[number], "", milliseconds);
  char text[32];
  if (milliseconds >= 1000)
    std::snprintf(text, sizeof(text), "%gs ", milliseconds / 1e3);
  else
    std::snprintf(text, sizeof(text), "%ums ", milliseconds);
  row.text(text);
}

void print_features(RowWriter& row, uint32_t features) {
  if ((features & kFeatureEcn) != 0) row.null("ecn", "ecn ");
  const uint32_t rest = features & ~kFeatureEcn;
  if (rest == 0) return;
  char text[16];
  std::snprintf(text, sizeof(text), "0x%x", rest);
  row.string("features", "", text);
}

void print_metric(RowWriter& row, const RouteMetrics& metrics, uint8_t number, uint32_t value) {
  if (number == kHopLimit && value == UINT32_MAX) return;
  print_name(row, metrics, number);
  switch (number) {
    case kRtt:
    case kRttVariance:
    case kMinimumTimeout:
      return print_milliseconds(row, number, value);
    case kFeatures:
      return print_features(row, value);
    case kCongestionControl:
      return row.string("congestion", "", metrics.congestion_control);
    default:
      return row.number(kNames[number], "", value);
  }
}

}  // namespace

void print_metrics(RowWriter& row, const RouteMetrics& metrics) {
  if (metrics.empty()) return;
  row.open_array("metrics");
  row.open_object();
  auto next = metrics.values.begin();
  for (uint8_t number = 2; number < kNames.size(); ++number) {
    const bool present = next != metrics.values.end() && next->first == number;
    const bool text = number == kCongestionControl && !metrics.congestion_control.empty();
    if (present || text || is_locked(metrics, number))
      print_metric(row, metrics, number, present ? next->second : 0);
    if (present) ++next;
  }
  row.close_object();
  row.close_array();
}

}  // namespace waypost::cli
