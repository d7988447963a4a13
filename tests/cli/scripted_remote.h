// The twin of Remote: answers as the test scripts them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/app.h"
#include "rpc/waypost.pb.h"

namespace waypost::cli {

// What servers answer, by endpoint, and what they were asked.
struct Script {
  using Answer = std::function<Result<rpc::End>(const rpc::Request& request,
                                                const std::function<bool(const rpc::Part&)>& on_part)>;
  using Apply = std::function<Result<rpc::Submitted>(const Transaction& transaction)>;

  Answer answer = [](const rpc::Request&, const auto&) -> Result<rpc::End> { return rpc::End(); };
  Apply apply = [](const Transaction& transaction) -> Result<rpc::Submitted> {
    rpc::Submitted submitted;
    submitted.answer.applied = static_cast<uint32_t>(transaction.commands.size());
    submitted.answer.revision = Revision(1);
    return submitted;
  };
  std::map<std::string, Answer> others;  // endpoints that answer otherwise
  std::vector<Transaction> transactions;
};

// What one call printed.
struct Printed {
  int code = 0;
  std::string out;
  std::string err;
};

// `words` is one command line, cut at blanks; `input` is its standard input.
Printed run_scripted(Script& script, const std::string& words, const std::string& input = "");

}  // namespace waypost::cli
