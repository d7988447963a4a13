#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "tests/model/golden.h"
#include "tests/store/lines.h"

namespace waypost::store {
namespace {

// A block is one transaction of command lines, or one of: `reset` (a new store), `show` (every row), `changes
// N` (what happened behind revision N). First lines `stop`, `continue` and `cascade` set how the transaction
// is run.
class Script {
 public:
  std::string run(const std::string& input) {
    std::istringstream lines(input);
    std::string line;
    Transaction transaction;
    std::vector<std::string> words;
    bool cascade = false;
    while (std::getline(lines, line)) {
      if (line == "reset") return reset();
      if (line == "show") return rows_in_words((*store_)->view());
      if (line.starts_with("changes ")) return changes(std::stoull(line.substr(8)));
      if (line == "stop") transaction.on_refusal = OnRefusal::kStop;
      if (line == "continue") transaction.on_refusal = OnRefusal::kContinue;
      if (line == "cascade") cascade = true;
      if (line == "stop" || line == "continue" || line == "cascade") continue;
      std::string wrong;
      auto command = command_of(line, cascade, &wrong);
      if (!command) return "not a command: " + wrong + "\n";
      transaction.commands.push_back(std::move(*command));
    }
    return in_words(store_->run(std::move(transaction.commands), transaction.on_refusal));
  }

 private:
  std::string reset() {
    store_ = std::make_unique<TestStore>();
    return "an empty store\n";
  }

  static std::string in_words(const TransactionAnswer& answer) {
    std::string text;
    for (const auto& [index, id] : answer.assigned_ids)
      text += "line " + std::to_string(index + 1) + ": id " + std::to_string(id.value()) + "\n";
    for (const CommandRefusal& refusal : answer.refusals) {
      const Error error = describe(refusal.refusal);
      text += "line " + std::to_string(refusal.index + 1) + ": " + error.message + "\n";
      if (!error.hint.empty()) text += "  hint: " + error.hint + "\n";
    }
    return text + "applied " + std::to_string(answer.applied) + ", revision " +
           std::to_string(answer.revision.value()) + "\n";
  }

  std::string changes(uint64_t after) {
    const auto sets = (*store_)->changes_after(Revision(after), 1 << 20);
    if (!sets.ok()) return sets.error().message + "\n";
    std::string text;
    for (const ChangeSet& set : *sets) {
      size_t came = 0;
      size_t went = 0;
      for (const Change& change : set.changes) {
        came += change.old_value.empty() ? 1 : 0;
        went += change.new_value.empty() ? 1 : 0;
      }
      text += "revision " + std::to_string(set.revision.value()) + ": " + std::to_string(came) + " came, " +
              std::to_string(set.changes.size() - came - went) + " changed, " + std::to_string(went) +
              " went\n";
    }
    return text;
  }

  std::unique_ptr<TestStore> store_;
};

// The rules as an operator meets them: lines as in an `ip -batch` file, the answers, and what is stored then.
TEST(Golden, Rules) {
  Script script;
  test::check_golden_page(
      "rules.txt", [&script](const std::string& input) { return script.run(input); }, "store");
}

}  // namespace
}  // namespace waypost::store
