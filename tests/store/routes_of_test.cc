// The routes of one nexthop, however many of others lie between them, from any key on.
#include <gtest/gtest.h>

#include "model/row_codec.h"
#include "tests/store/harness.h"

namespace waypost::store {
namespace {

using Row = std::pair<std::string, std::string>;

std::vector<Row> found(const ReadView& view, uint32_t id, const std::string& after, size_t limit) {
  std::vector<Row> rows;
  view.scan_routes_of(NexthopId(id), after, [&](std::string_view key, std::string_view value) {
    rows.emplace_back(key, value);
    return rows.size() < limit;
  });
  return rows;
}

std::vector<Row> expected(const ReadView& view, uint32_t id, const std::string& after, size_t limit) {
  std::vector<Row> rows;
  view.scan_routes(after, [&](std::string_view key, std::string_view value) {
    const Result<Route> route = decode_route_value(*decode_route_key(key), value);
    if (route->nexthop == NexthopId(id)) rows.emplace_back(key, value);
    return rows.size() < limit;
  });
  return rows;
}

// Nexthop 1 has every route of the first thousand and one in fifty of the others, 2 the rest, 3 none, 4 one.
class RoutesOf : public testing::Test {
 protected:
  RoutesOf() {
    std::vector<Command> commands;
    for (uint32_t id = 1; id <= 4; ++id) commands.push_back(put(id, blackhole()));
    for (uint32_t index = 0; index < 4'000; ++index) {
      const std::string prefix =
          "10." + std::to_string(index / 256) + "." + std::to_string(index % 256) + ".0/24";
      commands.push_back(put_route(prefix, index < 1'000 || index % 50 == 0 ? 1 : 2));
    }
    commands.push_back(put_route("192.0.2.0/24", 4));
    store_.run(std::move(commands));
  }

  TestStore store_;
};

TEST_F(RoutesOf, AreThoseOfTheWholeTable) {
  const ReadView view = store_->view();
  for (uint32_t id = 1; id <= 4; ++id)
    EXPECT_EQ(found(view, id, {}, SIZE_MAX), expected(view, id, {}, SIZE_MAX)) << id;
  EXPECT_EQ(found(view, 1, {}, SIZE_MAX).size(), 1'060u);
  EXPECT_EQ(found(view, 3, {}, SIZE_MAX).size(), 0u);
}

TEST_F(RoutesOf, GoOnBehindAnyKeyAndStopWhenTold) {
  const ReadView view = store_->view();
  for (const char* text :
       {"10.0.0.0/24", "10.3.231.0/24", "10.3.232.0/25", "10.15.160.0/24", "192.0.2.0/24"}) {
    std::string after;
    append_route_key(after, key_of(text));
    for (uint32_t id : {1u, 2u, 4u})
      for (size_t limit : {size_t{1}, size_t{17}, size_t{700}})
        EXPECT_EQ(found(view, id, after, limit), expected(view, id, after, limit)) << text << " " << id;
  }
}

}  // namespace
}  // namespace waypost::store
