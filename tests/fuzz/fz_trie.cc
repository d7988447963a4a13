// Bytes become operations on two tries of a forest and on sorted vectors; both must always say the same. The
// first byte chooses the family, the code path and how addresses are spread.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "kernel_sync/trie/prefix_trie.h"
#include "model/check.h"

namespace waypost::kernel_sync {
namespace {

struct ModelRoute {
  TrieKey key;
  TrieValue value = 0;
};
using Model = std::vector<ModelRoute>;

// Gives zeros when the input is used up.
class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : next_(bytes), end_(bytes + size) {}
  bool empty() const { return next_ == end_; }
  uint8_t byte() { return empty() ? 0 : *next_++; }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

IpAddress first_bits_of(IpAddress address, int length) {
  for (int bit = length; bit < address_bits(address.family); ++bit) {
    address.bytes[static_cast<size_t>(bit) / 8] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
  }
  return address;
}

bool contains(const Prefix& outer, const Prefix& inner) {
  return outer.length <= inner.length && first_bits_of(inner.address, outer.length) == outer.address;
}

class Run {
 public:
  Run(Input& input, uint8_t setting)
      : input_(input),
        family_((setting & 1) != 0 ? Family::kIpv6 : Family::kIpv4),
        spread_((setting >> 2 & 1) != 0),
        forest_(family_, (setting & 2) != 0 || !TrieForest::has_vector_code() ? TrieCode::kPortable
                                                                              : TrieCode::kVector) {
    for (TrieId& trie : tries_) trie = forest_.make_trie();
  }

  void all() {
    while (!input_.empty()) one();
    require(forest_.check().ok());
    compare_differences();
    for (size_t side = 0; side < 2; ++side) {
      compare_walk(side, {{family_, {}}, 0});
      for (const ModelRoute& route : models_[side])
        require(forest_.erase(tries_[side], route.key) == route.value);
    }
    require(forest_.check().ok() && forest_.bytes().live == 0);
  }

 private:
  static void require(bool holds) { WAYPOST_CHECK(holds, "the trie and its model differ"); }

  // One byte of input sets one address byte where it differs from the base: a few bytes reach every depth.
  Prefix prefix() {
    IpAddress address{family_, {}};
    const int bytes = address_bytes(family_);
    if (spread_) {
      for (int i = 0; i < 4; ++i) address.bytes[static_cast<size_t>(i)] = input_.byte();
    } else {
      const uint8_t where = input_.byte();
      address.bytes[where % static_cast<size_t>(bytes)] = input_.byte();
      address.bytes[where / 16 % static_cast<size_t>(bytes)] ^= 0x81;
    }
    const uint8_t length = static_cast<uint8_t>(input_.byte() % (address_bits(family_) + 1));
    return {first_bits_of(address, length), length};
  }
  TrieKey key() {
    TrieKey key{prefix(), 0, usual_metric(family_)};
    const uint8_t rest = input_.byte();
    if (rest > 224) key.metric = rest & 3;
    if (rest > 248) key.tos = 16;
    return key;
  }

  Model::iterator place_of(Model& model, const TrieKey& key) {
    return std::lower_bound(
        model.begin(), model.end(), key,
        [](const ModelRoute& route, const TrieKey& wanted) { return route.key < wanted; });
  }

  void one() {
    const uint8_t choice = input_.byte();
    const size_t side = choice >> 7;
    switch (choice % 8) {
      case 0:
      case 1:
      case 2:
        return put(side);
      case 3:
      case 4:
        return erase(side);
      case 5:
        return longest(side);
      case 6:
        return compare_walk(side, prefix());
      default:
        return covering(side);
    }
  }

  void put(size_t side) {
    Model& model = models_[side];
    const TrieKey key = this->key();
    const TrieValue value = input_.byte() * 0x0100'0001u;
    const auto place = place_of(model, key);
    TrieValue old = kNoValue;
    if (place != model.end() && place->key == key) {
      old = place->value;
      place->value = value;
    } else {
      model.insert(place, {key, value});
    }
    require(forest_.put(tries_[side], key, value) == old);
    require(forest_.find(tries_[side], key) == value);
  }

