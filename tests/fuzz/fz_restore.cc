// Any bytes, in any pieces, as the stream of `route restore`: no crash; the same routes however the bytes are
// cut; and what was read and is then written again reads as the same routes.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/saved_route.h"
#include "model/check.h"

namespace {

using namespace waypost;

std::vector<cli::SavedRoute> read_stream(std::string_view bytes, size_t piece, bool* good) {
  std::vector<cli::SavedRoute> routes;
  cli::SavedRouteReader reader;
  const auto keep = [&](cli::SavedRoute& route) {
    routes.push_back(route);
    return Status();
  };
  *good = true;
  while (*good && !bytes.empty()) {
    *good = reader.feed(bytes.substr(0, piece), keep).ok();
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  *good = *good && reader.finish().ok();
  return routes;
}

std::string encoded(const std::vector<cli::SavedRoute>& routes) {
  std::string stream = cli::save_magic();
  for (const cli::SavedRoute& route : routes) cli::append_saved_route(stream, route);
  return stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes = cli::save_magic();
  bytes.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  const cli::Links links({{1, "lo"}, {3, "e0"}, {5, "e1"}});
  bool good = false, pieces_good = false;
  const std::vector<cli::SavedRoute> routes = read_stream(bytes, bytes.size(), &good);
  const std::vector<cli::SavedRoute> pieces = read_stream(bytes, 1 + data[0] % 64, &pieces_good);
  WAYPOST_CHECK(good == pieces_good, "the cut of the pieces decides");
  WAYPOST_CHECK(routes.size() == pieces.size(), "a route more or less by the cut of the pieces");
  for (const cli::SavedRoute& route : routes) (void)cli::restore_command(route, links, data[0] % 2 == 0);
  const std::string once = encoded(routes);
  const std::string twice = encoded(read_stream(once, once.size(), &good));
  WAYPOST_CHECK(good && once == twice, "what was written reads otherwise");
  return 0;
}
