#include "kernel_sync/trie/prefix_trie.h"

#include <optional>
#include <utility>

#include "kernel_sync/trie/typed_forest.h"

namespace waypost::kernel_sync {

class TrieForest::Impl {
 public:
  Impl(Family family, TrieCode code) {
    if (family == Family::kIpv4) {
      v4_.emplace(code);
    } else {
      v6_.emplace(code);
    }
  }

  template <typename Do>
  decltype(auto) with(Do&& act) {
    return v4_ ? act(*v4_) : act(*v6_);
  }
  template <typename Do>
  decltype(auto) with(Do&& act) const {
    return v4_ ? act(*v4_) : act(*v6_);
  }
  Family family() const { return v4_ ? Family::kIpv4 : Family::kIpv6; }

 private:
  std::optional<trie::TypedForest<32>> v4_;
  std::optional<trie::TypedForest<128>> v6_;
};

TrieForest::TrieForest(Family family, TrieCode code) : impl_(std::make_unique<Impl>(family, code)) {}
TrieForest::~TrieForest() = default;
TrieForest::TrieForest(TrieForest&&) noexcept = default;
TrieForest& TrieForest::operator=(TrieForest&&) noexcept = default;

bool TrieForest::has_vector_code() {
  return trie::vector_engine<32>() != nullptr;
}

TrieId TrieForest::make_trie() {
  return impl_->with([](auto& forest) { return forest.make_trie(); });
}
void TrieForest::drop_trie(TrieId trie) {
  impl_->with([&](auto& forest) { forest.drop_trie(trie); });
}

TrieValue TrieForest::put(TrieId trie, const TrieKey& key, TrieValue value) {
  return impl_->with([&](auto& forest) { return forest.put(trie, key, value); });
}
TrieValue TrieForest::erase(TrieId trie, const TrieKey& key) {
  return impl_->with([&](auto& forest) { return forest.erase(trie, key); });
}
TrieValue TrieForest::find(TrieId trie, const TrieKey& key) const {
  return std::as_const(*impl_).with([&](const auto& forest) { return forest.find(trie, key); });
}
TrieRoutes TrieForest::find_prefix(TrieId trie, const Prefix& prefix) const {
  return std::as_const(*impl_).with([&](const auto& forest) { return forest.find_prefix(trie, prefix); });
}

std::optional<TrieMatch> TrieForest::longest_match(TrieId trie, const IpAddress& address) const {
  return std::as_const(*impl_).with([&](const auto& forest) { return forest.longest_match(trie, address); });
}
void TrieForest::covering(TrieId trie, const Prefix& prefix, TrieVisitor visit) const {
  std::as_const(*impl_).with([&](const auto& forest) { forest.covering(trie, prefix, visit); });
}
void TrieForest::walk(TrieId trie, const Prefix* after, TrieVisitor visit) const {
  std::as_const(*impl_).with([&](const auto& forest) { forest.walk(trie, after, visit); });
}
void TrieForest::subtree(TrieId trie, const Prefix& prefix, const Prefix* after, TrieVisitor visit) const {
  std::as_const(*impl_).with([&](const auto& forest) { forest.subtree(trie, prefix, after, visit); });
}
void TrieForest::diff(TrieId left, TrieId right, const Prefix* after, TrieDifferenceVisitor visit) const {
  std::as_const(*impl_).with([&](const auto& forest) { forest.diff(left, right, after, visit); });
}

size_t TrieForest::prefix_count(TrieId trie) const {
  return std::as_const(*impl_).with([&](const auto& forest) { return forest.prefix_count(trie); });
}
size_t TrieForest::route_count(TrieId trie) const {
  return std::as_const(*impl_).with([&](const auto& forest) { return forest.route_count(trie); });
}
TrieBytes TrieForest::bytes() const {
  return std::as_const(*impl_).with([](const auto& forest) { return forest.bytes(); });
}
Family TrieForest::family() const {
  return impl_->family();
}

Status TrieForest::check() const {
  return std::as_const(*impl_).with([](const auto& forest) { return forest.check(); });
}

}  // namespace waypost::kernel_sync
