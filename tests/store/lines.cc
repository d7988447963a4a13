#include "tests/store/lines.h"

#include <gtest/gtest.h>

#include "model/parse.h"
#include "model/row_codec.h"

namespace waypost::store {
namespace {

const NameTables& names() {
  static const NameTables tables = NameTables::defaults();
  return tables;
}

std::vector<InlinePath> paths_of(const ReadView& view, NexthopId id) {
  const auto object = view.nexthop(id);
  if (!object->is_group()) return {{.nexthop = object->nexthop(), .weight = 1}};
  std::vector<InlinePath> paths;
  for (const GroupMember& member : object->group().members)
    paths.push_back({.nexthop = view.nexthop(member.id)->nexthop(), .weight = member.weight});
  return paths;
}

}  // namespace

std::optional<Command> command_of(std::string_view line, bool cascade, std::string* wrong) {
  std::optional<Command> command;
  BatchReader reader;
  const auto visit = [&](const BatchReader::Line& logical) {
    auto parsed =
        parse_command(logical.words, {.names = &names(), .family = std::nullopt, .cascade = cascade});
    if (auto* parse_error = std::get_if<ParseError>(&parsed)) {
      if (wrong != nullptr) *wrong = parse_error->error.message;
    } else {
      command = std::get<Command>(std::move(parsed));
    }
  };
  EXPECT_TRUE(reader.feed(line, visit).ok());
  EXPECT_TRUE(reader.finish(visit).ok());
  return command;
}

std::string rows_in_words(const ReadView& view) {
  std::string text;
  std::string interned;
  view.scan_nexthops({}, [&](std::string_view key, std::string_view value) {
    const NexthopObject object = decode_nexthop_value(*decode_nexthop_key(key), value).value();
    (is_interned(object.id) ? interned += "  " : text) += "nexthop " + nexthop_words(object, names()) + "\n";
    return true;
  });
  view.scan_routes({}, [&](std::string_view key, std::string_view value) {
    Route route = decode_route_value(*decode_route_key(key), value).value();
    std::vector<InlinePath> paths;
    if (is_interned(route.nexthop)) {
      paths = paths_of(view, route.nexthop);
      route.nexthop = {};
    }
    text += "route " + route_words(route, paths, names()) + "\n";
    return true;
  });
  return text + interned;
}

void clear(TestStore& store) {
  std::vector<Command> commands;
  {
    const ReadView view = store->view();
    view.scan_routes({}, [&](std::string_view key, std::string_view value) {
      commands.push_back(GuardedRoute{
          .key = *decode_route_key(key), .expected = row_guard(value), .value = {}, .paths = {}});
      return true;
    });
    view.scan_nexthops({}, [&](std::string_view key, std::string_view) {
      const NexthopId id = *decode_nexthop_key(key);
      if (!is_interned(id)) commands.push_back(DeleteNexthop{.id = id, .cascade = true});
      return true;
    });
  }
  // A group goes with its last member, so some deletions find nothing.
  store.run(std::move(commands), OnRefusal::kContinue);
  EXPECT_EQ(dump(*store), "");
}

}  // namespace waypost::store
