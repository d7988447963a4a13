// Options in, values out: abbreviations as `ip` takes them, ours anywhere, errors with the nearest name.
#include "cli/options.h"

#include <gtest/gtest.h>

#include <map>

namespace waypost::cli {
namespace {

using std::chrono::milliseconds;

Result<Arguments> parse(const std::vector<std::string>& arguments,
                        std::map<std::string, std::string> environment = {}) {
  return parse_options(arguments, [environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  });
}

std::string error_of(const std::vector<std::string>& arguments) {
  const Result<Arguments> parsed = parse(arguments);
  return parsed.ok() ? "ok" : parsed.error().message + " | " + parsed.error().hint;
}

TEST(Options, TakesIpsAbbreviations) {
  const Arguments parsed = *parse({"-6", "-j", "-d", "-o", "-p", "route", "show"});
  EXPECT_EQ(parsed.options.family, Family::kIpv6);
  EXPECT_TRUE(parsed.options.print.json && parsed.options.print.details && parsed.options.print.one_line &&
              parsed.options.print.pretty);
  EXPECT_EQ(parsed.words, (std::vector<std::string>{"route", "show"}));
  EXPECT_TRUE(parse({"-det"})->options.print.details);
  EXPECT_TRUE(parse({"-fo"})->options.force);
  EXPECT_EQ(parse({"-f", "inet"})->options.family, Family::kIpv4);
  EXPECT_EQ(parse({"-b", "-"})->options.batch_file, "-");
  EXPECT_EQ(parse({"-batch", "x.txt", "-force"})->options.batch_file, "x.txt");
  EXPECT_EQ(parse({"-ts"})->options.timestamp, Timestamp::kShort);
}

TEST(Options, StandAnywhereAndTakeValuesBothWays) {
  const Arguments parsed =
      *parse({"route", "add", "10.0.0.0/8", "nhid", "7", "--wait=fib:90%", "--timeout", "300ms"});
  EXPECT_EQ(parsed.options.wait, (Wait{.fib = true, .percent = 90}));
  EXPECT_EQ(parsed.options.timeout, milliseconds(300));
  EXPECT_EQ(parsed.words.size(), 5u);
  EXPECT_EQ(parse({"--wait", "stored"})->options.wait, Wait{});
  EXPECT_EQ(parse({"route", "list", "--limit", "3"})->options.limit, 3u);
  EXPECT_EQ(parse({"route", "list", "--after=10.0.0.0/8"})->options.after, "10.0.0.0/8");
  EXPECT_TRUE(parse({"node", "list", "-w"})->options.watch);
  EXPECT_EQ(parse({"node", "list", "-w", "json"})->options.write, WriteFormat::kJson);
}

TEST(Options, EndpointsComeFromTheFlagThenTheEnvironmentThenTheDefault) {
  EXPECT_EQ(parse({})->options.endpoints, std::vector<std::string>{"127.0.0.1:7601"});
  const std::map<std::string, std::string> environment = {{"WAYPOST_ENDPOINTS", "a:1,b:2"}};
  EXPECT_EQ(parse({}, environment)->options.endpoints, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(parse({"--endpoints=c:3"}, environment)->options.endpoints, std::vector<std::string>{"c:3"});
}

TEST(Options, ErrorsNameTheCure) {
  EXPECT_EQ(error_of({"--tiemout", "5"}), "option \"--tiemout\" is unknown | did you mean 'timeout'?");
  EXPECT_EQ(error_of({"--timeout"}), "option \"--timeout\" needs a value | `waypost help` lists the options");
  EXPECT_EQ(error_of({"--timeout", "soon"}),
            "\"soon\" is not a duration | for example 500ms, 5s, 2m or 1h; at most a day");
  EXPECT_EQ(error_of({"--atomic", "-force"}),
            "--atomic and -force contradict each other | all or nothing, or go on behind refused lines");
  EXPECT_EQ(error_of({"--wait=fob"}),
            "--wait is stored, fib or fib:N%, not \"fob\" | `waypost help` lists the options");
  EXPECT_EQ(error_of({"-n", "x"}).substr(0, 20), "-netns is not taken:");
}

TEST(Options, DurationsHaveUnits) {
  EXPECT_EQ(*parse_duration("5"), milliseconds(5000));
  EXPECT_EQ(*parse_duration("1.5s"), milliseconds(1500));
  EXPECT_EQ(*parse_duration("2m"), milliseconds(120'000));
  for (const char* bad : {"", "s", "-1s", "0", "25h", "1d", "nan", "inf", "1e30s"})
    EXPECT_FALSE(parse_duration(bad).ok()) << bad;
}

TEST(Options, ColourIsForTerminalsUnlessForced) {
  const auto scheme = [](const std::vector<std::string>& arguments, bool terminal,
                         std::map<std::string, std::string> set) {
    return colour_scheme(parse(arguments)->options, terminal, [set](const char* name) {
      const auto found = set.find(name);
      return found == set.end() ? std::string() : found->second;
    });
  };
  EXPECT_EQ(scheme({}, true, {}), ColourScheme::kLight);
  EXPECT_EQ(scheme({}, false, {}), ColourScheme::kOff);
  EXPECT_EQ(scheme({}, true, {{"NO_COLOR", "1"}}), ColourScheme::kOff);
  EXPECT_EQ(scheme({"-c"}, false, {{"NO_COLOR", "1"}}), ColourScheme::kLight);
  EXPECT_EQ(scheme({"-c=never"}, true, {}), ColourScheme::kOff);
  EXPECT_EQ(scheme({"-c"}, false, {{"COLORFGBG", "15;0"}}), ColourScheme::kDark);
  EXPECT_EQ(scheme({"-c"}, false, {{"COLORFGBG", "0;15"}}), ColourScheme::kLight);
  EXPECT_EQ(scheme({"-c", "-j"}, false, {}), ColourScheme::kOff);
}

}  // namespace
}  // namespace waypost::cli
