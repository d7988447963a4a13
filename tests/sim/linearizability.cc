#include "tests/sim/linearizability.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>

#include "model/hash128.h"

namespace waypost::sim {
namespace {

// Operations of one set of keys; keys are numbered from 0.
struct Window {
  std::vector<const Operation*> operations;
  std::map<uint32_t, size_t> keys;
};

using State = std::vector<uint64_t>;  // value by key number; 0: absent

class Search {
 public:
  Search(const Window& window, uint64_t step_limit) : window_(window), steps_left_(step_limit) {
    const size_t count = window.operations.size();
    for (size_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(i);
      marks_.push_back(hash128(name));
      entries_.push_back({window.operations[i]->call_us, true, i});
      entries_.push_back({window.operations[i]->return_us, false, i});
    }
    // At one time calls come first: they overlap.
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.at_us != b.at_us ? a.at_us < b.at_us : a.call && !b.call;
    });
    next_.resize(entries_.size() + 1);
    previous_.resize(entries_.size() + 1);
    return_of_.resize(count);
    call_of_.resize(count);
    for (size_t i = 0; i <= entries_.size(); ++i) {
      next_[i] = (i + 1) % (entries_.size() + 1);
      previous_[i] = i == 0 ? entries_.size() : i - 1;
    }
    for (size_t i = 0; i < entries_.size(); ++i)
      (entries_[i].call ? call_of_ : return_of_)[entries_[i].operation] = i + 1;
  }

  Verdict::Of run();
  // The operations that were open at the furthest point that any order reached.
  std::string furthest() const;

 private:
  struct Entry {
    uint64_t at_us;
    bool call;
    size_t operation;
  };
  struct Done {
    size_t operation;
    State before;
  };

  const Entry& entry(size_t node) const { return entries_[node - 1]; }
  void unlink(size_t node) {
    next_[previous_[node]] = next_[node];
    previous_[next_[node]] = previous_[node];
  }
  void relink(size_t node) {
    next_[previous_[node]] = node;
    previous_[next_[node]] = node;
  }
  bool step(const Operation& operation, State& state) const;
  bool take(size_t node);

  const Window& window_;
  uint64_t steps_left_;
  std::vector<Entry> entries_;
  std::vector<size_t> next_, previous_;  // of node i + 1 for entry i; node 0 is the ring's head
  std::vector<size_t> call_of_, return_of_;
  std::vector<Hash128> marks_;
  Hash128 taken_;  // the sum of the marks of the operations in the order
  State state_;
  std::vector<Done> order_;
  struct HashOfHash {
    size_t operator()(const Hash128& hash) const { return hash.low; }
  };
  std::unordered_set<Hash128, HashOfHash> seen_;
  size_t furthest_ = 0;
  size_t stuck_at_ = 0;
};

// Could the operation have given its answer in this state? An unknown one gives any.
bool Search::step(const Operation& operation, State& state) const {
  State after = state;
  bool refused = false;
  for (const Action& action : operation.actions) {
    uint64_t& value = after[window_.keys.at(action.key)];
    switch (action.kind) {
      case ActionKind::kPut:
        value = action.value;
        break;
      case ActionKind::kAdd:
        if (value != 0) refused = true;
        value = action.value;
        break;
      case ActionKind::kDelete:
        if (value == 0) refused = true;
        value = 0;
        break;
      case ActionKind::kRead:
        if (operation.outcome == Outcome::kDone && value != action.value) return false;
        break;
    }
    if (refused) break;
  }
  if (operation.outcome == Outcome::kDone && refused) return false;
  if (operation.outcome == Outcome::kRefused && !refused) return false;
  if (!refused) state = std::move(after);
  return true;
}

bool Search::take(size_t node) {
  const size_t operation = entry(node).operation;
  State after = state_;
  if (!step(*window_.operations[operation], after)) return false;
  Hash128 taken = taken_;
  taken += marks_[operation];
  std::string bytes(reinterpret_cast<const char*>(after.data()), after.size() * sizeof(after[0]));
  bytes.append(reinterpret_cast<const char*>(&taken), sizeof(taken));
  if (!seen_.insert(hash128(bytes)).second) return false;
  order_.push_back({operation, std::move(state_)});
  state_ = std::move(after);
  taken_ = taken;
  unlink(node);
  unlink(return_of_[operation]);
  return true;
}

Verdict::Of Search::run() {
  state_.assign(window_.keys.size(), 0);
  size_t node = next_[0];
  while (next_[0] != 0) {
    if (steps_left_-- == 0) return Verdict::Of::kUndecided;
    if (node != 0 && entry(node).call) {
      node = take(node) ? next_[0] : next_[node];
      continue;
    }
    if (order_.size() >= furthest_) {
      furthest_ = order_.size();
      stuck_at_ = node;
    }
    // Only operations without an answer are left behind the last return: they need not have happened.
    if (node == 0 || entry(node).at_us == kNever) return Verdict::Of::kLinearizable;
    if (order_.empty()) return Verdict::Of::kViolation;
    Done last = std::move(order_.back());
    order_.pop_back();
    state_ = std::move(last.before);
    taken_ -= marks_[last.operation];
    relink(return_of_[last.operation]);
    relink(call_of_[last.operation]);
    node = next_[call_of_[last.operation]];
  }
  return Verdict::Of::kLinearizable;
}

std::string Search::furthest() const {
  if (stuck_at_ == 0) return "";
  const Operation& stuck = *window_.operations[entry(stuck_at_).operation];
  std::string words = "no order explains " + to_json_line(stuck) + " beside";
  for (const Operation* other : window_.operations) {
    if (other == &stuck || other->call_us > stuck.return_us || other->return_us < stuck.call_us) continue;
    words += "\n  " + to_json_line(*other);
  }
  return words;
}

// Sets of keys that no operation connects.
std::vector<Window> windows_of(const std::vector<Operation>& operations) {
  std::map<uint32_t, uint32_t> leader;
  const auto find = [&leader](uint32_t key) {
    leader.try_emplace(key, key);
    while (leader[key] != key) key = leader[key] = leader[leader[key]];
    return key;
  };
  for (const Operation& operation : operations)
    for (const Action& action : operation.actions) leader[find(action.key)] = find(operation.actions[0].key);
  std::map<uint32_t, Window> windows;
  for (const Operation& operation : operations) {
    if (operation.outcome == Outcome::kNotDone || operation.actions.empty()) continue;
    const bool read_without_answer =
        operation.outcome == Outcome::kUnknown && operation.actions[0].kind == ActionKind::kRead;
    if (read_without_answer) continue;
    Window& window = windows[find(operation.actions[0].key)];
    window.operations.push_back(&operation);
    for (const Action& action : operation.actions) window.keys.try_emplace(action.key, window.keys.size());
  }
  std::vector<Window> all;
  for (auto& [key, window] : windows) all.push_back(std::move(window));
  return all;
}

}  // namespace

Verdict check_linearizable(const std::vector<Operation>& operations, uint64_t step_limit) {
  Verdict verdict;
  for (const Window& window : windows_of(operations)) {
    ++verdict.windows;
    Search search(window, step_limit);
    const Verdict::Of of = search.run();
    if (of == Verdict::Of::kUndecided) ++verdict.undecided;
    if (of != Verdict::Of::kViolation) continue;
    verdict.of = of;
    verdict.words = search.furthest();
    return verdict;
  }
  if (verdict.undecided > 0) verdict.of = Verdict::Of::kUndecided;
  return verdict;
}

}  // namespace waypost::sim
