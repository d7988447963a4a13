// What `ip` printed and what we print of the same objects, compared byte for byte: rows are made from `ip -d
// -j`, then printed in every form. The objects that the store does not hold are listed with the reason.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "cli/nexthop_printer.h"
#include "cli/route_printer.h"
#include "model/limits.h"
#include "tests/cli/files.h"
#include "tests/cli/row_builder.h"

namespace waypost::cli {
namespace {

std::string recorded_json(const std::string& name) {
  return read_file(std::string(WAYPOST_SOURCE_DIR) + "/tests/data/json/" + name);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The objects of one of ip's documents and the rows made of them.
struct Recorded {
  NameTables names = NameTables::defaults();
  NexthopCache cache;
  std::vector<NexthopObject> nexthops;
  std::vector<Route> routes;
  std::map<std::string, int> skipped;  // by reason
  std::set<size_t> skipped_at;         // places in the list of routes

  void add_nexthops(const std::string& document) {
    for (const JsonValue& item : read_json(document).items) {
      nexthops.push_back(nexthop_from_json(item, names));
      cache.put(nexthops.back());
    }
  }
  void add_routes(const std::string& document) {
    for (const JsonValue& item : read_json(document).items) {
      const std::string reason = not_stored_reason(item);
      if (!reason.empty()) {
        ++skipped[reason];
        skipped_at.insert(routes.size() + skipped_at.size());
        continue;
      }
      routes.push_back(route_from_json(item, names, cache, next_interned));
    }
  }
  uint32_t next_interned = limits::kFirstInternedId;
};

std::string print_all(const Recorded& recorded, bool routes, const PrintOptions& options) {
  Output out;
  RowWriter row(out, options);
  row.open_array();
  for (const NexthopObject& object : recorded.nexthops)
    if (!routes) print_nexthop(row, object, recorded.names);
  for (const Route& route : recorded.routes)
    if (routes) print_route(row, route, recorded.cache, recorded.names, {});
  row.close_array();
  row.end_document();
  return out.text();
}

// The document without the objects that the store does not hold.
std::string without_skipped(const std::string& document) {
  std::string kept = "[";
  for (const JsonValue& item : read_json(document).items) {
    if (kept.size() > 1) kept += ',';
    kept += item.source;
  }
  return kept + "]\n";
}

std::string without(const std::string& document, const std::set<size_t>& places) {
  std::string kept = "[";
  size_t place = 0;
  for (const JsonValue& item : read_json(document).items) {
    if (places.contains(place++)) continue;
    if (kept.size() > 1) kept += ',';
    kept += item.source;
  }
  return kept + "]\n";
}

TEST(Parity, NexthopsPrintAsIpPrintsThem) {
  Recorded recorded;
  recorded.add_nexthops(recorded_json("nh_dj.json"));
  EXPECT_EQ(recorded.nexthops.size(), 31u);
  EXPECT_EQ(print_all(recorded, false, {.json = true, .details = true}),
            without_skipped(recorded_json("nh_dj.json")));
  EXPECT_EQ(print_all(recorded, false, {.json = true}), without_skipped(recorded_json("nh_j.json")));
}

TEST(Parity, RoutesPrintAsIpPrintsThem) {
  for (const std::string family : {"r4", "r6"}) {
    Recorded recorded;
    recorded.add_nexthops(recorded_json("nh_dj.json"));
    recorded.add_routes(recorded_json(family + "_dj.json"));
    EXPECT_EQ(print_all(recorded, true, {.json = true, .details = true}),
              without(recorded_json(family + "_dj.json"), recorded.skipped_at));
    EXPECT_EQ(print_all(recorded, true, {.json = true}),
              without(recorded_json(family + "_j.json"), recorded.skipped_at));
    std::cout << family << ": " << recorded.routes.size() << " compared, skipped:\n";
    for (const auto& [reason, count] : recorded.skipped) std::cout << "  " << count << "  " << reason << "\n";
  }
}

// more/ holds three documents a file: nexthops, IPv4 routes, IPv6 routes.
Recorded recorded_more(std::vector<std::string>& documents) {
  documents = lines_of(recorded_json("more/json_details.txt"));
  Recorded recorded;
  recorded.add_nexthops(documents.at(0));
  recorded.add_routes(documents.at(1));
  const size_t ipv4_routes = read_json(documents.at(1)).items.size();
  EXPECT_EQ(recorded.routes.size() + recorded.skipped_at.size(), ipv4_routes);
  recorded.add_routes(documents.at(2));
  // JSON does not show locks; these are the ones of setup.sh.
  for (Route& route : recorded.routes) {
    const std::string prefix = to_string(route.key.prefix);
    if (prefix == "10.2.9.0/24") route.metrics.lock = 1u << 2 | 1u << 7 | 1u << 13;
    if (prefix == "::/0") route.metrics.lock = 1u << 2;
  }
  return recorded;
}

TEST(Parity, EveryEncapMetricAndShapePrintsAsIpPrintsIt) {
  std::vector<std::string> details;
  const Recorded recorded = recorded_more(details);
  const std::vector<std::string> plain = lines_of(recorded_json("more/json.txt"));
  EXPECT_EQ(print_all(recorded, false, {.json = true, .details = true}), details.at(0) + "\n");
  EXPECT_EQ(print_all(recorded, false, {.json = true}), plain.at(0) + "\n");
  const std::string both_details =
      details.at(1).substr(0, details.at(1).size() - 1) + "," + details.at(2).substr(1);
  const std::string both_plain = plain.at(1).substr(0, plain.at(1).size() - 1) + "," + plain.at(2).substr(1);
  EXPECT_EQ(print_all(recorded, true, {.json = true, .details = true}),
            without(both_details, recorded.skipped_at));
  EXPECT_EQ(print_all(recorded, true, {.json = true}), without(both_plain, recorded.skipped_at));
}

// The rows of a text: a line and those that continue it (indented). `skip` counts routes, behind the
// nexthops.
std::string text_without(const std::string& text, size_t nexthops, const std::set<size_t>& skip) {
  std::string kept;
  size_t place = 0;
  bool keep = true;
  for (const std::string& line : lines_of(text)) {
    const bool continues = !line.empty() && line[0] == '\t';
    if (!continues) {
      keep = place < nexthops || !skip.contains(place - nexthops);
      ++place;
    }
    if (keep) kept += line + "\n";
  }
  return kept;
}

TEST(Parity, TextIsWhatIpPrints) {
  std::vector<std::string> documents;
  const Recorded recorded = recorded_more(documents);
  const struct {
    const char* file;
    PrintOptions options;
  } forms[] = {{"more/text.txt", {}},
               {"more/details.txt", {.details = true}},
               {"more/oneline.txt", {.one_line = true}},
               {"more/colour.txt", {.colour = ColourScheme::kLight}}};
  for (const auto& form : forms) {
    EXPECT_EQ(print_all(recorded, false, form.options) + print_all(recorded, true, form.options),
              text_without(recorded_json(form.file), recorded.nexthops.size(), recorded.skipped_at))
        << form.file;
  }
}

TEST(Parity, PrettyJsonIsWhatIpPrints) {
  // Nexthops only: a pretty document cannot be cut into objects without reading it, and the routes go through
  // the same writer.
  std::vector<std::string> documents;
  const Recorded recorded = recorded_more(documents);
  const std::string pretty = recorded_json("more/json_pretty.txt");
  const std::string ours = print_all(recorded, false, {.json = true, .pretty = true});
  EXPECT_EQ(ours, pretty.substr(0, ours.size()));
  EXPECT_EQ(pretty.substr(ours.size(), 2), "[ ");
  // Of the routes, one of each shape.
  for (const char* prefix : {"10.1.13.0/24", "10.1.18.0/24", "10.1.7.0/24", "2001:db8:205::/64"}) {
    Recorded one = recorded;
    std::erase_if(one.routes, [&](const Route& route) { return to_string(route.key.prefix) != prefix; });
    const std::string document = print_all(one, true, {.json = true, .pretty = true});
    const std::string object = document.substr(2, document.size() - 2 - 3);
    EXPECT_NE(pretty.find(object), std::string::npos) << object;
  }
}

TEST(Parity, WeightsAboveAByteAreNotCut) {
  // `ip` 6.1 prints weights modulo 256: there 1000 becomes 232.
  Output out;
  RowWriter row(out, {.json = true});
  NexthopObject object{.id = NexthopId(100), .protocol = 0, .body = NexthopGroup{}};
  std::get<NexthopGroup>(object.body).members = {{NexthopId(1), 1000}, {NexthopId(2), 65535}};
  print_nexthop(row, object, NameTables::defaults());
  EXPECT_EQ(out.text(), R"({"id":100,"group":[{"id":1,"weight":1000},{"id":2,"weight":65535}],"flags":[]})");
}

}  // namespace
}  // namespace waypost::cli
