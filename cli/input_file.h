// A file that is read more than once: from the disk, or spooled from standard input into an unnamed temporary
// file.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "model/result.h"

namespace waypost::cli {

class InputFile {
 public:
  // `path` "-" is `standard_input`; what cannot be rewound is copied first, to its end.
  static Result<InputFile> open(const std::string& path, int standard_input);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  // From the start, in pieces, until `piece` returns false.
  Status read(const std::function<bool(std::string_view piece)>& piece);
  // As errors name it: the path, or "standard input".
  const std::string& name() const { return name_; }

 private:
  InputFile(std::string name, int descriptor, bool owned)
      : name_(std::move(name)), descriptor_(descriptor), owned_(owned) {}

  std::string name_;
  int descriptor_ = -1;
  bool owned_ = false;
};

}  // namespace waypost::cli