  void erase(size_t side) {
    Model& model = models_[side];
    TrieKey key = this->key();
    // Mostly one that is there.
    auto place = place_of(model, key);
    if (place != model.end() && (key.prefix.length & 3) != 0) key = place->key;
    TrieValue old = kNoValue;
    if (place != model.end() && place->key == key) {
      old = place->value;
      model.erase(place);
    }
    require(forest_.erase(tries_[side], key) == old);
  }

  void longest(size_t side) {
    const IpAddress address = prefix().address;
    const Prefix host{address, static_cast<uint8_t>(address_bits(family_))};
    const ModelRoute* best = nullptr;
    for (const ModelRoute& route : models_[side]) {
      if (!contains(route.key.prefix, host)) continue;
      if (best == nullptr || route.key.prefix.length > best->key.prefix.length) best = &route;
    }
    const auto match = forest_.longest_match(tries_[side], address);
    require(match.has_value() == (best != nullptr));
    if (match) require(match->prefix == best->key.prefix && match->routes[0].value == best->value);
  }

  // Walks must give the model's routes that `wanted` keeps, in order.
  template <typename Wanted>
  auto expect(const Model& model, size_t& next, Wanted wanted) {
    return [&model, &next, wanted](const Prefix& prefix, const TrieRoutes& routes) {
      for (const TrieRoute& route : routes) {
        while (next < model.size() && !wanted(model[next].key.prefix)) ++next;
        require(next < model.size());
        require(model[next].key == TrieKey{prefix, route.tos, route.metric} &&
                model[next].value == route.value);
        ++next;
      }
      return true;
    };
  }
  template <typename Wanted>
  void nothing_left(const Model& model, size_t next, Wanted wanted) {
    for (; next < model.size(); ++next) require(!wanted(model[next].key.prefix));
  }

  void compare_walk(size_t side, const Prefix& from) {
    const Model& model = models_[side];
    size_t next = 0;
    const auto behind = [&](const Prefix& prefix) { return prefix > from; };
    auto visit = expect(model, next, behind);
    forest_.walk(tries_[side], &from, visit);
    nothing_left(model, next, behind);
    next = 0;
    const auto inside = [&](const Prefix& prefix) { return contains(from, prefix); };
    auto visit_inside = expect(model, next, inside);
    forest_.subtree(tries_[side], from, nullptr, visit_inside);
    nothing_left(model, next, inside);
  }

  void covering(size_t side) {
    const Model& model = models_[side];
    const Prefix of = prefix();
    size_t next = 0;
    const auto outside = [&](const Prefix& prefix) { return contains(prefix, of); };
    auto visit = expect(model, next, outside);
    forest_.covering(tries_[side], of, visit);
    nothing_left(model, next, outside);
  }

  // Applying the differences to the left side must give the right one.
  void compare_differences() {
    Model patched = models_[0];
    forest_.diff(tries_[0], tries_[1], nullptr, [&](const TrieDifference& difference) {
      for (const TrieRoute& route : difference.left) {
        const auto place = place_of(patched, {difference.prefix, route.tos, route.metric});
        require(place != patched.end() && place->value == route.value);
        patched.erase(place);
      }
      for (const TrieRoute& route : difference.right) {
        const TrieKey key{difference.prefix, route.tos, route.metric};
        patched.insert(place_of(patched, key), {key, route.value});
      }
      return true;
    });
    require(std::equal(
        patched.begin(), patched.end(), models_[1].begin(), models_[1].end(),
        [](const ModelRoute& a, const ModelRoute& b) { return a.key == b.key && a.value == b.value; }));
  }

  Input& input_;
  Family family_;
  bool spread_;
  TrieForest forest_;
  TrieId tries_[2];
  Model models_[2];
};

}  // namespace
}  // namespace waypost::kernel_sync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  waypost::kernel_sync::Input input(bytes, size);
  const uint8_t setting = input.byte();
  waypost::kernel_sync::Run(input, setting).all();
  return 0;
}
