#include "store/read_ahead.h"

#include <optional>
#include <utility>

#include "store/keys.h"

namespace waypost::store {
namespace {

constexpr size_t kShortestRun = 8;  // fewer are cheaper to look up one by one
constexpr size_t kLongestRun = 512;

struct NamedRow {
  Table table;
  std::string key;
};

// The row that a command reads first, where the command itself names it whole.
std::optional<NamedRow> row_of(const Command& command) {
  const auto nexthop = [](NexthopId id) {
    return id == NexthopId() ? std::nullopt : std::optional(NamedRow{Table::kNexthop, nexthop_key(id)});
  };
  const auto route = [](const RouteKey& key) { return NamedRow{Table::kRoute, route_key_bytes(key)}; };
  if (const auto* put = std::get_if<PutNexthop>(&command)) return nexthop(put->object.id);
  if (const auto* erase = std::get_if<DeleteNexthop>(&command)) return nexthop(erase->id);
  if (const auto* guarded = std::get_if<GuardedNexthop>(&command)) return nexthop(guarded->id);
  if (const auto* put = std::get_if<PutRoute>(&command)) return route(put->route.key);
  if (const auto* guarded = std::get_if<GuardedRoute>(&command)) return route(guarded->key);
  return std::nullopt;
}

}  // namespace

void ReadAhead::read_run(size_t index) {
  next_ = index + 1;
  const std::optional<NamedRow> first = row_of(commands_[index]);
  if (!first) return;
  std::string last = first->key;
  while (next_ < commands_.size() && next_ - index < kLongestRun) {
    std::optional<NamedRow> row = row_of(commands_[next_]);
    if (!row || row->table != first->table || row->key <= last) break;
    last = std::move(row->key);
    ++next_;
  }
  const size_t run = next_ - index;
  if (run < kShortestRun) return;
  // Rows between those that are named are read too; where there are many of them, the walk ends early.
  overlay_.read_ahead(first->table, first->key, last, 2 * run);
  if (first->table == Table::kNexthop) overlay_.read_ahead(Table::kNexthopUsers, first->key, last, 2 * run);
}

}  // namespace waypost::store
