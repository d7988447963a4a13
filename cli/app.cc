#include "cli/app.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/batch.h"
#include "cli/change.h"
#include "cli/cluster.h"
#include "cli/fib.h"
#include "cli/help.h"
#include "cli/jobs.h"
#include "cli/listing.h"
#include "cli/monitor.h"
#include "cli/past.h"
#include "cli/route_stream.h"
#include "model/parse/cursor.h"

namespace waypost::cli {
namespace {

using Object = ObjectVerb::Object;
using Verb = ObjectVerb::Verb;

// Waiting on a silent server ends by itself; a flush or a listing goes on as long as it moves.
constexpr std::chrono::milliseconds kDefaultTimeout{30'000};

// An object that `ip` does not have. Its run function gets the words behind the object.
struct OwnObject {
  std::string_view name;
  size_t shortest;  // prefix that is taken
  int (*run)(const Context& context, Words words);
  CommandKind kind = CommandKind::kOther;
};

int monitor_words(const Context& context, Words words) {
  const std::vector<Word> line = as_line(words);
  return run_monitor(context, line);
}

int help_words(const Context& context, Words words) {
  print_help(context.out, words.empty() ? "" : words[0]);
  return kExitOk;
}

constexpr auto kOwnObjects = std::to_array<OwnObject>({
    {"monitor", 3, monitor_words},
    {"fib", 3, run_fib},
    {"cluster", 2, run_cluster, CommandKind::kCluster},
    {"node", 3, run_node, CommandKind::kNode},
    {"snapshot", 2, run_snapshot, CommandKind::kSnapshot},
    {"history", 2, run_history},
    {"diff", 2, run_diff},
    {"rollback", 3, run_rollback, CommandKind::kRollback},
    {"completion", 3, run_completion},
    {"help", 1, help_words},
});

const OwnObject* find_own(std::string_view word) {
  for (const OwnObject& object : kOwnObjects)
    if (word.size() >= object.shortest && object.name.starts_with(word)) return &object;
  return nullptr;
}

int unknown_object(const Context& context, const std::string& word) {
  std::vector<std::string_view> known = {"nexthop", "route"};
  for (const OwnObject& object : kOwnObjects) known.push_back(object.name);
  const std::string near = parse::did_you_mean(word, known);
  return context.usage("\"" + word + "\" is not a command",
                       near.empty() ? "`waypost help` lists them" : near);
}

int run_nexthop(const Context& context, Verb verb, std::span<const Word> line, std::span<const Word> words) {
  switch (verb) {
    case Verb::kShow:
      return show_nexthops(context, words);
    case Verb::kGet:
      return get_nexthop(context, words);
    case Verb::kFlush:
      return run_nexthop_flush(context, words);
    case Verb::kMonitor:
      return run_monitor(context, words, Object::kNexthop);
    case Verb::kHelp:
      return print_help(context.out, "nexthop"), kExitOk;
    case Verb::kBucket:
      return context.fail({ErrorCode::kUnsupported, "nexthop buckets are live data of one kernel, not stored",
                           "on that host: ip nexthop bucket show"});
    default:
      return run_change(context, line);
  }
}

int run_route(const Context& context, Verb verb, std::span<const Word> line, std::span<const Word> words) {
  switch (verb) {
    case Verb::kShow:
      return show_routes(context, words);
    case Verb::kGet:
      return get_route(context, words);
    case Verb::kFlush:
      return run_route_flush(context, words);
    case Verb::kMonitor:
      return run_monitor(context, words, Object::kRoute);
    case Verb::kSave:
      return run_route_save(context, words);
    case Verb::kRestore:
      return run_route_restore(context, words);
    case Verb::kHelp:
      return print_help(context.out, "route"), kExitOk;
    default:
      return run_change(context, line);
  }
}

CommandKind kind_of(Verb verb) {
  switch (verb) {
    case Verb::kShow:
      return CommandKind::kList;
    case Verb::kFlush:
      return CommandKind::kFlush;
    case Verb::kSave:
      return CommandKind::kSave;
    case Verb::kRestore:
      return CommandKind::kRestore;
    default:
      return verb <= Verb::kDelete ? CommandKind::kChange : CommandKind::kOther;
  }
}

int dispatch(const Context& context, Words words) {
  const auto fits = [&context](CommandKind kind) { return check_options(context.options, kind); };
  if (const OwnObject* own = find_own(words[0])) {
    if (Status status = fits(own->kind); !status.ok()) return context.usage(status.error());
    return own->run(context, words.subspan(1));
  }
  const std::vector<Word> line = as_line(words);
  const std::variant<ObjectVerb, ParseError> parsed = parse_object_verb(line);
  if (const auto* error = std::get_if<ParseError>(&parsed)) {
    const bool object_is_known = words.size() > 1 && error->column > 1;
    if (!object_is_known) return unknown_object(context, words[0]);
    return context.usage(error->error.message, error->error.hint);
  }
  const ObjectVerb& what = std::get<ObjectVerb>(parsed);
  const std::span<const Word> rest = std::span<const Word>(line).subspan(what.arguments);
  if (Status status = fits(kind_of(what.verb)); !status.ok()) return context.usage(status.error());
  if (what.object == Object::kNexthop) return run_nexthop(context, what.verb, line, rest);
  if (what.object == Object::kRoute) return run_route(context, what.verb, line, rest);
  return context.fail({ErrorCode::kUnsupported, what.other + ": per-host object, not stored",
                       "`ip " + what.other + "` on the host; waypost stores nexthops and routes"});
}

rpc::ClientOptions client_options(const Options& options, const Host& host, Output& err) {
  return {.endpoints = options.endpoints,
          .timeout = options.timeout.value_or(kDefaultTimeout),
          .author = host.author,
          .on_waiting = [&options, &err](const Error& why, std::chrono::seconds left) {
            const std::string span =
                left.count() == 0 ? "" : " for " + std::to_string(left.count()) + " s more";
            print_note(err, options, why.message + "; trying again" + span);
          }};
}

}  // namespace

int run(std::span<const std::string> arguments, const Host& host, const NameTables& names,
        const RemoteFactory& remotes, Output& out, Output& err) {
  Result<Arguments> parsed = parse_options(arguments, host.environment);
  if (!parsed.ok()) {
    // Whether the error is for a program is asked of the words, since the options did not become values.
    Options shown;
    for (const std::string& argument : arguments)
      shown.print.json = shown.print.json || argument == "-j" || argument == "-json";
    print_error(err, shown, parsed.error(), kExitUsage);
    return kExitUsage;
  }
  Options& options = parsed->options;
  options.print.colour = colour_scheme(options, out.is_terminal(), host.environment);
  if (options.version) return print_version(out), kExitOk;
  const std::unique_ptr<Remote> remote = remotes(client_options(options, host, err));
  const Context context{options, names, host, out, err, *remote, remotes};
  int code = kExitOk;
  if (options.help) {
    print_help(out, parsed->words.empty() ? "" : parsed->words[0]);
  } else if (options.batch_file) {
    const Status fits = check_options(options, CommandKind::kBatch);
    code = !fits.ok()              ? context.usage(fits.error())
           : parsed->words.empty() ? run_batch(context, *options.batch_file)
                                   : context.usage("-batch takes no command beside its file");
  } else if (parsed->words.empty()) {
    print_help(err, "");
    code = kExitUsage;
  } else {
    code = dispatch(context, parsed->words);
  }
  out.flush();
  err.flush();
  // A reader that has seen enough is no error; a full disk is.
  if (out.error() == 0 || out.error() == EPIPE) return code;
  return context.fail(
      {ErrorCode::kIo, std::string("cannot write the output: ") + std::strerror(out.error()), ""});
}

}  // namespace waypost::cli
