#include "tests/cli/scripted_remote.h"

#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <sstream>

namespace waypost::cli {
namespace {

class ScriptedRemote : public Remote {
 public:
  ScriptedRemote(Script& script, const std::string& endpoint) : script_(script), endpoint_(endpoint) {}

  Result<rpc::End> call(const rpc::Request& request,
                        const std::function<bool(const rpc::Part&)>& on_part) override {
    const auto other = script_.others.find(endpoint_);
    return other != script_.others.end() ? other->second(request, on_part) : script_.answer(request, on_part);
  }
  Result<rpc::Submitted> submit(const Transaction& transaction) override {
    script_.transactions.push_back(transaction);
    return script_.apply(transaction);
  }
  // Answers come as late as the window allows.
  void submit_async(const Transaction& transaction, size_t window,
                    std::function<void(Result<rpc::Submitted>)> done) override {
    while (waiting_.size() >= window) answer_first();
    waiting_.emplace_back(submit(transaction), std::move(done));
  }
  void drain() override {
    while (!waiting_.empty()) answer_first();
  }

 private:
  void answer_first() {
    auto [submitted, done] = std::move(waiting_.front());
    waiting_.pop_front();
    done(std::move(submitted));
  }

  Script& script_;
  const std::string endpoint_;
  std::deque<std::pair<Result<rpc::Submitted>, std::function<void(Result<rpc::Submitted>)>>> waiting_;
};

}  // namespace

Printed run_scripted(Script& script, const std::string& words, const std::string& input) {
  std::istringstream text(words);
  const std::vector<std::string> arguments{std::istream_iterator<std::string>(text), {}};
  std::FILE* file = std::tmpfile();
  std::fwrite(input.data(), 1, input.size(), file);
  std::fflush(file);
  std::rewind(file);
  const Host host{.environment = [](const char*) { return std::string(); },
                  .links =
                      [] {
                        return std::vector<std::pair<uint32_t, std::string>>{{1, "lo"}, {3, "e0"}, {5, "e1"}};
                      },
                  .standard_input = ::fileno(file),
                  .program_directory = {},
                  .author = "operator@host"};
  const RemoteFactory remotes = [&script](rpc::ClientOptions options) {
    return std::make_unique<ScriptedRemote>(script, options.endpoints.at(0));
  };
  Output out, err;
  Printed printed;
  printed.code = run(arguments, host, NameTables::defaults(), remotes, out, err);
  printed.out = out.text();
  printed.err = err.text();
  std::fclose(file);
  return printed;
}

}  // namespace waypost::cli
