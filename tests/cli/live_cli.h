// The command line against a waypostd of its own.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"
#include "tests/cli/daemon.h"

namespace waypost::cli {

class LiveCli {
 public:
  struct Printed {
    int code = 0;
    std::string out;
    std::string err;
  };
  // `input` is its standard input.
  Printed waypost(std::vector<std::string> words, const std::string& input = {});
  // The lines of `waypost OBJECT list`.
  long count(const std::string& object);

 private:
  Daemon daemon_;
};

}  // namespace waypost::cli
