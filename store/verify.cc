#include "store/verify.h"

#include "model/bytes.h"
#include "model/limits.h"
#include "model/row_codec.h"
#include "store/facts.h"
#include "store/history.h"
#include "store/keys.h"
#include "store/state_row.h"

namespace waypost::store {
namespace {

class Verifier {
 public:
  explicit Verifier(const TableReader& tables) : tables_(tables) {}

  Status run() {
    if (read_state()) {
      check_nexthops();
      check_routes();
      check_route_index();
      check_users();
      check_contents();
      check_digests();
      check_history();
    }
    if (wrong_.empty()) return {};
    return Error{.code = ErrorCode::kCorruption,
                 .message = wrong_,
                 .hint = "rebuild this node from a snapshot of a good one"};
  }

 private:
  // Only the first contradiction counts. Returns whether to go on.
  bool expect(bool holds, const std::string& words) {
    if (!holds && wrong_.empty()) wrong_ = words;
    return wrong_.empty();
  }

  void scan(Table table, const RowVisitor& visit) {
    if (wrong_.empty()) tables_.scan(table, {}, {}, visit);
  }

  bool has(Table table, const std::string& key) { return tables_.get(table, key, &value_); }

  bool read_state() {
    std::string bytes;
    const bool found = tables_.get(Table::kMeta, kStateKey, &bytes);
    const auto row = found ? decode_state_row(bytes) : std::nullopt;
    if (row) row_ = *row;
    return expect(row.has_value(), "the state row is missing or follows no known form");
  }

  std::optional<NexthopObject> read_nexthop(NexthopId id) {
    if (!has(Table::kNexthop, nexthop_key(id))) return std::nullopt;
    auto object = decode_nexthop_value(id, value_);
    if (!object.ok()) return std::nullopt;
    return std::move(object).value();
  }

  bool check_group(const NexthopObject& object) {
    const std::string words = "group " + std::to_string(object.id.value());
    for (const GroupMember& member : object.group().members) {
      const auto single = read_nexthop(member.id);
      const std::string name = words + ": member " + std::to_string(member.id.value());
      if (!expect(single && !single->is_group(), name + " is not a single nexthop")) return false;
      if (!expect(has(Table::kMembership, membership_key(member.id, object.id)), name + " is not indexed"))
        return false;
      ++memberships_;
    }
    return true;
  }

  void check_nexthops() {
    Counts counts;
    scan(Table::kNexthop, [&](std::string_view key, std::string_view value) {
      const auto id = decode_nexthop_key(key);
      if (!expect(id.has_value(), "a nexthop's key follows no known form")) return false;
      const auto object = decode_nexthop_value(*id, value);
      const std::string words = "nexthop " + std::to_string(id->value());
      if (!expect(object.ok() && encode_nexthop_value(*object) == value, words + " follows no known form"))
        return false;
      if (!is_interned(*id)) {
        ++counts.nexthops;
        counts.groups += object->is_group() ? 1 : 0;
        return !object->is_group() || check_group(*object);
      }
      ++counts.interned;
      if (!expect(has(Table::kNexthopByContent, content_key(hash128(value), *id)),
                  words + " is not found by its content"))
        return false;
      if (!expect(has(Table::kNexthopUsers, nexthop_key(*id)), words + " is interned and has no user"))
        return false;
      return !object->is_group() || check_group(*object);
    });
    uint64_t rows = 0;
    scan(Table::kMembership, [&](std::string_view, std::string_view) { return ++rows != 0; });
    expect(rows == memberships_, "the membership index has rows that no group explains");
    counts.routes = row_.counts.routes;
    expect(counts.nexthops == row_.counts.nexthops && counts.groups == row_.counts.groups &&
               counts.interned == row_.counts.interned,
           "the counts of nexthops do not agree with their rows");
  }

  void check_routes() {
    uint64_t routes = 0;
    scan(Table::kRoute, [&](std::string_view bytes, std::string_view value) {
      const auto key = decode_route_key(bytes);
      if (!expect(key.has_value(), "a route's key follows no known form")) return false;
      const auto route = decode_route_value(*key, value);
      const std::string words = "route " + to_string(*key);
      if (!expect(route.ok() && encode_route_value(*route) == value, words + " follows no known form"))
        return false;
      ++routes;
      if (route->nexthop == NexthopId()) return true;
      ++indexed_routes_;
      return expect(has(Table::kNexthop, nexthop_key(route->nexthop)),
                    words + ": its nexthop does not exist") &&
             expect(has(Table::kRouteByNexthop, route_index_key(route->nexthop, bytes)),
                    words + " is not indexed by its nexthop");
    });
    expect(routes == row_.counts.routes, "the count of routes does not agree with their rows");
  }

