// The options of one call, as `ip` takes them and a few of our own. Pure: words and environment in, values
// out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/row_writer.h"
#include "model/result.h"

namespace waypost::cli {

enum class ColourMode : uint8_t {
  kAuto,
  kAlways,
  kNever
};                                                        // auto: on terminals only, and not under NO_COLOR
enum class WriteFormat : uint8_t { kTable, kJson };       // -w, for objects of the cluster
enum class Timestamp : uint8_t { kNone, kLong, kShort };  // -t, -ts

// What an answer waits for (SEMANTICS.md B1).
struct Wait {
  bool fib = false;   // else: stored
  int percent = 100;  // of the nodes that have kernel_sync on

  bool operator==(const Wait&) const = default;
};

struct Options {
  PrintOptions print;
  ColourMode colour = ColourMode::kAuto;
  WriteFormat write = WriteFormat::kTable;
  Timestamp timestamp = Timestamp::kNone;
  std::optional<Family> family;
  std::optional<std::string> batch_file;  // "-" is standard input
  std::optional<std::string> links_file;  // `route restore --links FILE`
  std::optional<std::string> data_dir;    // `snapshot restore --data-dir DIR`
  std::optional<std::string> log;         // `cluster grow --log URL`
  std::optional<std::string> cluster;     // `cluster grow --cluster NAME`
  std::optional<std::string> after;       // `list --after ID`, or the key of a route as one word
  uint64_t limit = 0;                     // `list --limit N`; 0: all
  std::optional<std::chrono::milliseconds> timeout;
  std::vector<std::string> endpoints;
  Wait wait;
  bool force = false;
  bool atomic = false;
  bool cascade = false;
  bool skip_other = false;
  bool stale = false;
  bool inline_paths = false;  // `route restore --inline`
  bool dry_run = false;
  bool yes = false;
  bool watch = false;  // -w behind `node list`
  bool version = false;
  bool help = false;
};

// What a command is as far as options go that only some commands take.
enum class CommandKind : uint16_t {
  kChange = 1,  // nexthop add, route replace, ...
  kList = 2,
  kFlush = 4,
  kSave = 8,
  kRestore = 16,
  kBatch = 32,
  kRollback = 64,
  kCluster = 128,
  kNode = 256,
  kSnapshot = 512,
  kOther = 1024,
};

// An option that would be passed over by this command is an error: whoever gave it meant something, and
// `route del ... --dry-run` must not delete.
Status check_options(const Options& options, CommandKind kind);

struct Arguments {
  Options options;
  std::vector<std::string> words;  // what is not an option, in order
};

// By name; empty where it is not set.
using Environment = std::function<std::string(const char* name)>;

// `arguments` is argv without the program's name. Options may stand anywhere; `ip`'s own only once are given
// a value.
Result<Arguments> parse_options(std::span<const std::string> arguments, const Environment& environment);

// "5s", "300ms", "2m", "1h", or seconds without a unit. At most a day.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// -c and NO_COLOR and the terminal, settled.
ColourScheme colour_scheme(const Options& options, bool terminal, const Environment& environment);

}  // namespace waypost::cli
