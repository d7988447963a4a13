#include <algorithm>
#include <string>
#include <vector>

#include "model/bytes.h"
#include "model/check.h"
#include "model/row_codec.h"
#include "store/control.h"
#include "store/facts.h"
#include "store/keys.h"
#include "store/read_view_internal.h"

namespace waypost::store {
namespace {

StateRow read_state_row(const TableReader& tables) {
  std::string bytes;
  WAYPOST_CHECK(tables.get(Table::kMeta, kStateKey, &bytes), "an open store has its state row");
  const auto row = decode_state_row(bytes);
  WAYPOST_CHECK(row.has_value(), "the state row follows its grammar");
  return *row;
}

// The first key strictly behind `after`.
std::string behind(std::string_view after) {
  std::string key(after);
  if (!key.empty()) key.push_back('\0');
  return key;
}

// Routes of one nexthop are read from their table this many at a time: few first, for those who want few.
constexpr size_t kFirstKeys = 16;
constexpr size_t kMostKeys = 512;

// The rows of these keys, which ascend: by one walk of the table while they stand together in it, by single
// gets where others lie between them. False where visit has enough.
bool visit_run(const TableReader& tables, const std::vector<std::string>& keys, const RowVisitor& visit,
               bool* together) {
  size_t next = 0;
  bool more = true;
  if (*together) {
    size_t passed = 0;
    tables.scan(Table::kRoute, keys.front(), keys.back() + '\0',
                [&](std::string_view key, std::string_view value) {
                  while (next < keys.size() && keys[next] < key) ++next;
                  if (next == keys.size()) return false;
                  if (keys[next] != key) return ++passed < keys.size();
                  ++next;
                  more = visit(key, value);
                  return more;
                });
    *together = passed < keys.size();
  }
  for (std::string value; more && next < keys.size(); ++next)
    if (tables.get(Table::kRoute, keys[next], &value)) more = visit(keys[next], value);
  return more;
}

}  // namespace

ReadView::Impl::Impl(std::unique_ptr<const TableReader> pinned)
    : tables(std::move(pinned)), row(read_state_row(*tables)) {}

ReadView ReadViewAccess::over(std::unique_ptr<const TableReader> tables) {
  return ReadView(std::make_unique<ReadView::Impl>(std::move(tables)));
}

ReadView::ReadView(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReadView::ReadView(ReadView&&) noexcept = default;
ReadView& ReadView::operator=(ReadView&&) noexcept = default;
ReadView::~ReadView() = default;

const StateStamp& ReadView::stamp() const {
  return impl_->row.stamp;
}

const Counts& ReadView::counts() const {
  return impl_->row.counts;
}

std::optional<NexthopObject> ReadView::nexthop(NexthopId id) const {
  std::string value;
  if (!impl_->tables->get(Table::kNexthop, nexthop_key(id), &value)) return std::nullopt;
  auto object = decode_nexthop_value(id, value);
  WAYPOST_CHECK(object.ok(), "a stored row follows its grammar");
  return std::move(object).value();
}

std::optional<Route> ReadView::route(const RouteKey& key) const {
  std::string value;
  if (!impl_->tables->get(Table::kRoute, route_key_bytes(key), &value)) return std::nullopt;
  auto route = decode_route_value(key, value);
  WAYPOST_CHECK(route.ok(), "a stored row follows its grammar");
  return std::move(route).value();
}

void ReadView::scan_nexthops(std::string_view after, const RowVisitor& visit) const {
  impl_->tables->scan(Table::kNexthop, behind(after), {}, visit);
}

void ReadView::scan_routes(std::string_view after, const RowVisitor& visit) const {
  impl_->tables->scan(Table::kRoute, behind(after), {}, visit);
}

void ReadView::scan_routes_of(NexthopId id, std::string_view after, const RowVisitor& visit) const {
  const std::string prefix = nexthop_key(id);
  std::string cursor(after);
  std::vector<std::string> run;
  bool together = true;
  for (size_t wanted = kFirstKeys;; wanted = std::min(2 * wanted, kMostKeys)) {
    run.clear();
    impl_->tables->scan(Table::kRouteByNexthop, prefix + behind(cursor), behind_prefix(prefix),
                        [&](std::string_view key, std::string_view) {
                          run.emplace_back(key.substr(prefix.size()));
                          return run.size() < wanted;
                        });
    if (run.empty() || !visit_run(*impl_->tables, run, visit, &together) || run.size() < wanted) return;
    cursor = run.back();
  }
}

void ReadView::scan_groups_of(NexthopId member, const std::function<bool(NexthopId)>& visit) const {
  const std::string prefix = nexthop_key(member);
  impl_->tables->scan(Table::kMembership, prefix, behind_prefix(prefix),
                      [&](std::string_view key, std::string_view) {
                        return visit(NexthopId(load_big_endian<uint32_t>(key.data() + prefix.size())));
                      });
}

uint64_t ReadView::routes_over(NexthopId id) const {
  std::string value;
  if (!impl_->tables->get(Table::kNexthopUsers, nexthop_key(id), &value)) return 0;
  return decode_users(value).routes();
}

std::optional<std::string> ReadView::setting(std::string_view name) const {
  std::string value;
  if (!impl_->tables->get(Table::kControl, std::string(kSettingPrefix).append(name), &value))
    return std::nullopt;
  return value;
}

std::vector<ReadView::Member> ReadView::members() const {
  std::vector<Member> members;
  impl_->tables->scan(Table::kControl, kMemberPrefix, behind_prefix(kMemberPrefix),
                      [&](std::string_view key, std::string_view value) {
                        members.push_back(decode_member(key.substr(kMemberPrefix.size()), value));
                        return true;
                      });
  return members;
}

uint64_t ReadView::session_count() const {
  uint64_t count = 0;
  impl_->tables->scan(Table::kSession, "h", "i", [&](std::string_view, std::string_view) {
    ++count;
    return true;
  });
  return count;
}

const TableReader& ReadViewAccess::tables(const ReadView& view) {
  return *view.impl_->tables;
}

}  // namespace waypost::store
