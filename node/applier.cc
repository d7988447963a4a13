#include "node/applier.h"

#include <string_view>
#include <utility>
#include <vector>

namespace waypost::node {

namespace {

std::vector<std::string> apply_entry(store::Store& store, const replication::AppliedEntry& entry) {
  const std::vector<std::string_view> proposals(entry.proposals.begin(), entry.proposals.end());
  store::EntryInput input;
  input.position = entry.position;
  input.time_us = entry.time_us;
  input.chain = entry.hash;
  input.proposals = proposals;
  return store.apply(input);
}

}  // namespace

replication::ApplyFunction apply_to(store::Store& store, Workers& writer, OrderThread& order) {
  return [&store, &writer, &order](std::vector<replication::AppliedEntry> entries,
                                   replication::ApplyCallback done) {
    writer.post([&store, &order, entries = std::move(entries), done = std::move(done)]() mutable {
      std::vector<std::vector<std::string>> answers;
      answers.reserve(entries.size());
      for (const replication::AppliedEntry& entry : entries) answers.push_back(apply_entry(store, entry));
      order.post(
          [done = std::move(done), answers = std::move(answers)]() mutable { done(std::move(answers)); });
    });
  };
}

}  // namespace waypost::node