  // The index is ordered by nexthop, so each one's routes can be counted and held against its users row.
  void check_route_index() {
    uint64_t rows = 0;
    std::optional<NexthopId> current;
    Users counted;
    scan(Table::kRouteByNexthop, [&](std::string_view key, std::string_view) {
      const NexthopId id{load_big_endian<uint32_t>(key.data())};
      if (current != id) {
        if (current && !check_counted(*current, counted)) return false;
        current = id;
        counted = Users{};
      }
      ++rows;
      const auto route_key = decode_route_key(key.substr(4));
      if (!expect(route_key && has(Table::kRoute, std::string(key.substr(4))),
                  "the route index names a route that is not there"))
        return false;
      const auto route = decode_route_value(*route_key, value_);
      if (!expect(route.ok() && route->nexthop == id, "the route index names a route of another nexthop"))
        return false;
      counted.count_route(route_key->prefix.family(), route->scope, 1);
      return true;
    });
    if (current) check_counted(*current, counted);
    expect(rows == indexed_routes_, "the route index has rows that no route explains");
  }

  bool check_counted(NexthopId id, const Users& counted) {
    Users stored = has(Table::kNexthopUsers, nexthop_key(id)) ? decode_users(value_) : Users{};
    stored.groups = 0;
    ++with_routes_;
    return expect(stored == counted,
                  "nexthop " + std::to_string(id.value()) + ": its count of routes does not agree with them");
  }

  void check_users() {
    uint64_t with_routes = 0;
    scan(Table::kNexthopUsers, [&](std::string_view key, std::string_view value) {
      const NexthopId id{load_big_endian<uint32_t>(key.data())};
      const Users users = decode_users(value);
      with_routes += users.routes() > 0 ? 1 : 0;
      uint64_t groups = 0;
      const std::string prefix = nexthop_key(id);
      tables_.scan(Table::kMembership, prefix, behind_prefix(prefix),
                   [&](std::string_view, std::string_view) { return ++groups != 0; });
      return expect(
          users.groups == groups && !users.none() && has(Table::kNexthop, prefix),
          "nexthop " + std::to_string(id.value()) + ": its count of groups does not agree with them");
    });
    expect(with_routes == with_routes_, "a nexthop counts routes that are not there");
  }

  void check_contents() {
    uint64_t rows = 0;
    scan(Table::kNexthopByContent, [&](std::string_view, std::string_view) { return ++rows != 0; });
    expect(rows == row_.counts.interned, "the content index has rows that no interned nexthop explains");
  }

  void check_digests() {
    Hash128 data;
    Hash128 control;
    for (Table table : {Table::kNexthop, Table::kRoute, Table::kSession, Table::kControl})
      scan(table, [&](std::string_view key, std::string_view value) {
        (is_data(table) ? data : control) += row_digest(table, key, value);
        return true;
      });
    expect(data == row_.stamp.data_digest, "the data digest does not agree with the rows");
    expect(control == row_.stamp.control_digest, "the control digest does not agree with the rows");
  }

  void check_history() {
    const auto floor = has(Table::kMeta, std::string(kFloorKey)) ? decode_floor(value_) : std::nullopt;
    if (!expect(floor.has_value(), "the history's floor is missing or follows no known form")) return;
    Revision last = floor->revision;
    Hash128 digest = floor->digest;
    ChangeAssembler assembler;
    scan(Table::kChange, [&](std::string_view key, std::string_view value) {
      if (!expect(assembler.add(key, value), "a change row follows no known form")) return false;
      if (!assembler.complete()) return true;
      const Revision revision = assembler.change_set().revision;
      if (!expect(revision == last.next(),
                  "the history has a gap behind revision " + std::to_string(last.value())))
        return false;
      for (const Change& change : assembler.change_set().changes) {
        const Table table = change.table == DataTable::kNexthop ? Table::kNexthop : Table::kRoute;
        if (!change.old_value.empty()) digest -= row_digest(table, change.key, change.old_value);
        if (!change.new_value.empty()) digest += row_digest(table, change.key, change.new_value);
      }
      last = revision;
      return expect(
          digest == assembler.header().digest,
          "the changes of revision " + std::to_string(revision.value()) + " do not lead to its digest");
    });
    expect(assembler.complete() && last == row_.stamp.revision, "the history does not end at the revision");
    expect(digest == row_.stamp.data_digest, "the history does not lead to the data digest");
  }

  const TableReader& tables_;
  StateRow row_;
  uint64_t memberships_ = 0;
  uint64_t indexed_routes_ = 0;
  uint64_t with_routes_ = 0;
  std::string value_;  // of the last has()
  std::string wrong_;
};

}  // namespace

Status verify_tables(const TableReader& tables) {
  return Verifier(tables).run();
}

}  // namespace waypost::store
