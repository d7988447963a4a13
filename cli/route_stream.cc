#include "cli/route_stream.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>

#include "cli/change.h"
#include "cli/input_file.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/requests_internal.h"
#include "cli/saved_route.h"
#include "model/limits.h"
#include "model/row_codec.h"

namespace waypost::cli {
namespace {

constexpr size_t kWindow = 8;
// Nexthop ids that are asked for before anything is stored; a stream with more leaves the rest to the store's
// own check.
constexpr size_t kMostIdsAsked = 4'096;
// Rows that exist already, kept for comparing between transactions.
constexpr size_t kMostKept = 8'192;
// Rows that a page of them asks for: where most of the last one was wanted, and where little was.
constexpr uint64_t kManyRows = 2'048;
constexpr uint64_t kFewRows = 16;

Result<Links> links_of(const Context& context) {
  if (context.options.links_file) return Links::from_file(*context.options.links_file);
  return Links(context.host.links());
}

// The bytes behind which `key` is the first of its length.
std::string right_before(std::string key) {
  const char last = key.back();
  key.pop_back();
  if (last != 0) key.push_back(static_cast<char>(static_cast<uint8_t>(last) - 1));
  return key;
}

class Restore {
 public:
  Restore(const Context& context, InputFile& file, Links links)
      : context_(context), file_(file), links_(std::move(links)) {}

  // The first pass: every message can be read and means something here; then every nexthop id exists.
  Status look();
  // The second: store them.
  Status store();
  int finish();

 private:
  Status each(const std::function<Status(PutRoute put, uint64_t offset)>& take, bool count);
  void send();
  void take_answer(const Result<rpc::Submitted>& submitted);
  Status compare_existing();
  void compare(const PutRoute& wanted, bool equal);

