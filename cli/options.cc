#include "cli/options.h"

#include <array>
#include <charconv>

#include "model/parse/cursor.h"

namespace waypost::cli {
namespace {

constexpr std::string_view kDefaultEndpoint = "127.0.0.1:7601";
constexpr int64_t kLongestTimeoutMs = 24ll * 3600 * 1000;

Error usage(std::string message, std::string hint = "`waypost help` lists the options") {
  return {ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

// One option: its name without dashes, the shortest prefix that `ip` takes for it, and what it does. A null
// `set` with a `take` means that it takes a value.
struct Rule {
  std::string_view name;
  size_t shortest;
  void (*set)(Options& options);
  Status (*take)(Options& options, std::string_view value);
};

Status take_family(Options& options, std::string_view value) {
  if (value == "inet") return options.family = Family::kIpv4, Status();
  if (value == "inet6") return options.family = Family::kIpv6, Status();
  return usage("-family is inet or inet6, not \"" + std::string(value) + "\"");
}

Status take_timeout(Options& options, std::string_view value) {
  const Result<std::chrono::milliseconds> duration = parse_duration(value);
  if (!duration.ok()) return duration.error();
  options.timeout = *duration;
  return {};
}

Status take_limit(Options& options, std::string_view value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.limit);
  if (error == std::errc() && end == value.data() + value.size() && options.limit > 0) return {};
  return usage("--limit is a number of rows from 1 on, not \"" + std::string(value) + "\"");
}

// stored | fib | fib:N%
Status take_wait(Options& options, std::string_view value) {
  if (value == "stored") return options.wait = {}, Status();
  const Error wrong = usage("--wait is stored, fib or fib:N%, not \"" + std::string(value) + "\"");
  if (!value.starts_with("fib")) return wrong;
  value.remove_prefix(3);
  options.wait = {.fib = true, .percent = 100};
  if (value.empty()) return {};
  if (value.front() != ':') return wrong;
  value.remove_prefix(1);
  if (value.ends_with('%')) value.remove_suffix(1);
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.wait.percent);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  if (!whole || options.wait.percent < 1 || options.wait.percent > 100) return wrong;
  return {};
}

Status take_endpoints(Options& options, std::string_view value) {
  options.endpoints.clear();
  while (!value.empty()) {
    const size_t comma = std::min(value.find(','), value.size());
    if (comma > 0) options.endpoints.emplace_back(value.substr(0, comma));
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  if (options.endpoints.empty()) return usage("--endpoints names no endpoint", "HOST:PORT[,HOST:PORT...]");
  return {};
}

constexpr auto kRules = std::to_array<Rule>({
    {"4", 1, [](Options& o) { o.family = Family::kIpv4; }, nullptr},
    {"6", 1, [](Options& o) { o.family = Family::kIpv6; }, nullptr},
    {"batch", 1, nullptr,
     [](Options& o, std::string_view v) { return o.batch_file = std::string(v), Status(); }},
    {"details", 1, [](Options& o) { o.print.details = true; }, nullptr},
    {"family", 1, nullptr, take_family},
    {"force", 2, [](Options& o) { o.force = true; }, nullptr},
    {"help", 1, [](Options& o) { o.help = true; }, nullptr},
    {"json", 1, [](Options& o) { o.print.json = true; }, nullptr},
    {"numeric", 1, [](Options& o) { o.print.numeric = true; }, nullptr},
    {"Numeric", 1, [](Options& o) { o.print.numeric = true; }, nullptr},
    {"oneline", 1, [](Options& o) { o.print.one_line = true; }, nullptr},
    {"pretty", 1, [](Options& o) { o.print.pretty = true; }, nullptr},
    {"timestamp", 1, [](Options& o) { o.timestamp = Timestamp::kLong; }, nullptr},
    {"tshort", 2, [](Options& o) { o.timestamp = Timestamp::kShort; }, nullptr},
    {"ts", 2, [](Options& o) { o.timestamp = Timestamp::kShort; }, nullptr},
    {"Version", 1, [](Options& o) { o.version = true; }, nullptr},
    {"version", 3, [](Options& o) { o.version = true; }, nullptr},
    {"yes", 1, [](Options& o) { o.yes = true; }, nullptr},
    {"after", 2, nullptr, [](Options& o, std::string_view v) { return o.after = std::string(v), Status(); }},
    {"atomic", 2, [](Options& o) { o.atomic = true; }, nullptr},
    {"cascade", 3, [](Options& o) { o.cascade = true; }, nullptr},
    {"cluster", 3, nullptr,
     [](Options& o, std::string_view v) { return o.cluster = std::string(v), Status(); }},
    {"data-dir", 3, nullptr,
     [](Options& o, std::string_view v) { return o.data_dir = std::string(v), Status(); }},
    {"dry-run", 3, [](Options& o) { o.dry_run = true; }, nullptr},
    {"endpoints", 3, nullptr, take_endpoints},
    {"inline", 3, [](Options& o) { o.inline_paths = true; }, nullptr},
    {"limit", 3, nullptr, take_limit},
    {"links", 3, nullptr,
     [](Options& o, std::string_view v) { return o.links_file = std::string(v), Status(); }},
    {"log", 3, nullptr, [](Options& o, std::string_view v) { return o.log = std::string(v), Status(); }},
    {"skip-other", 3, [](Options& o) { o.skip_other = true; }, nullptr},
    {"stale", 3, [](Options& o) { o.stale = true; }, nullptr},
    {"timeout", 3, nullptr, take_timeout},
    {"wait", 3, nullptr, take_wait},
});

const Rule* find_rule(std::string_view name) {
  for (const Rule& rule : kRules)
    if (rule.name == name) return &rule;
  for (const Rule& rule : kRules)
    if (name.size() >= rule.shortest && rule.name.starts_with(name)) return &rule;
  return nullptr;
}

bool set_colour(Options& options, std::string_view value) {
  if (value.empty() || value == "always") return options.colour = ColourMode::kAlways, true;
  if (value == "auto") return options.colour = ColourMode::kAuto, true;
  if (value == "never") return options.colour = ColourMode::kNever, true;
  return false;
}

// -w table|json, or -w alone: watch.
bool takes_write_format(Options& options, std::string_view value) {
  if (value != "table" && value != "json") return false;
  options.write = value == "json" ? WriteFormat::kJson : WriteFormat::kTable;
  return true;
}

Error unknown_option(std::string_view argument, std::string_view name) {
  std::vector<std::string_view> names = {"color", "netns", "watch"};
  for (const Rule& rule : kRules) names.push_back(rule.name);
  const std::string near = parse::did_you_mean(name, names);
  return usage("option \"" + std::string(argument) + "\" is unknown",
               near.empty() ? "`waypost help` lists the options" : near);
}

// Reads the option at `at`, with its value where it takes one; `at` is then its last word.
Status take_option(std::span<const std::string> arguments, size_t& at, Options& options) {
  const std::string_view argument = arguments[at];
  std::string_view name = argument.substr(argument.starts_with("--") ? 2 : 1);
  std::optional<std::string_view> value;
  if (const size_t equals = name.find('='); equals != std::string_view::npos) {
    value = name.substr(equals + 1);
    name = name.substr(0, equals);
  }
  const bool has_next = at + 1 < arguments.size();
  if (name == "w" || name == "watch") {
    if (value) return takes_write_format(options, *value) ? Status() : usage("-w is table or json");
    if (has_next && takes_write_format(options, arguments[at + 1])) return ++at, Status();
    return options.watch = true, Status();
  }
  const std::string_view colour = "color";
  if (!name.empty() && (colour.starts_with(name) || name == "colour")) {
    if (set_colour(options, value.value_or(""))) return {};
    return usage("-color is always, auto or never, not \"" + std::string(*value) + "\"");
  }
  if (name == "n" || name == "netns")
    return usage("-netns is not taken: routes are stored, not set in a namespace",
                 "start waypostd in the namespace; the command line may run anywhere");
  const Rule* rule = find_rule(name);
  if (rule == nullptr) return unknown_option(argument, name);
  if (rule->take == nullptr) {
    if (value) return usage("option \"" + std::string(rule->name) + "\" takes no value");
    return rule->set(options), Status();
  }
  if (!value && !has_next) return usage("option \"" + std::string(argument) + "\" needs a value");
  if (!value) value = arguments[++at];
  return rule->take(options, *value);
}

}  // namespace

Result<Arguments> parse_options(std::span<const std::string> arguments, const Environment& environment) {
  Arguments parsed;
  Options& options = parsed.options;
  if (const std::string named = environment("WAYPOST_ENDPOINTS"); !named.empty()) {
    if (Status status = take_endpoints(options, named); !status.ok())
      return usage("WAYPOST_ENDPOINTS names no endpoint", "HOST:PORT[,HOST:PORT...]");
  }
  for (size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument.size() < 2 || argument[0] != '-') {
      parsed.words.push_back(argument);
      continue;
    }
    if (Status status = take_option(arguments, at, options); !status.ok()) return status.error();
  }
  if (options.endpoints.empty()) options.endpoints.emplace_back(kDefaultEndpoint);
  if (options.atomic && options.force)
    return usage("--atomic and -force contradict each other",
                 "all or nothing, or go on behind refused lines");
  return parsed;
}

Status check_options(const Options& options, CommandKind kind) {
  struct Narrow {
    std::string_view name;
    bool given;
    std::initializer_list<CommandKind> kinds;
    std::string_view takers;
  };
  using enum CommandKind;
  const Narrow all[] = {
      {"--after", options.after.has_value(), {kList}, "`nexthop list` and `route list`"},
      {"--atomic", options.atomic, {kBatch}, "-batch"},
      {"--cascade", options.cascade, {kChange, kFlush, kBatch}, "`nexthop del`, `nexthop flush` and -batch"},
      {"--cluster", options.cluster.has_value(), {kCluster}, "`cluster grow`"},
      {"--data-dir", options.data_dir.has_value(), {kSnapshot}, "`snapshot restore`"},
      {"--dry-run",
       options.dry_run,
       {kFlush, kRollback, kChange},
       "flush, rollback and `nexthop del` with --cascade"},
      {"--inline", options.inline_paths, {kRestore}, "`route restore`"},
      {"--limit", options.limit > 0, {kList}, "`nexthop list` and `route list`"},
      {"--links", options.links_file.has_value(), {kSave, kRestore}, "`route save` and `route restore`"},
      {"--log", options.log.has_value(), {kCluster}, "`cluster grow`"},
      {"--skip-other", options.skip_other, {kBatch}, "-batch"},
      {"-w", options.watch, {kNode}, "`node list`"},
  };
  for (const Narrow& narrow : all)
    if (narrow.given && std::find(narrow.kinds.begin(), narrow.kinds.end(), kind) == narrow.kinds.end())
      return usage(std::string(narrow.name) + " means nothing here; nothing was done",
                   "it goes with " + std::string(narrow.takers));
  return {};
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const Error wrong = usage("\"" + std::string(text) + "\" is not a duration",
                            "for example 500ms, 5s, 2m or 1h; at most a day");
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return wrong;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double factor = unit == "ms"                  ? 1
                        : unit.empty() || unit == "s" ? 1e3
                        : unit == "m"                 ? 60e3
                        : unit == "h"                 ? 3600e3
                                                      : 0;
  const double milliseconds = number * factor;
  if (factor == 0 || !(milliseconds >= 1) || milliseconds > static_cast<double>(kLongestTimeoutMs))
    return wrong;
  return std::chrono::milliseconds(static_cast<int64_t>(milliseconds));
}

ColourScheme colour_scheme(const Options& options, bool terminal, const Environment& environment) {
  if (options.colour == ColourMode::kNever || options.print.json) return ColourScheme::kOff;
  if (options.colour == ColourMode::kAuto && (!terminal || !environment("NO_COLOR").empty()))
    return ColourScheme::kOff;
  // The last field of COLORFGBG is the background: 0 to 6 and 8 are dark, as `ip` reads it.
  const std::string grounds = environment("COLORFGBG");
  const size_t mark = grounds.rfind(';');
  if (mark == std::string::npos || mark + 2 != grounds.size()) return ColourScheme::kLight;
  const char background = grounds.back();
  const bool dark = (background >= '0' && background <= '6') || background == '8';
  return dark ? ColourScheme::kDark : ColourScheme::kLight;
}

}  // namespace waypost::cli
