// The words of route metrics, their values and their units.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/number.h"
#include "model/parse/lines.h"

namespace waypost {
namespace parse {
namespace {

constexpr uint8_t kRtaxRtoMin = 13;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [&](std::string_view candidate) {
    return std::equal(text.begin(), text.end(), candidate.begin(), candidate.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
  });
}

// A bare number is the kernel's own unit; with s or ms it is a time, which the kernel keeps in 1/`scale`
// milliseconds, rounded up to whole milliseconds first.
bool read_time(Cursor& cursor, const Word& keyword, uint64_t scale, uint64_t* out) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  const auto wrong = [&] {
    return cursor.fail(*word, quoted(word->text) + " is not a time",
                       "a time is written 20ms or 1.5s, a number alone is in the kernel's unit");
  };
  const std::string_view text = word->text;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const size_t digits =
      std::min(hexadecimal ? text.size() : text.find_first_not_of("0123456789."), text.size());
  double value = 0;
  if (text.substr(0, digits).find('.') == std::string_view::npos) {
    const auto number = parse_number(text.substr(0, digits), UINT32_MAX);
    if (!number) return wrong();
    value = static_cast<double>(*number);
  } else {
    const auto [stop, error] =
        std::from_chars(text.data(), text.data() + digits, value, std::chars_format::fixed);
    if (error != std::errc() || stop != text.data() + digits) return wrong();
  }
  const std::string_view unit = text.substr(digits);
  if (!unit.empty() && is_one_of(unit, {"s", "sec", "secs"}))
    value *= 1000;
  else if (!unit.empty() && !is_one_of(unit, {"ms", "msec", "msecs"}))
    return wrong();
  value = std::ceil(value) * static_cast<double>(unit.empty() ? 1 : scale);
  if (value > UINT32_MAX) return wrong();
  *out = static_cast<uint64_t>(value);
  return true;
}

bool read_name(Cursor& cursor, const Word& keyword, std::string* out) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  if (word->text.empty() || word->text.size() > kLongestCongestionControl)
    return cursor.fail(*word, quoted(word->text) + " is not the name of a congestion control",
                       "1 to 15 characters");
  *out = word->text;
  return true;
}

bool read_features(Cursor& cursor, const Word& keyword, uint64_t* out) {
  const Word* word = cursor.value(keyword);
  if (word == nullptr) return false;
  if (word->text != "ecn") return cursor.fail(*word, quoted(word->text) + " is not a feature", "ecn is");
  *out = kFeatureEcn;
  return true;
}

bool read_value(Cursor& cursor, const Word& keyword, MetricForm form, uint64_t* out) {
  switch (form) {
    case MetricForm::kNumber:
      return cursor.number(keyword, "a number", 0, UINT32_MAX, out);
    case MetricForm::kTime8:
      return read_time(cursor, keyword, 8, out);
    case MetricForm::kTime4:
      return read_time(cursor, keyword, 4, out);
    case MetricForm::kTime:
      return read_time(cursor, keyword, 1, out);
    case MetricForm::kHoplimit:
      return cursor.number(keyword, "a hop limit", 0, UINT8_MAX, out);
    case MetricForm::kSwitch:
      return cursor.number(keyword, "a switch", 0, 1, out);
    case MetricForm::kFeatures:
      return read_features(cursor, keyword, out);
    case MetricForm::kName:
      break;
  }
  return false;
}

// The kernel does not tell a value of 0 from none, so it is not stored.
void set_value(RouteMetrics* metrics, uint8_t number, uint32_t value) {
  auto& values = metrics->values;
  const auto at = std::lower_bound(values.begin(), values.end(), number,
                                   [](const auto& entry, uint8_t wanted) { return entry.first < wanted; });
  const bool present = at != values.end() && at->first == number;
  if (value == 0 && present) values.erase(at);
  if (value != 0 && present) at->second = value;
  if (value != 0 && !present) values.insert(at, {number, value});
}

}  // namespace

bool read_metric(Cursor& cursor, const Word& keyword, MetricWord metric, RouteMetrics* out) {
  const bool lockable = metric.form != MetricForm::kSwitch && metric.form != MetricForm::kFeatures;
  const bool locked = lockable && cursor.take_lock();
  if (locked || metric.number == kRtaxRtoMin) out->lock |= 1u << metric.number;
  if (metric.form == MetricForm::kName) return read_name(cursor, keyword, &out->congestion_control);
  uint64_t value = 0;
  if (!read_value(cursor, keyword, metric.form, &value)) return false;
  // The kernel cuts these: stored cut, so that what it holds equals what is stored.
  if (metric.number == kRtaxMtu) value = std::min<uint64_t>(value, kLargestMtu);
  if (metric.number == kRtaxAdvmss) value = std::min<uint64_t>(value, kLargestAdvmss);
  set_value(out, metric.number, static_cast<uint32_t>(value));
  return true;
}

}  // namespace parse

std::string_view route_metric_name(uint8_t number) {
  static constexpr std::string_view kNames[] = {
      "",         "",        "mtu",      "window",     "rtt",      "rttvar",
      "ssthresh", "cwnd",    "advmss",   "reordering", "hoplimit", "initcwnd",
      "features", "rto_min", "initrwnd", "quickack",   "congctl",  "fastopen_no_cookie"};
  return number < std::size(kNames) ? kNames[number] : std::string_view();
}

}  // namespace waypost