  const Context& context_;
  InputFile& file_;
  const Links links_;
  std::map<std::string_view, uint64_t> skipped_;
  std::map<uint32_t, uint64_t> nexthop_ids_;  // with the byte of the first route over it
  uint64_t total_ = 0;
  uint64_t restored_ = 0;
  uint64_t equal_ = 0;
  uint64_t refused_ = 0;
  Revision revision_;
  std::vector<PutRoute> gathered_;
  std::deque<std::vector<PutRoute>> in_flight_;
  std::vector<PutRoute> existing_;
  Status failed_;
};

Status Restore::each(const std::function<Status(PutRoute, uint64_t)>& take, bool count) {
  SavedRouteReader reader;
  Status status;
  const auto visit = [&](SavedRoute& saved) -> Status {
    auto command = restore_command(saved, links_, context_.options.inline_paths);
    if (!command.ok()) return command.error();
    if (const auto* skipped = std::get_if<Skipped>(&*command)) {
      if (count) ++skipped_[skipped->reason];
      return {};
    }
    return take(std::get<PutRoute>(std::move(*command)), saved.offset);
  };
  Status reading = file_.read([&](std::string_view piece) {
    status = reader.feed(piece, visit);
    return status.ok();
  });
  if (!reading.ok()) return reading;
  return status.ok() ? reader.finish() : status;
}

Status Restore::look() {
  Status status = each(
      [this](const PutRoute& put, uint64_t offset) -> Status {
        ++total_;
        const uint32_t id = put.route.nexthop.value();
        if (id != 0 && nexthop_ids_.size() < kMostIdsAsked) nexthop_ids_.try_emplace(id, offset);
        return {};
      },
      true);
  if (!status.ok()) return status;
  for (const auto& [id, offset] : nexthop_ids_) {
    rpc::Request request = new_request(context_.options);
    request.mutable_get()->set_nexthop(id);
    const Result<rpc::End> end = context_.remote.call(request, {});
    if (!end.ok()) return end.error();
    if (end->get().block().rows().empty())
      return Error{ErrorCode::kNotFound,
                   "the route at byte " + std::to_string(offset) + " leads over nexthop " +
                       std::to_string(id) + ", which does not exist; nothing was restored",
                   "make the nexthops first, or restore with --inline where the stream holds copies of them"};
  }
  return {};
}

void Restore::send() {
  if (gathered_.empty()) return;
  Transaction transaction;
  transaction.on_refusal = OnRefusal::kContinue;
  for (const PutRoute& put : gathered_) transaction.commands.emplace_back(put);
  in_flight_.push_back(std::move(gathered_));
  gathered_.clear();
  context_.remote.submit_async(transaction, kWindow,
                               [this](Result<rpc::Submitted> submitted) { take_answer(submitted); });
}

void Restore::take_answer(const Result<rpc::Submitted>& submitted) {
  std::vector<PutRoute> commands = std::move(in_flight_.front());
  in_flight_.pop_front();
  if (!submitted.ok()) {
    if (failed_.ok()) failed_ = submitted.error();
    return;
  }
  restored_ += submitted->answer.applied;
  revision_ = std::max(revision_, submitted->answer.revision);
  for (const CommandRefusal& refusal : submitted->answer.refusals) {
    if (refusal.index >= commands.size()) continue;
    if (refusal.refusal.code == RefusalCode::kRouteExists) {
      existing_.push_back(std::move(commands[refusal.index]));
      continue;
    }
    ++refused_;
    print_error(context_.err, context_.options, refusal_error(refusal.refusal), kExitRefused);
  }
}

void Restore::compare(const PutRoute& wanted, bool equal) {
  if (equal) {
    ++equal_;
    return;
  }
  ++refused_;
  print_error(
      context_.err, context_.options,
      {ErrorCode::kAlreadyExists, "route " + to_string(wanted.route.key) + " exists and is another one",
       "delete it first, or `waypost route replace` it"},
      kExitRefused);
}

// A row that is there already is no error where it is the same one. Both sides in the order of their keys:
// where the rows stand together in the store, a page tells of many.
Status Restore::compare_existing() {
  std::vector<std::pair<std::string, PutRoute>> wanted(existing_.size());
  for (size_t i = 0; i < existing_.size(); ++i) {
    append_route_key(wanted[i].first, existing_[i].route.key);
    wanted[i].second = std::move(existing_[i]);
  }
  existing_.clear();
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  Page page{.after = {}, .limit = kFewRows};
  for (size_t next = 0; next < wanted.size();) {
    page.after = right_before(wanted[next].first);
    size_t hits = 0;
    uint64_t rows = 0;
    const auto visit = [&](const Route& stored, const NexthopCache& nexthops) {
      ++rows;
      std::string key;
      append_route_key(key, stored.key);
      for (; next < wanted.size() && wanted[next].first <= key; ++next) {
        const bool same_key = wanted[next].first == key;
        hits += same_key;
        compare(wanted[next].second, same_key && is_same_route(stored, nexthops, wanted[next].second));
      }
      return true;
    };
    if (Status status = for_each_route(context_, {}, false, visit, page); !status.ok()) return status;
    // Behind the last row of the store: gone meanwhile.
    if (rows < page.limit)
      for (; next < wanted.size(); ++next) compare(wanted[next].second, false);
    page.limit = 2 * hits >= rows ? kManyRows : kFewRows;
  }
  return {};
}

Status Restore::store() {
  Progress progress(context_.err, "restoring", "routes", total_,
                    context_.err.is_terminal() && !context_.options.print.json);
  size_t rows = 0;
  Status status = each(
      [&](PutRoute put, uint64_t) -> Status {
        rows += put.paths.size() + 2;
        gathered_.push_back(std::move(put));
        if (gathered_.size() < limits::kBatchCommandsPerTransaction &&
            rows < limits::kMaxChangesPerTransaction / 4)
          return {};
        rows = 0;
        send();
        if (existing_.size() >= kMostKept) {
          context_.remote.drain();
          if (Status compared = compare_existing(); !compared.ok()) return compared;
        }
        progress.show(restored_ + equal_ + refused_);
        return failed_;
      },
      false);
  if (status.ok()) send();
  context_.remote.drain();
  progress.clear();
  if (!failed_.ok()) return failed_;
  return status.ok() ? compare_existing() : status;
}

int Restore::finish() {
  if (context_.options.print.json) {
    RowWriter row(context_.out, context_.options.print);
    row.open_object();
    row.number("restored", "", restored_);
    row.number("equal", "", equal_);
    row.number("refused", "", refused_);
    row.open_object("skipped");
    for (const auto& [reason, count] : skipped_) row.number(reason, "", count);
    row.close_object();
    row.number("revision", "", revision_.value());
    row.close_object();
    row.end_document();
  } else {
    std::string words = "restored " + grouped(restored_) + (restored_ == 1 ? " route" : " routes");
    if (equal_ > 0) words += ", " + grouped(equal_) + " were there already";
    if (refused_ > 0) words += ", refused " + grouped(refused_);
    for (const auto& [reason, count] : skipped_)
      words += ", skipped " + grouped(count) + " of " + std::string(reason);
    print_note(context_.err, context_.options, words);
  }
  if (refused_ > 0) return restored_ > 0 ? kExitPartly : kExitRefused;
  if (!context_.options.wait.fib || restored_ == 0) return kExitOk;
  return wait_for_fib(context_, revision_, {});
}

}  // namespace

int run_route_save(const Context& context, std::span<const Word> words) {
  const Result<RouteQuery> query = parse_route_query(words, context.parse_context());
  if (!query.ok()) return context.usage(query.error().message, query.error().hint);
  if (context.out.is_terminal())
    return context.usage("saved routes are bytes, not text for a terminal", "waypost route save >FILE");
  const Result<Links> links = links_of(context);
  if (!links.ok()) return context.usage(links.error().message, links.error().hint);
  context.out.put(save_magic());
  Status unsaved;
  std::string message;
  const Status status =
      for_each_route(context, *query, false, [&](const Route& route, const NexthopCache& nexthops) {
        const Result<SavedRoute> saved = saved_route(route, nexthops, *links);
        if (!saved.ok()) return unsaved = saved.error(), false;
        message.clear();
        append_saved_route(message, *saved);
        context.out.put(message);
        return context.out.error() == 0;
      });
  context.out.flush();
  if (!unsaved.ok()) return context.fail(unsaved.error());
  return status.ok() ? static_cast<int>(kExitOk) : context.fail(status.error());
}

int run_route_restore(const Context& context, std::span<const Word> words) {
  if (!words.empty())
    return context.usage("route restore takes no words, it reads standard input",
                         "waypost route restore <FILE");
  if (::isatty(context.host.standard_input) == 1)
    return context.usage("saved routes are bytes, and standard input is a terminal",
                         "waypost route restore <FILE");
  const Result<Links> links = links_of(context);
  if (!links.ok()) return context.usage(links.error().message, links.error().hint);
  Result<InputFile> file = InputFile::open("-", context.host.standard_input);
  if (!file.ok()) return context.usage(file.error().message, file.error().hint);
  Restore restore(context, *file, *links);
  if (Status status = restore.look(); !status.ok()) return context.fail(status.error());
  if (Status status = restore.store(); !status.ok()) return context.fail(status.error());
  return restore.finish();
}

}  // namespace waypost::cli
